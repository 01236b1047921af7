import { closeSync, openSync } from 'node:fs';
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '@quartermaster/api/src/config.ts';
import { freePort } from '@quartermaster/db/testing/free-port.ts';
import { ended, spawnOn } from '../machine.ts';
import type { MeasuredServer } from './measured-server.ts';

export type QuartermasterOptions = {
  core: number | null;
  databaseUrl: string;
  /** 32 bytes, base64. */
  secretKey: string;
  /** The path of its log file. */
  logPath: string;
  bootstrapApiKey?: string;
  /** A folder for a CPU profile, which is written when it ends; null: no profile. */
  profileFolder: string | null;
  /** Settings in the place of those below. `PORT` must be free. */
  environment?: Record<string, string>;
};

export type Quartermaster = MeasuredServer & {
  metricsPort: number;
  /** The time from the start of its process until it answered that it is ready, in milliseconds. */
  readyMs: number;
};

/** The issuer of session tokens, here and on the floors. */
export const PUBLIC_URL = 'https://quartermaster.example';

/** A rate limit that is counted, but never reached. */
const REQUESTS_A_MINUTE = '10000000';

const MAIN = join(ROOT, 'apps/api/src/main.ts');

/** Runs Node with the settings of `npm start`. */
const SERVER_SH = join(ROOT, 'scripts/server.sh');

const START_TIMEOUT_MS = 60_000;
const POLL_MS = 2;

/**
 * Starts this API like a user: with its main file, logging to a file, metrics and rate limits. The limits are so high that a
 * load from one address is not refused.
 */
export async function startQuartermaster(options: QuartermasterOptions): Promise<Quartermaster> {
  const port = Number(options.environment?.['PORT'] ?? (await freePort()));
  const metricsPort = await freePort();
  const log = openSync(options.logPath, 'a');
  const profile = options.profileFolder === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${options.profileFolder}`];
  const began = performance.now();
  const child = spawnOn(options.core, ['sh', SERVER_SH, ...profile, MAIN], {
    stdio: ['ignore', log, log],
    env: {
      ...environment(),
      PORT: String(port),
      DATABASE_URL: options.databaseUrl,
      QM_SECRET_KEY: options.secretKey,
      QM_PUBLIC_URL: PUBLIC_URL,
      QM_METRICS_PORT: String(metricsPort),
      QM_OTLP_GRPC_PORT: 'off',
      QM_CONSOLE: 'off',
      QM_MAX_OPEN_SESSIONS: '1000000',
      QM_RATE_LIMIT_PRINCIPAL: REQUESTS_A_MINUTE,
      QM_RATE_LIMIT_INGEST: REQUESTS_A_MINUTE,
      QM_RATE_LIMIT_ADDRESS: REQUESTS_A_MINUTE,
      ...(options.bootstrapApiKey !== undefined && { QM_BOOTSTRAP_API_KEY: options.bootstrapApiKey }),
      ...options.environment,
    },
  });
  closeSync(log);
  while ((await statusOf(port, '/readyz')) !== 200) {
    if (child.exitCode !== null) throw new Error(`the API ended at its start; its log is ${options.logPath}`);
    if (performance.now() - began > START_TIMEOUT_MS) throw new Error('the API did not start in time');
    await sleep(POLL_MS);
  }
  return {
    name: 'quartermaster',
    pid: child.pid ?? 0,
    port,
    metricsPort,
    readyMs: performance.now() - began,
    stop: async () => {
      child.kill('SIGTERM');
      await ended(child);
    },
  };
}

/** An environment without the caller's configuration, so that results do not depend on it. */
function environment(): Record<string, string | undefined> {
  const { PATH, HOME, TMPDIR } = process.env;
  // The same as in `npm start`.
  const NODE_COMPILE_CACHE = join(ROOT, 'node_modules/.cache/quartermaster');
  // `node` is the Node of this process.
  return {
    PATH: `${dirname(process.execPath)}:${PATH}`,
    HOME,
    TMPDIR,
    NODE_ENV: 'production',
    NODE_COMPILE_CACHE,
  };
}

/** The status of a request; null if nothing listens yet. */
function statusOf(port: number, path: string): Promise<number | null> {
  return new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port, path, agent: false }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? null));
    });
    sent.on('error', () => resolve(null)).end();
  });
}
