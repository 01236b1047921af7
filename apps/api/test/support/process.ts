import { type ChildProcess, spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FAKED_TIME } from '@quartermaster/db/testing/faked-time.ts';
import { onTestFinished } from 'vitest';
import { ROOT } from '../../src/config.ts';

/** The program of the service. */
export const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** Runs Node with the settings of `npm start`, on which the memory of the service depends. */
export const SERVER_SH = join(ROOT, 'scripts/server.sh');

/** The compile cache that `npm start` uses. Without it each process spends half of its start compiling. */
export const NODE_COMPILE_CACHE = join(ROOT, 'node_modules/.cache/quartermaster');

type Ended = { code: number | null; signal: NodeJS.Signals | null };
export type Program = {
  child: ChildProcess;
  /** What it has written so far to both streams. */
  output: () => string;
  stdout: () => string;
  stderr: () => string;
  ended: Promise<Ended>;
};
export type ServiceProcess = Program & { url: string };

/** Starts a program of the service with this environment only. `program` may be a list: the file and its arguments. */
export function runProgram(environment: Record<string, string>, program: string | readonly string[] = MAIN): Program {
  const { kill, ...started } = spawnProgram(environment, program);
  onTestFinished(kill);
  return started;
}

function spawnProgram(environment: Record<string, string>, program: string | readonly string[]) {
  const { PATH = '' } = process.env;
  const child = spawn('sh', [SERVER_SH, ...[program].flat()], {
    env: {
      // `node` is the Node of this process.
      PATH: `${dirname(process.execPath)}:${PATH}`,
      NODE_COMPILE_CACHE,
      QM_METRICS_PORT: 'off',
      QM_OTLP_GRPC_PORT: 'off',
      QM_CONSOLE: 'off',
      QM_SHUTDOWN_DELAY_MS: '0',
      ...FAKED_TIME,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const text = { both: '', stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (chunk: string) => {
      text[stream] += chunk;
      text.both += chunk;
    });
  }
  // `exit` may come before the last output has arrived; `close` comes after it.
  const ended = new Promise<Ended>((resolve) => child.on('close', (code, signal) => resolve({ code, signal })));
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  return { child, output: () => text.both, stdout: () => text.stdout, stderr: () => text.stderr, ended, kill };
}

/** Starts the service in its own process on a free port, and waits until it listens. */
export async function startProcess(
  environment: Record<string, string>,
  program: string | readonly string[] = MAIN,
): Promise<ServiceProcess> {
  return listening(runProgram({ ...OF_SERVICES, ...environment }, program));
}

/** The same for all tests of a file. The caller has to `kill` it. */
export function startSharedProcess(environment: Record<string, string>) {
  return listening(spawnProgram({ ...OF_SERVICES, ...environment }, MAIN));
}

const OF_SERVICES = { PORT: '0', QM_RATE_LIMITS: 'off' };

/** Waits until a service listens, and adds its URL. */
async function listening<Started extends Program>(started: Started): Promise<Started & { url: string }> {
  const { child, output, ended } = started;
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', () => {
      const listens = /listens on (http:\S+) .*\n/.exec(output())?.[1];
      if (listens !== undefined) resolve(listens);
    });
    void ended.then(() => reject(new Error(`the service did not start: ${output()}`)));
  });
  return { ...started, url };
}
