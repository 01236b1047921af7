import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newTenant } from '../../governance/loop-support.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { all, chat, exportRequest, newTraceId } from './sending.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

test('if a worker thread ends while it reads a large request, the answer is 503, and the next request starts another thread', async () => {
  const { sender, operator } = await newTenant(server);
  const traceId = newTraceId();
  const note = { 'app.note': 'x'.repeat(1000) };
  const spans = Array.from({ length: 1200 }, (_, index) => ({
    ...chat('gpt-5', { 'gen_ai.provider.name': 'openai', ...note }),
    traceId,
    spanId: (index + 1).toString(16).padStart(16, '0'),
  }));
  const send = () => server.call('POST', '/v1/traces', { as: sender, body: exportRequest(spans) });
  // Node emits an event for each started thread.
  const started = once(process, 'worker') as Promise<[Worker]>;
  const answered = send();
  const [thread] = await started;
  await thread.terminate();
  const refused = await answered;
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  expect(refused.body).toEqual({ code: 14, message: 'The request could not be read. Send it again.' });
  expect(await all(server, '/v1/traces', operator)).toEqual([]);
  expect((await send()).status).toBe(200);
  expect(await all(server, '/v1/traces', operator)).toMatchObject([{ traceId, spanCount: 1200 }]);
});
