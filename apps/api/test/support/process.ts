import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export type Ended = { code: number | null; signal: NodeJS.Signals | null };
export type ServiceProcess = {
  url: string;
  child: ChildProcess;
  /** All that it wrote so far, to both streams. */
  output: () => string;
  ended: Promise<Ended>;
};

/** Runs a program of the service, with arguments where it takes some, and with this environment alone, until it ends. */
export function runProgram(environment: Record<string, string>, program: string | readonly string[] = MAIN) {
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, [program].flat(), {
    env: { PATH, QM_METRICS_PORT: 'off', QM_SHUTDOWN_DELAY_MS: '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  }
  // After `close` nothing is written any more; after `exit` something may still be on its way.
  const ended = new Promise<Ended>((resolve) => child.on('close', (code, signal) => resolve({ code, signal })));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, output: () => text, ended };
}

/** Starts the service as a process of its own on a free port, and waits until it listens. */
export async function startProcess(environment: Record<string, string>, program = MAIN): Promise<ServiceProcess> {
  const { child, output, ended } = runProgram({ PORT: '0', QM_RATE_LIMITS: 'off', ...environment }, program);
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', () => {
      const listens = /listens on (http:\S+)\n/.exec(output())?.[1];
      if (listens !== undefined) resolve(listens);
    });
    void ended.then(() => reject(new Error(`the service did not start: ${output()}`)));
  });
  return { url, child, output, ended };
}
