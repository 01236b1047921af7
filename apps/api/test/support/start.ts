import pino from 'pino';
import { onTestFinished } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { describeFailure, type Failure } from '../../src/server/failures.ts';
import { type Parts, type RunningServer, startServer } from '../../src/server/start.ts';
import { databaseFile } from './environment.ts';

/** The defaults of `runProgram` and `startProcess` too: tests run concurrently, and a stop need not wait for clients. */
const DEFAULTS = {
  PORT: '0',
  QM_METRICS_PORT: 'off',
  QM_OTLP_GRPC_PORT: 'off',
  QM_SHUTDOWN_DELAY_MS: '0',
  QM_RATE_LIMITS: 'off',
};

/**
 * Starts the service in this process as its program does, with this environment only. It stops at the end of the test,
 * unless the test has stopped it before.
 */
export async function startService(environment: Record<string, string>, parts: Parts = {}): Promise<RunningServer> {
  const config = readConfig({ ...DEFAULTS, ...environment });
  const server = await startServer(config, { log: pino({ level: 'silent' }), ...parts });
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= server.stop();
    return stopped;
  };
  onTestFinished(stop);
  return { ...server, stop };
}

/** Starts the service in this process, and returns the failure that its program would print and exit with. */
export async function startFailure(environment: Record<string, string>): Promise<Failure> {
  const error = await startService(environment).then(
    () => new Error('the service started'),
    (thrown: unknown) => thrown,
  );
  return describeFailure(error);
}

/** A database on which a service was started and stopped once. */
export async function databaseServedOnce(
  environment: Record<string, string> = {},
): Promise<{ DATABASE_URL: string; file: string }> {
  const file = await databaseFile();
  const DATABASE_URL = `sqlite:${file}`;
  const { stop } = await startService({ ...environment, DATABASE_URL });
  await stop();
  return { DATABASE_URL, file };
}

/** The status of a request for the list of tenants with an API key. It is 200 for keys of platform administrators. */
export async function statusWith(url: string, key: string): Promise<number> {
  return (await fetch(`${url}/v1/tenants`, { headers: { 'x-api-key': key } })).status;
}
