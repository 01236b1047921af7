import { databaseNow } from '@quartermaster/db/database-clock.ts';
import { newTestDatabase, onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { obtainToken } from '@quartermaster/dev-identity/sign-in.ts';
import pino from 'pino';
import { request } from 'undici';
import { expect, onTestFinished } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { type Parts, type RunningServer, startServer } from '../../src/server/start.ts';
import { contractFaults } from './contract-check.ts';

export type Credential = { key: string } | { token: string } | null;
// The body of an answer. Each test knows its type.
// oxlint-disable-next-line typescript/no-explicit-any
export type Body = any;
export type Answered = { status: number; headers: Headers; body: Body; text: string };
type Sent = {
  as?: Credential;
  body?: unknown;
  raw?: string | Uint8Array<ArrayBuffer>;
  headers?: Record<string, string>;
  unchecked?: boolean;
};

export type TestServer = RunningServer & {
  /** The first platform administrator. */
  admin: { key: string };
  /** Sends a request, and checks the answer against the OpenAPI document. `body` is sent as JSON, `raw` unchanged. */
  call(method: string, path: string, sent?: Sent): Promise<Answered>;
  /** The same, and expects 200. Returns the body of the answer. */
  ok(method: string, path: string, sent?: Sent): Promise<Body>;
  /** A bearer token of the development identity provider. */
  tokenOf(email: string): Promise<{ token: string }>;
  /** Moves the clocks of the service and its database forward. They return at the end of the test. */
  travel(milliseconds: number): void;
  /** Sets the clock of the service ahead of the database's. Only on PostgreSQL are they two clocks. */
  skew(milliseconds: number): void;
  /** Stops the clock of the service at the current time, or the given number of milliseconds ahead of it. */
  freeze(aheadMs?: number): void;
  databaseUrl: string;
  /** Stops the service, and keeps its database until `removeDatabase`. */
  end(): Promise<void>;
  removeDatabase(): Promise<void>;
};

/** The secret key for PostgreSQL. With SQLite the service keeps its key in a file next to the database. */
export const SECRET_KEY = Buffer.alloc(32, 'k').toString('base64');

/** One for all servers of a process. A log of the service writes ten times a second, even after its server has stopped. */
const LOG = pino({ level: 'fatal' });

/**
 * Starts the whole service on a free port with the development identity provider. It gets a new database, unless
 * `DATABASE_URL` is given.
 *
 * @param parts replacements for parts of the service: log, DNS, shorter limits of syncs and connections
 */
export async function startTestServer(
  environment: Record<string, string> = {},
  parts: Omit<Parts, 'now' | 'checkAnswers'> = {},
): Promise<TestServer> {
  const given = environment['DATABASE_URL'];
  const database = given === undefined ? await newTestDatabase('migrated') : { url: given, remove: async () => {} };
  const config = readConfig({
    PORT: '0',
    DATABASE_URL: database.url,
    ...(onPostgres() && { QM_SECRET_KEY: SECRET_KEY }),
    // The development identity provider refuses to run behind a proxy.
    QM_DEV_IDENTITY: 'QM_PUBLIC_URL' in environment || 'QM_TRUSTED_PROXIES' in environment ? '0' : '1',
    QM_METRICS_PORT: 'off',
    QM_OTLP_GRPC_PORT: 'off',
    QM_SHUTDOWN_DELAY_MS: '0',
    QM_RATE_LIMITS: 'off',
    ...environment,
  });
  let shift = 0;
  let frozenAt: number | null = null;
  const now = () => new Date((frozenAt ?? Date.now()) + shift);
  let skew = 0;
  const server = await startServer(config, {
    log: LOG,
    // On a busy machine the database may take longer than a request usually waits to be counted.
    sharedLimitsWaitMs: 60_000,
    ...parts,
    checkAnswers: true,
    now: () => new Date(now().getTime() + skew),
    // On PostgreSQL the database has its own clock, which has to move as well.
    databaseNow: async (db) => new Date((await databaseNow(db, now())).getTime() + (onPostgres() ? shift : 0)),
  });
  const call = (method: string, path: string, sent: Sent = {}) => send(server.url, method, path, sent);
  return {
    ...server,
    admin: { key: server.bootstrapKey ?? '' },
    call,
    async ok(method, path, sent) {
      const answered = await call(method, path, sent);
      expect(answered.status, `${method} ${path}: ${answered.text}`).toBe(200);
      return answered.body;
    },
    tokenOf: async (email) => {
      const { accessToken } = await obtainToken({ issuer: server.trustedIssuer.issuer ?? '', email });
      return { token: accessToken };
    },
    travel(milliseconds) {
      shift += milliseconds;
      onTestFinished(() => {
        shift -= milliseconds;
      });
    },
    skew(milliseconds) {
      skew = milliseconds;
    },
    freeze(aheadMs = 0) {
      frozenAt = Date.now() + aheadMs;
    },
    databaseUrl: config.databaseUrl,
    end: () => server.stop(),
    removeDatabase: () => database.remove(),
    async stop() {
      await server.stop();
      await database.remove();
    },
  };
}

/** Like {@link startTestServer}. The server stops at the end of the test, unless the test has stopped it before. */
export async function serverOfTest(...parts: Parameters<typeof startTestServer>): Promise<TestServer> {
  const server = await startTestServer(...parts);
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= server.stop();
    return stopped;
  };
  onTestFinished(stop);
  return { ...server, stop };
}

async function send(url: string, method: string, path: string, sent: Sent): Promise<Answered> {
  const { status, headers, text } = await exchange(url + path, {
    method,
    headers: {
      ...(sent.body !== undefined && { 'content-type': 'application/json' }),
      // The type that fetch sets for text.
      ...(typeof sent.raw === 'string' && { 'content-type': 'text/plain;charset=UTF-8' }),
      ...headersOf(sent.as ?? null),
      ...sent.headers,
    },
    body: sent.body === undefined ? sent.raw : JSON.stringify(sent.body),
  });
  const contentType = headers.get('content-type');
  const body = /json/.test(contentType ?? '') && text !== '' ? JSON.parse(text) : undefined;
  expect(headers.get('x-request-id')).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
  if (path.startsWith('/v1/') && sent.unchecked !== true && method !== 'HEAD') {
    expect(contractFaults({ method, path, status, contentType, body })).toEqual([]);
  }
  return { status, headers, body, text };
}

type Exchange = {
  method: string;
  headers: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer> | undefined;
};

/** Sends a request and reads the whole answer. It takes a third of the time of fetch, which creates streams. */
export async function exchange(url: string, { method, headers, body }: Exchange) {
  const named = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const answer = await request(url, { method, headers: named, body: body ?? null });
  const entries = Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value ?? '')]);
  return { status: answer.statusCode, headers: new Headers(entries), text: await answer.body.text() };
}

export function headersOf(credential: Credential): Record<string, string> {
  if (credential === null) return {};
  return 'key' in credential ? { 'x-api-key': credential.key } : { authorization: `Bearer ${credential.token}` };
}
