import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mintApiKey } from '@quartermaster/api/src/auth/api-key-format.ts';
import { FAKED_TIME } from '@quartermaster/db/testing/faked-time.ts';

const MAIN = fileURLToPath(new URL('../../apps/api/src/main.ts', import.meta.url));

/** Runs Node with the settings of `npm start`. */
const SERVER_SH = fileURLToPath(new URL('../../scripts/server.sh', import.meta.url));

/** The same compile cache as `npm start` uses. Without it a start takes half as long again. */
const COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/quartermaster', import.meta.url));

/** The platform administrator's key of every service here. */
export const ADMIN = mintApiKey(`key_${'0'.repeat(26)}`).key;

/** The secret key for databases that have no key file next to them. */
const SECRET_KEY = randomBytes(32).toString('base64');

/** Time limit of a start in milliseconds. */
const START_MS = 60_000;

export type Service = {
  url: string;
  process: ChildProcess;
  /** Everything that it wrote so far to standard output and standard error. */
  output: () => string;
  /** Resolves when the process has ended and all of its output was read. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
};

type Starting = {
  databaseUrl: string;
  environment?: Record<string, string>;
  /** A program that starts the process, with its arguments, such as `strace -f`. */
  wrapper?: readonly string[];
};

/** All running processes. They are killed at exit, so that none outlives a run. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

/** Starts the service like a user, on a free port, and waits until it listens. */
export async function startService({ databaseUrl, environment = {}, wrapper = [] }: Starting): Promise<Service> {
  const { PATH = '' } = process.env;
  const [program, ...args] = [...wrapper, 'sh', SERVER_SH, MAIN];
  const child = spawn(program, args, {
    env: {
      // The Node of this process.
      PATH: `${dirname(process.execPath)}:${PATH}`,
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      PORT: '0',
      DATABASE_URL: databaseUrl,
      QM_BOOTSTRAP_API_KEY: ADMIN,
      QM_SECRET_KEY: SECRET_KEY,
      QM_METRICS_PORT: 'off',
      QM_OTLP_GRPC_PORT: 'off',
      QM_CONSOLE: 'off',
      QM_RATE_LIMITS: 'off',
      QM_MAX_OPEN_SESSIONS: '1000000',
      // All clients have the same address.
      QM_MAX_CONNECTIONS_PER_ADDRESS: '10000',
      QM_LOG_LEVEL: 'error',
      ...FAKED_TIME,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  }
  // Not `exit`, because after it some output may still be unread. After `close` all of it was read.
  const ended = new Promise<Awaited<Service['ended']>>((resolve) =>
    child.on('close', (code, signal) => {
      running.delete(child);
      resolve({ code, signal });
    }),
  );
  const url = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), START_MS);
    child.stdout.on('data', () => {
      const listens = /listens on (http:\S+) .*\n/.exec(text)?.[1];
      if (listens === undefined) return;
      clearTimeout(timer);
      resolve(listens);
    });
    void ended.then(() => reject(new Error(`the service did not start: ${text}`)));
  });
  return { url, process: child, output: () => text, ended };
}

/** Stops a service with SIGTERM, as an orchestrator does. @returns its exit code */
export async function stopService({ process: child, ended }: Service): Promise<number | null> {
  child.kill('SIGTERM');
  return (await ended).code;
}

/** Kills a service with SIGKILL, which it cannot handle. */
export async function killService({ process: child, ended }: Service): Promise<void> {
  child.kill('SIGKILL');
  await ended;
}
