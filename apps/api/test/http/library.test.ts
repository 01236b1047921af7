// What trpc-to-openapi 3.3.0 does that src/http/rest works around, one test for each workaround. They call the library without ours.
// If one fails after an upgrade, the library has changed there: remove the workaround that the test names, or adapt it.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { type AddressInfo, connect } from 'node:net';
import { initTRPC, TRPCError } from '@trpc/server';
import { createOpenApiNodeHttpHandler, generateOpenApiDocument, type OpenApiMeta } from 'trpc-to-openapi';
import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { ApiError } from '../../src/platform/errors.ts';

const t = initTRPC.meta<OpenApiMeta>().create();

type Options = Partial<Omit<Parameters<typeof createOpenApiNodeHttpHandler>[0], 'router'>>;

const contractCount = z.int();

const router = t.router({
  list: t.procedure
    .meta({ openapi: { method: 'GET', path: '/v1/items' } })
    .input(z.object({ count: contractCount.optional() }))
    .output(z.unknown())
    .query(() => 'list'),
  get: t.procedure
    .meta({ openapi: { method: 'GET', path: '/v1/items/{id}' } })
    .input(z.object({ id: z.string() }))
    .output(z.unknown())
    .query(({ input }) => input),
  shadowed: t.procedure
    .meta({ openapi: { method: 'GET', path: '/v1/items/first' } })
    .output(z.unknown())
    .query(() => 'shadowed'),
  update: t.procedure
    .meta({ openapi: { method: 'PUT', path: '/v1/items/{id}' } })
    .input(z.looseObject({ id: z.string() }))
    .output(z.unknown())
    .mutation(({ input }) => input),
  refuse: t.procedure
    .meta({ openapi: { method: 'POST', path: '/v1/refuse' } })
    .output(z.unknown())
    .mutation(() => {
      throw new ApiError('name_taken', 'There is one already.');
    }),
});

/** Serves the router with the library alone. Returns a function that sends a request whose target is not normalized. */
async function serveLibrary(options: Options = {}) {
  const handle = createOpenApiNodeHttpHandler({ router, ...options });
  const thrown: unknown[] = [];
  const server = createServer((req, res) => {
    handle(req, res).catch((error: unknown) => {
      thrown.push(error);
      res.end('thrown');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const send = (method: string, target: string, { type = 'application/json', body = '', host = 'a' } = {}) =>
    new Promise<{ status: number; head: string; body: unknown }>((resolve, reject) => {
      const lines = [`${method} ${target} HTTP/1.1`, `Host: ${host}`, 'Connection: close'];
      if (body !== '') lines.push(`Content-Type: ${type}`, `Content-Length: ${Buffer.byteLength(body)}`);
      const socket = connect(port, '127.0.0.1', () => socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`));
      let text = '';
      socket.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      socket.on('error', reject).on('close', () => {
        const [head = '', content = ''] = text.split('\r\n\r\n');
        const json = /^[[{"]/.test(content) ? JSON.parse(content) : content;
        resolve({ status: Number(head.slice(9, 12)), head, body: json });
      });
    });
  return { send, thrown };
}

test.each([
  ['another letter case (utils/path.mjs:9)', '/v1/ITEMS', 'list'],
  ['a slash at the end (utils/path.mjs:2)', '/v1/items/', 'list'],
  ['the segment . (adapters/node-http/core.mjs:30)', '/v1/./items', 'list'],
  ['the segment .. (core.mjs:30)', '/v1/items/../items', 'list'],
  ['an encoded .. (core.mjs:30)', '/v1/items/%2e%2e/items', 'list'],
  ['a backslash as a slash (core.mjs:30)', '/v1\\items', 'list'],
  ['a # as the end (core.mjs:30)', '/v1/items#/a', 'list'],
  ['an escape in a parameter, undecoded (procedures.mjs:30)', '/v1/items/a%20b', { id: 'a%20b' }],
  ['the first of two routes, not the literal one (procedures.mjs:25)', '/v1/items/first', { id: 'first' }],
])('path: the library takes %s', async (_name, path, expected) => {
  const { send } = await serveLibrary();
  expect(await send('GET', path)).toMatchObject({ status: 200, body: expected });
});

test('method: the library does not answer HEAD like GET (core.mjs:43)', async () => {
  const { send } = await serveLibrary();
  expect((await send('HEAD', '/v1/items')).status).toBe(204);
});

test('headers: the library refuses a media type before it creates the context (core.mjs:54)', async () => {
  const createContext = vi.fn<() => Promise<never>>();
  const { send } = await serveLibrary({ createContext });
  for (const type of ['text/plain', 'application/merge-patch+json']) {
    expect((await send('PUT', '/v1/items/a', { type, body: '{}' })).status).toBe(415);
  }
  expect(createContext).not.toHaveBeenCalled();
});

test('body: the library reads the body before it creates the context, and not if its type has a charset (input.mjs:35)', async () => {
  const createContext = vi.fn<() => Promise<never>>();
  const { send } = await serveLibrary({ createContext });
  expect((await send('PUT', '/v1/items/a', { body: '{' })).status).toBe(400);
  expect(createContext).not.toHaveBeenCalled();
  const answer = await send('PUT', '/v1/items/a', { type: 'application/json; charset=utf-8', body: '{"name":"b"}' });
  expect(answer.body).toEqual({ id: 'a' });
});

test('query and body: the library ignores the query of a write, and names collide in its one input (core.mjs:67)', async () => {
  const { send } = await serveLibrary();
  const answer = await send('PUT', '/v1/items/path?revision=7', { body: '{"id":"body","name":"b"}' });
  expect(answer.body).toEqual({ id: 'path', name: 'b' });
});

test('schemas: the library changes the schemas of its input, so those of contracts must have text only (utils/zod.mjs:85)', async () => {
  const { send } = await serveLibrary();
  await send('GET', '/v1/items');
  expect(contractCount.safeParse('5').data).toBe(5);
});

test('errors: the library answers errors in a form of its own, unless onError throws (core.mjs:127, 157)', async () => {
  const own = await (await serveLibrary()).send('POST', '/v1/refuse', { body: '{}' });
  expect(own).toMatchObject({ status: 500, body: { code: 'INTERNAL_SERVER_ERROR' } });
  const onError: Options['onError'] = ({ error }) => {
    throw error;
  };
  const { send, thrown } = await serveLibrary({ onError });
  expect((await send('POST', '/v1/refuse', { body: '{}' })).body).toBe('thrown');
  // errors.mjs:71: an error whose name is not TRPCError is wrapped.
  expect(thrown).toEqual([expect.any(TRPCError)]);
  expect((thrown[0] as TRPCError).cause).toBeInstanceOf(ApiError);
});

test('response: the library gives a 304 a media type (core.mjs:20)', async () => {
  const { send } = await serveLibrary({ responseMeta: () => ({ status: 304 }) });
  expect((await send('GET', '/v1/items')).head).toMatch(/^HTTP\/1\.1 304 .*\r\nContent-Type: application\/json/s);
});

test('response: the library writes an answer of any size at once, without asking (core.mjs:26)', async () => {
  const end = vi.fn<(text: string) => void>();
  const handle = createOpenApiNodeHttpHandler({ router, serialize: () => 'x'.repeat(1e6) });
  await handle({ method: 'GET', url: '/v1/items' } as never, { setHeader: () => {}, end } as never);
  expect(end.mock.calls).toEqual([['x'.repeat(1e6)]]);
});

test('document: what `paths` has replaces what the generator made of a procedure (generator/paths.mjs:122)', () => {
  const paths = { '/v1/items': { get: { operationId: 'ours', responses: {} } } };
  const document = generateOpenApiDocument(router, { title: '', version: '', baseUrl: '', paths });
  expect(document.paths?.['/v1/items']?.get).toEqual({ operationId: 'ours', responses: {} });
  expect(document.paths?.['/v1/items/{id}']?.put?.parameters).toHaveLength(1);
});

// The patches in patches/. When upstream has them, the patch does not apply any more; these tests must then still pass.

test('patch: `serialize` writes the body, in both builds of the library', async () => {
  const { send } = await serveLibrary({ serialize: (body) => JSON.stringify({ body }) });
  expect((await send('GET', '/v1/items')).body).toEqual({ body: 'list' });
  const { createOpenApiNodeHttpHandler: fromCommonJs } = createRequire(import.meta.url)('trpc-to-openapi');
  expect(String(fromCommonJs)).toContain('serialize(body)');
});

test('patch: no fetch Request is built for its signal, and a Host that is no host is no error', async () => {
  const { send } = await serveLibrary();
  const Native = globalThis.Request;
  const built = vi.fn<() => void>();
  vi.stubGlobal(
    'Request',
    new Proxy(Native, {
      construct(target, args: ConstructorParameters<typeof Request>) {
        built();
        return new target(...args);
      },
    }),
  );
  onTestFinished(() => void vi.unstubAllGlobals());
  expect((await send('GET', '/v1/items', { host: 'a b' })).status).toBe(200);
  expect(built).not.toHaveBeenCalled();
});
