import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
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
