import type { Io } from '../../src/cli/io.js';

/** A terminal that remembers what was printed and answers questions as told. */
export interface FakeIo extends Io {
  stdout(): string;
  stderr(): string;
  questions: string[];
}

export function fakeIo(options: { env?: NodeJS.ProcessEnv; answer?: string; width?: number } = {}): FakeIo {
  let stdout = '';
  let stderr = '';
  const questions: string[] = [];
  return {
    out: (text) => void (stdout += text),
    err: (text) => void (stderr += text),
    width: options.width ?? 80,
    interactive: options.answer !== undefined,
    ask: async (question) => {
      questions.push(question);
      return options.answer ?? '';
    },
    env: options.env ?? {},
    stdout: () => stdout,
    stderr: () => stderr,
    questions,
  };
}

/** The longest line of a text, in characters. */
export function longestLine(text: string): number {
  return Math.max(...text.split('\n').map((line) => [...line].length));
}
