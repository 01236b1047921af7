import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from './support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

test('with a full disk REST, tRPC and OTLP answer 503 with Retry-After, and nothing of the refused requests is stored', async () => {
  const { db } = server.services;
  const used = await sql<{ page_count: number }>`pragma page_count`.execute(db);
  // A raw query uses the writing connection. Its file must not grow.
  await sql.raw(`pragma max_page_count = ${used.rows[0]?.page_count ?? 1}`).execute(db);
  const metadata = { text: 'x'.repeat(16_000) };
  const before = await server.ok('GET', '/v1/providers', { as: server.admin });
  const refused = [];
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const body = { name: `full-${attempt}`, kind: 'llm', metadata };
    refused.push(await server.call('POST', '/v1/providers', { as: server.admin, body }));
  }
  const last = refused.at(-1);
  expect([last?.status, last?.body.code]).toEqual([503, 'database_unavailable']);
  expect(Number(last?.headers.get('retry-after'))).toBeGreaterThan(0);
  const input = { body: { name: 'full-trpc', kind: 'llm', metadata } };
  const overTrpc = await server.call('POST', '/trpc/providers.create', { as: server.admin, body: input });
  expect([overTrpc.status, overTrpc.body.error.data.code]).toEqual([503, 'database_unavailable']);
  expect(Number(overTrpc.headers.get('retry-after'))).toBeGreaterThan(0);
  const attributes = [{ key: 'text', value: { stringValue: 'x'.repeat(900) } }];
  const spans = Array.from({ length: 100 }, (_, index) => ({
    traceId: 'f'.repeat(32),
    spanId: String(index + 1).padStart(16, '0'),
    name: 'full',
    attributes,
    startTimeUnixNano: '1750000000000000000',
    endTimeUnixNano: '1750000001000000000',
  }));
  const sent = { as: server.admin, body: { resourceSpans: [{ scopeSpans: [{ spans }] }] } };
  const ingested = await server.call('POST', '/v1/traces', sent);
  expect([ingested.status, ingested.body.code]).toEqual([503, 14]);
  await sql.raw('pragma max_page_count = 1000000').execute(db);
  const made = refused.filter(({ status }) => status === 200).length;
  const after = await server.ok('GET', '/v1/providers', { as: server.admin });
  expect(after.items).toHaveLength(before.items.length + made);
  expect((await server.call('GET', `/v1/traces/${'f'.repeat(32)}/spans`, { as: server.admin })).status).toBe(404);
  await server.ok('POST', '/v1/traces', sent);
});

test('readiness, reads and last use do not wait for an open transaction; a write waits, and is refused after a time-out', async () => {
  let end = () => {};
  const open = new Promise<void>((resolve) => {
    end = resolve;
  });
  const begun = Promise.withResolvers<void>();
  const transaction = server.services.db.transaction().execute(async () => {
    begun.resolve();
    await open;
  });
  await begun.promise;
  // After this time the last use of the key is stored again.
  server.travel(120_000);
  expect((await server.call('GET', '/readyz')).status).toBe(200);
  await server.ok('GET', '/v1/providers', { as: server.admin });
  const refused = await server.call('POST', '/v1/service-accounts', { as: server.admin, body: { name: 'late' } });
  expect([refused.status, refused.body.code]).toEqual([503, 'database_unavailable']);
  end();
  await transaction;
  await server.ok('POST', '/v1/service-accounts', { as: server.admin, body: { name: 'in time' } });
});
