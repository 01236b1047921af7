import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { Buffers } from '../../src/resources/mcp-proxy/buffers.ts';
import { Streams } from '../../src/resources/mcp-proxy/streams.ts';
import { LOOPBACK, startPeer } from '../inventory-sync/peers.ts';
import { serverOfTest, startTestServer, type TestServer } from '../support/server.ts';
import { call, outcome, proxiedWorld, send } from './world.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK, { decisionsFreshMs: 0 });
  return () => server.stop();
});

/** An MCP server whose answers are streams that stay open. */
async function startStreaming() {
  const answers: ServerResponse[] = [];
  const waiting: ((res: ServerResponse) => void)[] = [];
  const peer = await startPeer((req, res) => {
    req.resume();
    res.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
    answers.push(res);
    waiting.shift()?.(res);
  });
  /** The answer to the next request. */
  const next = () => new Promise<ServerResponse>((resolve) => waiting.push(resolve));
  return { url: `${peer.url}/mcp`, answers, next };
}

const event = (text: string) =>
  `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"${text}"}}\n\n`;

/** Reads what has arrived of a body. */
function reader(answer: Response) {
  const chunks = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  return async () => (await chunks?.read())?.value;
}

const closed = (res: ServerResponse) => new Promise<void>((resolve) => res.once('close', () => resolve()));

test.each(['POST', 'GET'])('events of %s arrive one by one, while the stream is open', async (method) => {
  const peer = await startStreaming();
  const world = await proxiedWorld(server, peer);
  const atPeer = peer.next();
  // The answer begins before the first event.
  const answer = await send(world, { method, ...(method === 'POST' && { body: call('search') }) });
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  const [res, read] = [await atPeer, reader(answer)];
  for (const text of ['one', 'two', 'three']) {
    res.write(event(text));
    expect(await read()).toBe(event(text));
  }
  res.end();
  expect(await read()).toBeUndefined();
});

test('a client that disconnects ends the request at the server', async () => {
  const peer = await startStreaming();
  const world = await proxiedWorld(server, peer);
  const leaving = new AbortController();
  const atPeer = peer.next();
  await send(world, { method: 'GET', signal: leaving.signal });
  const gone = closed(await atPeer);
  leaving.abort();
  await gone;
});

test('the streams of a session are closed when it is revoked, and those of others stay open', async () => {
  const peer = await startStreaming();
  const world = await proxiedWorld(server, peer);
  const path = `/v1/gateways/${world.gatewayId}/sessions`;
  const other = await server.ok('POST', path, { as: world.as, body: {} });
  const open = async (token: string) => {
    const atPeer = peer.next();
    const answer = await send({ ...world, token }, { method: 'GET' });
    return { read: reader(answer), res: await atPeer };
  };
  const [revoked, staying] = [await open(world.token), await open(other.token)];
  const gone = closed(revoked.res);
  await server.ok('DELETE', `${path}/${world.session.id}`, { as: world.as });
  expect(await outcome(revoked.read())).toBe('broken');
  await gone;
  staying.res.write(event('still here'));
  expect(await staying.read()).toBe(event('still here'));
});

test('a session may have 64 requests open', async () => {
  const peer = await startStreaming();
  const world = await proxiedWorld(server, peer);
  const open = () => send(world, { method: 'GET' });
  const answers = await Promise.all(Array.from({ length: 64 }, open));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  const refused = await open();
  expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toMatchObject([
    429,
    '5',
    { code: 'rate_limited' },
  ]);
  for (const res of peer.answers) res.end();
  await Promise.all(answers.map((answer) => answer.text()));
  void peer.next().then((res) => res.end());
  const again = async () => {
    const answer = await open();
    await answer.text();
    return answer.status;
  };
  await expect.poll(again).toBe(200);
});

describe('Streams', () => {
  const options = { check: async () => {}, isListening: true };

  test('limits the open requests of a tenant, and not those of another one', () => {
    const streams = new Streams(new AbortController().signal);
    const open = (tenantId: string, sessionId: string) =>
      streams.open({ tenantId, sessionId }, { ...options, abort: new AbortController() });
    const opened = Array.from({ length: 1000 }, (_, at) => open('acme', `session-${at % 20}`));
    expect(() => open('acme', 'another')).toThrow(/1000/);
    const others = open('other', 'session-1');
    opened[0]?.();
    // Idempotent.
    opened[0]?.();
    opened[0] = open('acme', 'another');
    expect(() => open('acme', 'another')).toThrow(/1000/);
    for (const end of [...opened, others]) end();
  });

  test('ends the requests that only listen when the service stops', () => {
    const stopping = new AbortController();
    const streams = new Streams(stopping.signal);
    const owner = { tenantId: 'acme', sessionId: 'one' };
    const [listening, calling] = [new AbortController(), new AbortController()];
    const ends = [
      streams.open(owner, { ...options, abort: listening }),
      streams.open(owner, { ...options, abort: calling, isListening: false }),
    ];
    stopping.abort();
    expect([listening.signal.aborted, calling.signal.aborted]).toEqual([true, false]);
    for (const end of ends) end();
  });

  test('keeps requests open while their sessions cannot be read', async () => {
    const streams = new Streams(new AbortController().signal);
    let checks = 0;
    const check = async () => {
      checks += 1;
      throw new Error('the database is away');
    };
    const abort = new AbortController();
    const end = streams.open({ tenantId: 'acme', sessionId: 'one' }, { check, isListening: true, abort });
    await expect.poll(() => checks, { timeout: 10_000 }).toBeGreaterThan(0);
    await sleep(0);
    expect(abort.signal.aborted).toBe(false);
    end();
  });
});

test('the service stops although a stream is open', async () => {
  const own = await serverOfTest(LOOPBACK);
  const peer = await startStreaming();
  const world = await proxiedWorld(own, peer);
  const read = reader(await send(world, { method: 'GET' }));
  const started = performance.now();
  const ended = outcome(read());
  await own.stop();
  expect(await ended).toBe('broken');
  // Requests in flight get 10 s.
  expect(performance.now() - started).toBeLessThan(9000);
});

describe('addresses that are not public are not asked', () => {
  test.each([
    ['an address', 'http://127.0.0.1:9/mcp'],
    ['a name', 'http://internal.example/mcp'],
  ])('%s', async (_what, url) => {
    const resolver = async () => [{ address: '10.0.0.1', family: 4 }];
    const strict = await serverOfTest({}, { resolver, decisionsFreshMs: 0 });
    const world = await proxiedWorld(strict, { url });
    const answer = await send(world, { body: call('search') });
    expect(answer.status).toBe(502);
    const text = await answer.text();
    expect(text).toContain('is not public');
    expect(text).not.toContain('10.0.0.1');
  });
});

test('a tenant may hold large messages as long as there is memory, and one of the largest size in any case', () => {
  const buffers = new Buffers();
  const megabytes = (count: number) => count * 1024 * 1024;
  const greedy = Array.from({ length: 8 }, () => buffers.hold('greedy'));
  for (const one of greedy) one.add(megabytes(8));
  expect(() => buffers.hold('greedy').add(1)).toThrow(/large messages/);
  const other = buffers.hold('other');
  other.add(megabytes(8));
  greedy[0]?.release();
  greedy[1]?.release();
  buffers.hold('greedy').add(megabytes(4));
  // What is over counts no more.
  greedy[0]?.add(megabytes(100));
  other.add(-megabytes(8));
  other.add(megabytes(8));
});
