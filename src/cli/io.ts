import { createInterface } from 'node:readline/promises';

/** The terminal as commands see it; a test passes its own. */
export interface Io {
  /** Results: what a person reads, or a program with `--json`. */
  out(text: string): void;
  /** Diagnostics: everything that is not the result. */
  err(text: string): void;
  /** Columns to lay tables out for. */
  width: number;
  /** Whether a person can be asked. */
  interactive: boolean;
  /** Asks on stderr, so that stdout stays the result. Answers '' when the input ends. */
  ask(question: string): Promise<string>;
  env: NodeJS.ProcessEnv;
}

/** The process's own terminal. Output to a pipe is laid out for 80 columns, like a terminal's default. */
export function processIo(): Io {
  // `countersign audit | head` closes the pipe early; that is no error of ours.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  return {
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    width: Math.min(Math.max(process.stdout.columns || 80, 60), 120),
    interactive: process.stdin.isTTY === true && process.stderr.isTTY === true,
    ask,
    env: process.env,
  };
}

async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
    return await Promise.race([lines.question(question), ended]);
  } finally {
    lines.close();
  }
}
