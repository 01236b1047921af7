import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.ts';
import { modelsHandler } from './hostile.ts';
import { LOOPBACK, startPeer } from './peers.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK, { syncLimits: { pauseMs: 1 } });
});
afterAll(() => server.stop());

test('if a worker thread ends while it parses an answer, the sync tries again, and the service goes on', async () => {
  const data = Array.from({ length: 2000 }, (_, index) => ({ id: `model-${index}`, owned_by: 'many' }));
  const peer = await startPeer(modelsHandler(() => ({ data, next: null })));
  const body = { name: 'many', kind: 'llm', baseUrl: peer.url };
  const { id } = await server.ok('POST', '/v1/providers', { as: server.admin, body });
  // Node emits an event for each started thread.
  const started = once(process, 'worker') as Promise<[Worker]>;
  const running = server.ok('POST', `/v1/providers/${id}/sync`, { as: server.admin });
  const [thread] = await started;
  await thread.terminate();
  expect(await running).toMatchObject({ added: data.length, attempts: 2 });
  expect(peer.requests).toHaveLength(2);
});
