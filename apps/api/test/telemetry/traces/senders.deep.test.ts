import { expect, test } from 'vitest';
import { lockTable } from '../../support/locked-table.ts';
import { accountWithKey } from '../../support/people.ts';
import { serverOfTest } from '../../support/server.ts';
import { fromProtobuf, toProtobuf } from '../otlp/wire.ts';
import { chat, exportRequest, newTraceId, sendSpans } from './sending.ts';

test('while the database is locked the answer is 503 with Retry-After, and a retry succeeds', async () => {
  const server = await serverOfTest();
  const sender = await accountWithKey(server, { tenantId: 'locked' }, ['traces:write', 'traces:read']);
  const traceId = newTraceId();
  const request = exportRequest([{ traceId, ...chat('gpt-5') }]);
  await sendSpans(server, sender, [chat('gpt-5')]);
  const release = await lockTable(server.databaseUrl, 'traces');
  try {
    // Both wait for the lock, and do so at the same time.
    const [json, protobuf] = await Promise.all([
      server.call('POST', '/v1/traces', { as: sender, body: request }),
      fetch(`${server.url}/v1/traces`, {
        method: 'POST',
        headers: { 'x-api-key': sender.key, 'content-type': 'application/x-protobuf' },
        body: Buffer.from(toProtobuf(request)),
      }),
    ]);
    expect(json.status).toBe(503);
    expect(json.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(json.body).toEqual({ code: 14, message: expect.any(String) });
    expect(protobuf.status).toBe(503);
    expect(protobuf.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(fromProtobuf('RpcStatus', Buffer.from(await protobuf.arrayBuffer()))).toMatchObject({ code: 14 });
    expect((await server.call('GET', `/v1/traces/${traceId}/spans`, { as: sender })).status).toBe(404);
  } finally {
    await release();
  }
  await server.ok('POST', '/v1/traces', { as: sender, body: request });
  const { items } = await server.ok('GET', `/v1/traces/${traceId}/spans`, { as: sender });
  expect(items).toHaveLength(1);
});
