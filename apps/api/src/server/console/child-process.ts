import type { ChildProcess } from 'node:child_process';

/** Characters of a program's output that are kept, the last ones. */
const MAX_OUTPUT = 4000;

/** Waits for the end of a child process. @returns its exit code, and the output that is piped to this process */
export async function endOf(child: ChildProcess): Promise<{ code: number; output: string }> {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8');
    stream?.on('data', (text: string) => {
      output = (output + text).slice(-MAX_OUTPUT);
    });
  }
  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ code: 1, output: error.message }));
    child.on('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

/** Ends a child process that was started with `detached`, and all that it started. */
export function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGTERM');
  } catch {
    // The process has just ended by itself.
  }
}
