import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Scope } from '@quartermaster/contracts/scopes.ts';
import { createExpressMiddleware } from '@trpc/server/adapters/express';
import express from 'express';
import { onTestFinished } from 'vitest';
import type { Principal } from '../../src/access/principal.ts';
import { ApiError } from '../../src/errors.ts';
import { type RestOptions, restHandler } from '../../src/http/rest.ts';
import type { Context } from '../../src/trpc.ts';
import { ingest, widgets } from './widgets.ts';

export const REQUEST_ID = 'req-1';

/** The tokens that these servers know, and the scopes that they give in tenant `acme`. */
const TOKENS: Record<string, Scope[]> = { all: ['*'], reader: ['providers:read'], stranger: ['users:read'] };

const ADMIN = { authorization: 'Bearer all' };

export type Server = {
  url: string;
  port: number;
  /** What was not foreseen, as the handler reported it. */
  errors: unknown[];
  /** Called when the next request comes in, and when the next answer's connection is closed. */
  onRequest: (then: () => void) => void;
  onClosed: (then: () => void) => void;
};

/** A server of the widgets on a free port, for the length of one test. */
export async function serve(options: Partial<RestOptions> = {}): Promise<Server> {
  const errors: unknown[] = [];
  const app = express();
  app.disable('x-powered-by');
  app.use((_req, res, next) => {
    res.setHeader('X-Request-Id', REQUEST_ID);
    next();
  });
  app.use(
    '/trpc',
    createExpressMiddleware({
      router: widgets,
      createContext: async ({ req }) => contextOf(await authenticate(req), REQUEST_ID),
    }),
  );
  app.use(
    restHandler({
      procedures: widgets._def.procedures,
      operations: [ingest],
      identify: async (req, _res, { operation }) => (operation?.scope === 'public' ? null : authenticate(req)),
      createContext: (_req, _res, principal, requestId) => contextOf(principal, requestId),
      requestId: (res) => String(res.getHeader('X-Request-Id')),
      otlp: async (_req, res, operation) => {
        res.setHeader('content-type', 'application/json').end(JSON.stringify({ otlp: operation.operationId }));
      },
      onRefused: (error, answer) => {
        if (answer.unexpected) errors.push(error);
      },
      checkAnswers: true,
      ...options,
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

/** Sends a request as the administrator, and reads the answer whole. A text body is JSON unless the headers say. */
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

/** Writes bytes to a connection of its own and reads until `enough` says so, or the other side closes. */
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

/** Writes the beginning of a request, and resets the connection once the server has it in hand. */
export async function abandon(server: Server, start: string): Promise<void> {
  const begun = new Promise<void>((resolve) => server.onRequest(resolve));
  const socket = connect(server.port, '127.0.0.1', () => socket.write(start));
  await begun;
  const ended = new Promise<void>((resolve) => server.onClosed(resolve));
  socket.resetAndDestroy();
  await ended;
}

async function authenticate(req: IncomingMessage): Promise<Principal | null> {
  const header = req.headers.authorization;
  if (header === undefined) return null;
  const scopes = TOKENS[header.replace('Bearer ', '')];
  if (!scopes) throw new ApiError('credentials_invalid', 'The token is not valid.');
  return {
    kind: 'service_account',
    id: 'tester',
    tenantId: 'acme',
    scheme: 'bearer',
    keyId: null,
    keyExpiresAt: null,
    platformAdministrator: false,
    platformScopes: [],
    grants: [{ tenantId: 'acme', subTenantId: null, scopes }],
    termsAccepted: true,
  };
}

function contextOf(principal: Principal | null, requestId: string): Context {
  const callerRequestId = null;
  return { services: {} as Context['services'], requestId, callerRequestId, address: '127.0.0.1', principal };
}
