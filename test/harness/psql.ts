/** The real psql, as a person at a terminal or an agent with the password would use it. */
import { spawn, spawnSync } from 'node:child_process';

export interface PsqlResult { code: number; stdout: string; stderr: string }

/** Whether psql is installed; tests that need it are skipped (visibly) without. */
export const hasPsql = spawnSync('psql', ['--version'], { stdio: 'ignore' }).status === 0;

/** Runs a script from stdin. Arguments such as `-A` or `-x` come after the usual ones; no startup file is read. */
export function psql(url: string, script: string, args: string[] = [], env: Record<string, string> = {}): Promise<PsqlResult> {
  return new Promise((resolve, reject) => {
    const child = spawn('psql', ['-X', '-q', '-d', url, ...args], {
      env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C.UTF-8', PAGER: 'cat', ...env }, stdio: ['pipe', 'pipe', 'pipe'],
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => { stdout += text; });
    child.stderr.setEncoding('utf8').on('data', (text: string) => { stderr += text; });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? -1, stdout, stderr }));
    child.stdin.on('error', () => undefined).end(script);
  });
}
