import { once } from 'node:events';
import type { IncomingMessage, RequestListener } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createHttpServer } from '../src/http/http-server.ts';
import { CONNECTION_LIMITS } from '../src/http/messages/limits.ts';
import { sendText } from '../src/http/messages/send.ts';
import { startTestServer, type TestServer } from './support/server.ts';
import { wire } from './support/wire.ts';

const LIMITS = {
  headersTimeoutMs: 300,
  requestTimeoutMs: 600,
  keepAliveTimeoutMs: 200,
  checkIntervalMs: 50,
};
const HEAD = 'POST /v1/providers HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({}, { connectionLimits: LIMITS });
});
afterAll(() => server.stop());

type Connection = {
  socket: Socket;
  opened: Promise<void>;
  /** Everything that was received, once the other side has closed. */
  closed: Promise<string>;
};

function open(url = server.url, localAddress = '127.0.0.1'): Connection {
  const { hostname, port } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, localAddress });
  onTestFinished(() => void socket.destroy());
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
  });
  // A reset also closes the connection.
  socket.on('error', () => {});
  const opened = new Promise<void>((resolve) => socket.on('connect', () => resolve()));
  return { socket, opened, closed: new Promise((resolve) => socket.on('close', () => resolve(text))) };
}

/** Sends one byte at a time, with pauses, until the other side closes. */
function drip({ socket, closed }: Connection, start: string): Promise<string> {
  socket.write(start);
  const timer = setInterval(() => socket.write('x'), 20);
  return closed.finally(() => clearInterval(timer));
}

test('the limits are the documented ones', () => {
  expect(CONNECTION_LIMITS).toEqual({
    headersTimeoutMs: 10_000,
    requestTimeoutMs: 60_000,
    keepAliveTimeoutMs: 65_000,
    unreadTimeoutMs: 120_000,
    checkIntervalMs: 1000,
    maxHeaderBytes: 16_384,
    maxHeaders: 100,
    maxPipelined: 100,
    maxPipelinedPerSecond: 1000,
    maxConnections: 10_000,
    maxConnectionsPerAddress: 500,
  });
});

test('a connection that sends nothing is closed', async () => {
  expect(await open().closed).toMatch(/^(HTTP\/1\.1 408 |$)/);
});

test('a request head that arrives too slowly is 408, and the connection is closed', async () => {
  expect(await drip(open(), 'GET /healthz HTTP/1.1\r\nX-Slow: ')).toMatch(/^HTTP\/1\.1 408 /);
});

test('a connection whose request body arrives too slowly is closed when the time limit of requests is reached', async () => {
  const started = performance.now();
  const key = `X-API-Key: ${server.admin.key}\r\n`;
  expect(await drip(open(), `${HEAD}${key}\r\n{"name":"`)).toMatch(/^(HTTP\/1\.1 408 |$)/);
  expect(performance.now() - started).toBeGreaterThanOrEqual(LIMITS.requestTimeoutMs);
});

test('an idle connection is closed after its time limit', async () => {
  const connection = open();
  connection.socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  const text = await connection.closed;
  expect(text).toMatch(/^HTTP\/1\.1 200 /);
  expect(text).toMatch(/keep-alive/i);
});

/** A server that answers every request with 16 MiB, more than the buffers of a connection take. */
async function largeAnswers(unreadTimeoutMs: number) {
  const answer = Buffer.alloc(16 * 1024 * 1024, 'x');
  const limits = { ...CONNECTION_LIMITS, unreadTimeoutMs };
  const http = createHttpServer(limits, { handle: (req, res) => sendText(req, res, answer) });
  onTestFinished(() => http.close().closeAllConnections());
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return { http, bytes: answer.length, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}` };
}

test('regression: a connection whose client reads nothing of its answer is closed', async () => {
  const { http, url } = await largeAnswers(500);
  const closedByServer = new Promise((resolve) =>
    http.on('connection', (socket: Socket) => socket.once('close', resolve)),
  );
  open(url).socket.pause().write(GOODBYE);
  await closedByServer;
});

/** Reads a large answer with pauses that take five times as long as it may be left unread. Returns whether all of it arrived. */
async function readSlowly(unreadTimeoutMs: number): Promise<boolean> {
  const { url, bytes } = await largeAnswers(unreadTimeoutMs);
  const { socket, closed } = open(url);
  // A read takes at most 64 KiB, so there are at least 256 pauses.
  socket.on('data', () => {
    socket.pause();
    setTimeout(() => socket.resume(), unreadTimeoutMs / 50);
  });
  socket.write(GOODBYE);
  return (await closed).length > bytes;
}

test('regression: a slow reader gets the whole answer, however long it takes', async () => {
  // A machine that stands still for the time limit closes the connection. So the limit is doubled until the machine keeps up. A server
  // that closes slow readers would do so with every limit.
  for (let unreadTimeoutMs = 250; !(await readSlowly(unreadTimeoutMs)); unreadTimeoutMs *= 2) {
    expect(unreadTimeoutMs).toBeLessThan(8000);
  }
});

test('regression: a pipelined request may take longer than clients may leave an answer unread', async () => {
  const limits = { ...CONNECTION_LIMITS, unreadTimeoutMs: 100 };
  const handle: RequestListener = ({ url }, res) =>
    void setTimeout(() => res.end(`answer to ${url}`), url === '/slow' ? 500 : 0);
  const http = createHttpServer(limits, { handle });
  onTestFinished(() => http.close().closeAllConnections());
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { socket, closed } = open(`http://127.0.0.1:${(http.address() as AddressInfo).port}`);
  socket.write('GET /fast HTTP/1.1\r\nHost: x\r\n\r\nGET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  expect(await closed).toMatch(/answer to \/fast.*answer to \/slow/s);
});

test('headers larger than 16 KiB are 431', async () => {
  const connection = open();
  connection.socket.write(
    `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(CONNECTION_LIMITS.maxHeaderBytes)}\r\n\r\n`,
  );
  expect(await connection.closed).toMatch(/^HTTP\/1\.1 431 /);
});

test('a hundred headers are all read; one more is 431, because Node would drop it silently', async () => {
  const filler = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-filler-${at}`, '1']));
  // Plus Host and Connection.
  const last = { 'x-api-key': server.admin.key };
  const target = '/v1/providers';
  expect((await wire(server.url, { target, headers: { ...filler(97), ...last } })).status).toBe(200);
  expect((await wire(server.url, { target, headers: { ...filler(98), ...last } })).status).toBe(431);
});

test('idle and slow connections do not delay others', async () => {
  const idle = Array.from({ length: 40 }, () => open());
  const dripping = Array.from({ length: 10 }, () => drip(open(), 'GET / HTTP/1.1\r\nX-Slow: '));
  await Promise.all(idle.map(({ opened }) => opened));
  for (let round = 0; round < 20; round += 1) {
    expect((await server.call('GET', '/v1/providers', { as: server.admin })).status).toBe(200);
  }
  await Promise.all([...idle.map(({ closed }) => closed), ...dripping]);
});

test('connections beyond the limit are closed at once, and the others go on', async () => {
  const small = await startTestServer({}, { connectionLimits: { maxConnections: 20 } });
  onTestFinished(() => small.stop());
  const within = Array.from({ length: 20 }, () => open(small.url));
  await Promise.all(within.map(({ opened }) => opened));
  const beyond = Array.from({ length: 5 }, () => open(small.url));
  expect(await Promise.all(beyond.map(({ closed }) => closed))).toEqual(['', '', '', '', '']);
  for (const { socket } of within) socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  for (const { closed } of within) expect(await closed).toMatch(/^HTTP\/1\.1 200 /);
});

const GOODBYE = 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

async function refusedConnections({ services }: TestServer): Promise<Record<string, number>> {
  const { values } = await services.metrics.refusedConnections.get();
  return Object.fromEntries(
    values.filter(({ value }) => value > 0).map(({ labels, value }) => [String(labels.reason), value]),
  );
}

test('regression: one address can hold only a part of the connections: more are closed at once, other addresses go on', async () => {
  const small = await startTestServer({ QM_MAX_CONNECTIONS_PER_ADDRESS: '5' });
  onTestFinished(() => small.stop());
  const within = Array.from({ length: 5 }, () => open(small.url));
  await Promise.all(within.map(({ opened }) => opened));
  const beyond = Array.from({ length: 3 }, () => open(small.url));
  expect(await Promise.all(beyond.map(({ closed }) => closed))).toEqual(['', '', '']);
  expect(await refusedConnections(small)).toEqual({ address: 3 });
  const other = open(small.url, '127.0.0.2');
  other.socket.write(GOODBYE);
  expect(await other.closed).toMatch(/^HTTP\/1\.1 200 /);
  // After closing one, the address may open another.
  const [first] = within;
  first?.socket.write(GOODBYE);
  expect(await first?.closed).toMatch(/^HTTP\/1\.1 200 /);
  const next = open(small.url);
  next.socket.write(GOODBYE);
  expect(await next.closed).toMatch(/^HTTP\/1\.1 200 /);
  expect(await refusedConnections(small)).toEqual({ address: 3 });
});

const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}Connection: close\r\n\r\n`;

test('regression: at the limit of an address, its health checks, console and known keys are still answered', async () => {
  const small = await startTestServer({ QM_MAX_CONNECTIONS_PER_ADDRESS: '20', QM_RATE_LIMITS: 'on' });
  onTestFinished(() => small.stop());
  const asked = async (request: string) => {
    const { socket, closed } = open(small.url);
    socket.write(request);
    return (await closed).slice(0, 'HTTP/1.1 200'.length);
  };
  const withKey = get('/v1/providers', `X-API-Key: ${small.admin.key}\r\n`);
  expect(await asked(withKey)).toBe('HTTP/1.1 200');
  const idle = Array.from({ length: 30 }, () => open(small.url));
  await Promise.all(idle.map(({ opened }) => opened));
  for (const path of ['/healthz', '/readyz', '/console/session']) {
    expect([path, await asked(get(path))]).toEqual([path, 'HTTP/1.1 200']);
  }
  expect(await asked(withKey)).toBe('HTTP/1.1 200');
  expect(await asked(get('/v1/providers'))).toBe('HTTP/1.1 429');
  expect(await asked(get('/v1/providers', 'X-API-Key: wrong\r\n'))).toBe('HTTP/1.1 429');
  expect(await asked(get('/openapi.json'))).toBe('HTTP/1.1 429');
});

test('a known caller keeps a connection of the reserve, which others do not take', async () => {
  const small = await startTestServer({ QM_MAX_CONNECTIONS_PER_ADDRESS: '20' });
  onTestFinished(() => small.stop());
  expect((await wire(small.url, { target: '/v1/providers', headers: { 'x-api-key': small.admin.key } })).status).toBe(
    200,
  );
  const idle = Array.from({ length: 19 }, () => open(small.url));
  await Promise.all(idle.map(({ opened }) => opened));
  const known = open(small.url);
  const request = `GET /v1/providers HTTP/1.1\r\nHost: x\r\nX-API-Key: ${small.admin.key}\r\n`;
  known.socket.write(`${request}\r\n`);
  await new Promise((resolve) => known.socket.once('data', resolve));
  const more = Array.from({ length: 5 }, () => open(small.url));
  await Promise.all(more.map(({ opened }) => opened));
  known.socket.write(`${request}Connection: close\r\n\r\n`);
  expect((await known.closed).match(/HTTP\/1\.1 200/g)).toHaveLength(2);
});

const PING = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';

test('regression: 70 agents with three exporters each behind one address fit in', async () => {
  const office = await startTestServer();
  onTestFinished(() => office.stop());
  const exporters = Array.from({ length: 70 * 3 }, () => open(office.url));
  // All of them are open at the same time.
  const answered = exporters.map(({ socket, closed }) => Promise.race([once(socket, 'data'), closed]));
  for (const { socket } of exporters) socket.write(PING);
  await Promise.all(answered);
  for (const { socket } of exporters) socket.write(GOODBYE);
  for (const { closed } of exporters) expect(await closed).toMatch(/^HTTP\/1\.1 200 /);
  expect(await refusedConnections(office)).toEqual({});
});

test('pipelined requests are answered in their order', async () => {
  const { socket, closed } = open();
  socket.write(`${`${PING}GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(30)}${GOODBYE}`);
  const statuses = [...(await closed).matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status);
  expect(statuses).toEqual([...Array.from({ length: 30 }, () => ['200', '404']).flat(), '200']);
});

test('regression: pipelined requests of a connection are handled one after the other', async () => {
  let handled = 0;
  const slow = createHttpServer(CONNECTION_LIMITS, { handle: () => (handled += 1) });
  onTestFinished(() => slow.close().closeAllConnections());
  await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve));
  const { port } = slow.address() as AddressInfo;
  const { socket } = open(`http://127.0.0.1:${port}`);
  const received = new Promise((resolve) => slow.on('request', (req) => req.url === '/last' && resolve(null)));
  socket.write(`${PING.repeat(50)}${PING.replace('/healthz', '/last')}`);
  await received;
  expect(handled).toBe(1);
});

test('regression: an address that pipelines too many requests loses its connections, and others are answered', async () => {
  const flooded = await startTestServer();
  onTestFinished(() => flooded.stop());
  const [idle, flooding, other] = [open(flooded.url), open(flooded.url), open(flooded.url, '127.0.0.2')];
  await Promise.all([idle.opened, flooding.opened, other.opened]);
  flooding.socket.write(PING.repeat(CONNECTION_LIMITS.maxPipelined + 2));
  expect(await idle.closed).toBe('');
  await flooding.closed;
  other.socket.write(GOODBYE);
  expect(await other.closed).toMatch(/^HTTP\/1\.1 200 /);
  expect(await refusedConnections(flooded)).toEqual({ pipelining: 1 });
});

const inChunksOfOneByte = (text: string) => `${text.replaceAll(/./g, '1\r\n$&\r\n')}0\r\n\r\n`;
const chunked = (target: string, headers = '') =>
  `POST ${target} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}Transfer-Encoding: chunked\r\n\r\n`;

test('a body in small chunks is read', async () => {
  const { socket, closed } = open();
  const body = JSON.stringify({ name: 'p'.repeat(900) });
  const key = `X-API-Key: ${server.admin.key}\r\nConnection: close\r\n`;
  socket.write(chunked('/v1/providers', key) + inChunksOfOneByte(body));
  expect(await closed).toMatch(/^HTTP\/1\.1 422 /);
});

test.each(['/v1/providers', '/nothing', '/console/sign-out', '/trpc/nothing'])(
  'regression: an address that sends thousands of very small chunks to %s loses its connections',
  async (target) => {
    const flooded = await startTestServer();
    onTestFinished(() => flooded.stop());
    const [idle, flooding, other] = [open(flooded.url), open(flooded.url), open(flooded.url, '127.0.0.2')];
    await Promise.all([idle.opened, flooding.opened, other.opened]);
    flooding.socket.write(chunked(target) + inChunksOfOneByte('x'.repeat(5000)));
    expect(await idle.closed).toBe('');
    await flooding.closed;
    other.socket.write(GOODBYE);
    expect(await other.closed).toMatch(/^HTTP\/1\.1 200 /);
    expect(await refusedConnections(flooded)).toEqual({ chunks: 1 });
  },
);

test('regression: an address that sends thousands of small chunks over several connections loses its connections', async () => {
  const flooded = await startTestServer();
  onTestFinished(() => flooded.stop());
  const flooding = Array.from({ length: 6 }, () => open(flooded.url));
  await Promise.all(flooding.map(({ opened }) => opened));
  const chunks = `c8\r\n${'x'.repeat(200)}\r\n`.repeat(900);
  for (const { socket } of flooding)
    socket.write(chunked('/v1/traces', `X-API-Key: ${flooded.admin.key}\r\n`) + chunks);
  await Promise.all(flooding.map(({ closed }) => closed));
  expect(await refusedConnections(flooded)).toEqual({ chunks: 1 });
});

test('regression: an address that pipelines thousands of requests over several connections loses them, and is refused for a second', async () => {
  const flooded = await startTestServer();
  onTestFinished(() => flooded.stop());
  const flooding = Array.from({ length: 12 }, () => open(flooded.url));
  await Promise.all(flooding.map(({ opened }) => opened));
  for (const { socket } of flooding) socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(90));
  await Promise.all(flooding.map(({ closed }) => closed));
  expect(await refusedConnections(flooded)).toEqual({ pipelining: 1 });
  const again = open(flooded.url);
  again.socket.write(GOODBYE);
  expect(await again.closed).toBe('');
  expect(await refusedConnections(flooded)).toEqual({ pipelining: 1, address: 1 });
  const other = open(flooded.url, '127.0.0.2');
  other.socket.write(GOODBYE);
  expect(await other.closed).toMatch(/^HTTP\/1\.1 200 /);
});

test('regression: a refused body is not kept in memory after its connection is closed', async () => {
  const requests: IncomingMessage[] = [];
  const refusing = createHttpServer(CONNECTION_LIMITS, {
    handle: (req, res) => {
      requests.push(req);
      sendText(req, res, 'refused');
    },
  });
  onTestFinished(() => refusing.close().closeAllConnections());
  await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve));
  const { port } = refusing.address() as AddressInfo;
  const { socket } = open(`http://127.0.0.1:${port}`);
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(100_000)}`);
  await new Promise((resolve) => socket.once('data', resolve));
  socket.destroy();
  await expect.poll(() => requests.map(({ destroyed }) => destroyed)).toEqual([true]);
});

test('a trusted proxy may hold all connections of the process', async () => {
  const environment = { QM_MAX_CONNECTIONS_PER_ADDRESS: '2', QM_TRUSTED_PROXIES: 'loopback' };
  const small = await startTestServer(environment, { connectionLimits: { maxConnections: 6 } });
  onTestFinished(() => small.stop());
  const within = Array.from({ length: 6 }, () => open(small.url));
  await Promise.all(within.map(({ opened }) => opened));
  expect(await open(small.url).closed).toBe('');
  for (const { socket } of within) socket.write(GOODBYE);
  for (const { closed } of within) expect(await closed).toMatch(/^HTTP\/1\.1 200 /);
  expect(await refusedConnections(small)).toEqual({ process: 1 });
});

test('regression: a request with two Host headers is 400, even if they are equal', async () => {
  for (const hosts of ['Host: a\r\nHost: b', 'Host: a\r\nhOST: a']) {
    for (const target of ['/healthz', '/v1/providers', '/trpc/providers.list']) {
      const connection = open();
      connection.socket.write(`GET ${target} HTTP/1.1\r\n${hosts}\r\n\r\n`);
      expect(await connection.closed).toMatch(/^HTTP\/1\.1 400 /);
    }
  }
});

test.each([
  '/',
  '/healthz',
  '/readyz',
  '/favicon.ico',
  '/openapi.json',
  '/.well-known/jwks.json',
  '/docs',
  '/docs/',
  '/docs/init.js',
])('%s accepts GET and HEAD; other methods are 405 with Allow', async (target) => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']) {
    const answer = await wire(server.url, { method, target });
    expect([answer.status, answer.headers.allow], method).toEqual([405, 'GET, HEAD']);
    expect(JSON.parse(answer.text)).toMatchObject({ code: 'method_not_allowed', status: 405 });
  }
});

test.each(['PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY'])('%s is 405 below /v1 and at /trpc', async (method) => {
  const rest = await wire(server.url, { method, target: '/v1/providers' });
  expect([rest.status, rest.headers.allow]).toEqual([405, 'GET, HEAD, POST']);
  const trpc = await wire(server.url, { method, target: '/trpc/providers.list' });
  expect([trpc.status, trpc.headers.allow]).toEqual([405, 'GET, POST']);
});
