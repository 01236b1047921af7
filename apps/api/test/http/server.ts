import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Scope } from '@quartermaster/contracts/scopes.ts';
import express from 'express';
import { onTestFinished } from 'vitest';
import { ApiError } from '../../src/platform/errors.ts';
import { type RestOptions, restHandler } from '../../src/http/rest/rest.ts';
import type { Services } from '../../src/platform/services.ts';
import { Scheduler } from '../../src/platform/scheduler.ts';
import type { Pipeline } from '../../src/http/pipeline.ts';
import type { Callers } from '../../src/http/rate-limits/callers.ts';
import { setRequestId } from '../../src/platform/request-id.ts';
import { UnreadAnswers } from '../../src/http/unread-answers.ts';
import { trpcHandler } from '../../src/http/trpc-handler.ts';
import { widgets } from './widgets.ts';
import { principalIn } from '../support/principals.ts';

export const REQUEST_ID = 'req-1';

/** The valid tokens of these servers, with their scopes in the tenant `acme`. */
const TOKENS: Record<string, Scope[]> = { all: ['*'], reader: ['providers:read'], stranger: ['users:read'] };

const ADMIN = { authorization: 'Bearer all' };

export type Server = {
  url: string;
  port: number;
  /** The unexpected errors that the handler reported. */
  errors: unknown[];
  /** Called when the next request arrives, and when the connection of the next answer is closed. */
  onRequest: (then: () => void) => void;
  onClosed: (then: () => void) => void;
};

type ServeOptions = Partial<Pipeline> &
  Partial<Pick<Callers, 'authenticate'>> &
  Partial<Pick<RestOptions, 'router' | 'bodyLimit'>>;

/** A server with the widget operations, or those of another router, on a free port. It stops at the end of the test. */
export async function serve({
  authenticate = authenticated,
  router = widgets,
  bodyLimit,
  ...parts
}: ServeOptions = {}): Promise<Server> {
  const errors: unknown[] = [];
  const app = express();
  app.disable('x-powered-by');
  app.use((req, res, next) => {
    req.headers['x-request-id'] = REQUEST_ID;
    setRequestId(req, res);
    next();
  });
  const pipeline: Pipeline = {
    services: { scheduler: new Scheduler(), now: () => new Date() } as Services,
    callers: { authenticate, limitRate: async () => {}, chargeWork: async () => {} },
    unread: new UnreadAnswers(),
    addressOf: () => '127.0.0.1',
    countUnmatched: async () => {},
    onMatched: () => {},
    onTurn: () => {},
    checkAnswers: true,
    ...parts,
  };
  const onRefused: RestOptions['onRefused'] = (error, answer) => {
    if (answer.unexpected) errors.push(error);
  };
  app.use('/trpc', trpcHandler({ router, pipeline, onRefused }));
  app.use(
    restHandler({
      router,
      pipeline,
      otlp: async (_req, res, operation) => {
        res.setHeader('content-type', 'application/json').end(JSON.stringify({ otlp: operation.operationId }));
      },
      onRefused,
      ...(bodyLimit !== undefined && { bodyLimit }),
    }),
  );
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  let closed = () => {};
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    errors,
    onRequest: (then) =>
      server.once('request', (_req, res) => {
        res.once('close', () => closed());
        then();
      }),
    onClosed: (then) => {
      closed = then;
    },
  };
}

export type Sent = { method?: string; headers?: Record<string, string>; body?: string | Uint8Array<ArrayBuffer> };

/** Sends a request as the administrator, and reads the whole answer. The default type of a text body is JSON. */
export async function send(server: Server, path: string, { method, headers = {}, body }: Sent = {}) {
  const response = await fetch(server.url + path, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { ...ADMIN, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  const json = /json/.test(response.headers.get('content-type') ?? '') && text !== '' ? JSON.parse(text) : undefined;
  return { status: response.status, headers: response.headers, text, body: json };
}

/** Writes bytes to a new connection, and reads until `enough` returns true or the other side closes. */
export function exchange(
  server: Server,
  parts: (string | Buffer)[],
  enough: (answer: string) => boolean = () => false,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(server.port, '127.0.0.1', () => {
      for (const part of parts) socket.write(part);
    });
    let answer = '';
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      answer += text;
      if (!enough(answer)) return;
      socket.destroy();
      resolve(answer);
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });
}

/** Writes the beginning of a request, and resets the connection once the server handles it. */
export async function abandon(server: Server, start: string): Promise<void> {
  const begun = new Promise<void>((resolve) => server.onRequest(resolve));
  const socket = connect(server.port, '127.0.0.1', () => socket.write(start));
  await begun;
  const ended = new Promise<void>((resolve) => server.onClosed(resolve));
  socket.resetAndDestroy();
  await ended;
}

const authenticated: Callers['authenticate'] = async (req, _res, { operation }) => {
  const header = req.headers.authorization;
  if (operation.scope === 'public' || header === undefined) return null;
  const scopes = TOKENS[header.replace('Bearer ', '')];
  if (!scopes) throw new ApiError('credentials_invalid', 'The token is not valid.');
  return principalIn('acme', { grants: [{ tenantId: 'acme', subTenantId: null, scopes }] });
};
