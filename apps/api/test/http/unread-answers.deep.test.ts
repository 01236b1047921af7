import type { ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createHttpServer } from '../../src/http/http-server.ts';
import { CONNECTION_LIMITS } from '../../src/http/messages/limits.ts';
import { UnreadAnswers } from '../../src/http/unread-answers.ts';
import { accountWithKey } from '../support/people.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const LIST = '/v1/manifests?limit=100';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** A tenant whose list of manifests is an answer of 12 MB. */
async function tenantWithLargeList(tenantId: string): Promise<{ key: string }> {
  const { key } = await accountWithKey(server, { tenantId });
  const text = 'x'.repeat(120_000);
  for (let count = 0; count < 100; count += 1) {
    const body = { kind: 'agent', name: `agent-${count}`, spec: { 'x-text': text }, tenantId };
    await server.ok('POST', '/v1/manifests', { as: server.admin, body });
  }
  return { key };
}

/** Asks for the list and reads only the beginning of the answer. */
async function askAndStopReading(path: string, { key }: { key: string }): Promise<{ status: string; socket: Socket }> {
  const { hostname, port } = new URL(server.url);
  const socket = connect({ port: Number(port), host: hostname });
  onTestFinished(() => void socket.destroy());
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n\r\n`);
  const head = await new Promise<Buffer>((resolve) =>
    socket.once('data', (chunk) => {
      socket.pause();
      resolve(chunk);
    }),
  );
  return { status: head.toString('latin1').slice(9, 12), socket };
}

test('regression: a tenant that does not read its answers gets no more large ones, and others get theirs', async () => {
  const [hostile, other] = [await tenantWithLargeList('hostile'), await tenantWithLargeList('other')];
  const trpc = `/trpc/manifests.list?input=${encodeURIComponent(JSON.stringify({ query: { limit: 100 } }))}`;
  const asked: Awaited<ReturnType<typeof askAndStopReading>>[] = [];
  for (let count = 0; count < 12; count += 1)
    asked.push(await askAndStopReading(count % 2 === 0 ? LIST : trpc, hostile));
  const refused = asked.filter(({ status }) => status === '429').length;
  expect(asked.filter(({ status }) => status === '200').length + refused).toBe(12);
  expect(refused).toBeGreaterThan(4);
  expect(await server.call('GET', LIST, { as: hostile })).toMatchObject({
    status: 429,
    body: { code: 'rate_limited' },
  });

  expect((await server.ok('GET', LIST, { as: other })).items).toHaveLength(100);
  await server.ok('GET', '/v1/providers', { as: hostile });
  await server.ok('POST', '/v1/providers', { as: hostile, body: { name: 'writes-go-on', kind: 'llm' } });

  for (const { socket } of asked) socket.destroy();
  await expect.poll(async () => (await server.call('GET', LIST, { as: hostile })).status).toBe(200);
});

test('regression: an answer is not counted if its client closed the connection while it was made', async () => {
  const requests: ServerResponse[] = [];
  const http = createHttpServer(CONNECTION_LIMITS, { handle: (_, res) => void requests.push(res) });
  onTestFinished(() => http.close().closeAllConnections());
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
  const send = async (text: string) => {
    const before = requests.length;
    const socket = connect((http.address() as AddressInfo).port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.write(text);
    await expect.poll(() => requests.length).toBe(before + 1);
    return socket;
  };
  // The second request is handled when the first one is closed.
  (await send(request + request)).resetAndDestroy();
  await expect.poll(() => requests.length).toBe(2);
  await send(request);

  const [first, pipelined, open] = requests as [ServerResponse, ServerResponse, ServerResponse];
  const answer = { bytes: 50 * 1024 * 1024, isRefusable: true };
  for (const closed of [first, pipelined]) {
    const unread = new UnreadAnswers();
    unread.hold('caller', closed, answer);
    unread.hold('caller', open, answer);
    expect(() => unread.hold('caller', open, answer)).toThrow('not read');
  }
});
