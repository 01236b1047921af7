import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { OutboundFailure } from '../src/platform/outbound/failure.ts';
import { type Outbound, type OutboundLimits, openOutbound } from '../src/platform/outbound/outbound.ts';
import { resolveAll } from '../src/platform/outbound/resolver.ts';
import { startPeer } from './inventory-sync/peers.ts';
import { freePort } from '@quartermaster/db/testing/free-port.ts';

const MEGABYTE = 1024 * 1024;
const LIMITS: OutboundLimits = {
  connectMs: 500,
  totalMs: 5000,
  answerBytes: MEGABYTE,
  totalBytes: 1.5 * MEGABYTE,
};
const POLICY = { allowed: ['127.0.0.0/8'], resolver: resolveAll, userAgent: 'quartermaster/test' };

type Options = { headers?: Record<string, string>; limits?: Partial<OutboundLimits>; signal?: AbortSignal };
/** The log lines of a conversation. */
type Logged = Record<string, unknown>[];

function outboundTo(
  url: string,
  { headers = {}, limits, signal }: Options = {},
  policy = POLICY,
  logged: Logged = [],
): Outbound {
  const log = { warn: (fields: Record<string, unknown>) => void logged.push(fields) };
  const of = { tenantId: 'acme', baseUrl: new URL(url), headers, signal: signal ?? new AbortController().signal, log };
  const outbound = openOutbound(of, policy, { ...LIMITS, ...limits });
  onTestFinished(() => outbound.close());
  return outbound;
}

/** The reason of a failed request, which is also the first failure of the conversation. */
async function reasonOf(outbound: Outbound, url: string): Promise<string> {
  const thrown = await outbound
    .fetch(url)
    .then((answer) => answer.text())
    .then(
      (text) => new Error(`it was answered: ${text.slice(0, 100)}`),
      (error: unknown) => error,
    );
  if (!(thrown instanceof OutboundFailure)) throw thrown;
  expect(outbound.failure()).toBe(thrown);
  expect(outbound.signal.aborted).toBe(true);
  return thrown.message;
}

/** A TCP server. @param handle called for a connection once data arrived */
async function startTcp(handle: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => handle(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('an answer is returned decompressed, and the headers are sent with each request', async () => {
  const peer = await startPeer((req, res) => {
    if (req.url === '/none') res.writeHead(204).end();
    else res.writeHead(201, { 'content-encoding': 'gzip', 'x-a': 'b' }).end(gzipSync('hello'));
  });
  const outbound = outboundTo(peer.url, { headers: { 'X-Api-Key': 'sk-1' } });
  const answer = await outbound.fetch(`${peer.url}/path?a=b`, { headers: { accept: 'text/plain', 'x-api-key': 'x' } });
  expect([answer.status, await answer.text(), answer.headers.get('x-a')]).toEqual([201, 'hello', 'b']);
  expect(outbound.lastAnswer()?.status).toBe(201);
  const none = await outbound.fetch(new URL('/none', peer.url), { method: 'POST', body: 'x' });
  expect([none.status, await none.text()]).toEqual([204, '']);
  expect(peer.requests.map(({ headers }) => headers['x-api-key'])).toEqual(['sk-1', 'sk-1']);
  expect(outbound.failure()).toBeNull();
});

test('no request is sent to another origin (host, port and scheme)', async () => {
  const peer = await startPeer((_req, res) => void res.end());
  const others = [
    `http://localhost:${peer.port}/`,
    `https://127.0.0.1:${peer.port}/`,
    'http://127.0.0.1:1/',
    'file:///etc',
  ];
  for (const url of others) expect(await reasonOf(outboundTo(peer.url), url)).toBe('it leads to another origin');
  expect(peer.requests).toEqual([]);
});

test('the size limit applies to decompressed answers', async () => {
  const packed = gzipSync(Buffer.alloc(10 * MEGABYTE));
  expect(packed.length).toBeLessThan(MEGABYTE);
  const peer = await startPeer((_req, res) => void res.writeHead(200, { 'content-encoding': 'gzip' }).end(packed));
  expect(await reasonOf(outboundTo(peer.url), peer.url)).toBe('the answer is larger than 1 MB');
});

test('all answers of a conversation count towards one limit', async () => {
  const peer = await startPeer((_req, res) => void res.end(Buffer.alloc(MEGABYTE)));
  const outbound = outboundTo(peer.url);
  await (await outbound.fetch(peer.url)).arrayBuffer();
  expect(await reasonOf(outbound, peer.url)).toBe('all answers together are larger than 1.5 MB');
});

test('after the first failure no more requests are sent', async () => {
  const peer = await startPeer((_req, res) => void res.writeHead(302, { location: '/' }).end());
  const outbound = outboundTo(peer.url);
  await expect(outbound.fetch(peer.url)).rejects.toThrow(/redirect/);
  await expect(outbound.fetch(peer.url)).rejects.toThrow(/redirect/);
  expect(peer.requests).toHaveLength(1);
});

test('network failures have our own messages', async () => {
  const closed = await freePort();
  const noise = await startTcp((socket) => void socket.end('220 this is not HTTP\r\n'));
  const silent = await startTcp(() => {});
  const shut = await startTcp((socket) => void socket.destroy());
  const broken = await startPeer(
    (_req, res) => void res.writeHead(200, { 'content-encoding': 'gzip' }).end('not packed'),
  );
  const rows: [string, RegExp, Options?][] = [
    [`http://127.0.0.1:${closed}`, /^the connection was refused$/],
    [`http://${noise}`, /^it answered something that is not HTTP$/],
    [`http://${shut}`, /^the connection was closed before the answer was complete$/],
    [`http://${silent}`, /^it did not answer within 0\.2 s$/, { limits: { totalMs: 200 } }],
    [`https://${silent}`, /^no connection within 0\.1 s$/, { limits: { connectMs: 100 } }],
    [`https://${noise}`, /^no trusted TLS connection could be made$/],
    [broken.url, /^the answer cannot be unpacked$/],
    // A port of X11, which fetch refuses.
    ['http://127.0.0.1:6000', /^its port is reserved for another protocol$/],
  ];
  for (const [url, reason, options] of rows) expect(await reasonOf(outboundTo(url, options), url)).toMatch(reason);
});

test('a name that does not resolve, or has no addresses, is reported as such', async () => {
  const missing = async () => {
    throw Object.assign(new Error('getaddrinfo ENOTFOUND vendor.test'), { code: 'ENOTFOUND' });
  };
  for (const resolver of [missing, async () => []]) {
    const outbound = outboundTo('http://vendor.test', {}, { ...POLICY, resolver });
    expect(await reasonOf(outbound, 'http://vendor.test/v1')).toBe('its name does not resolve');
  }
});

test('the private address that a name resolves to is logged, and not in the error', async () => {
  const logged: Logged = [];
  const resolver = async () => [{ address: '10.0.0.5', family: 4 }];
  const outbound = outboundTo('http://vendor.test', {}, { ...POLICY, resolver }, logged);
  const reason = 'an address of vendor.test is not public, and not among the networks that are allowed';
  expect(await reasonOf(outbound, 'http://vendor.test/v1')).toBe(reason);
  expect(logged).toEqual([{ host: 'vendor.test', address: '10.0.0.5' }]);
});

test('the socket connects to the checked address, and the server gets the host name', async () => {
  const peer = await startPeer((_req, res) => void res.end('ok'));
  let lookups = 0;
  const resolver = async () => {
    lookups += 1;
    return [{ address: '127.0.0.1', family: 4 }];
  };
  const url = `http://vendor.test:${peer.port}`;
  const outbound = outboundTo(url, {}, { ...POLICY, resolver });
  expect(await (await outbound.fetch(url)).text()).toBe('ok');
  expect(peer.requests[0]?.headers.host).toBe(`vendor.test:${peer.port}`);
  expect(lookups).toBe(1);
});

test('the reason of an aborted conversation is thrown unchanged', async () => {
  const peer = await startPeer(() => {});
  const ending = new AbortController();
  const outbound = outboundTo(peer.url, { signal: ending.signal });
  const asked = outbound.fetch(peer.url);
  ending.abort(new Error('enough'));
  await expect(asked).rejects.toThrow('enough');
  expect(outbound.failure()).toBeNull();
});
