import { passDuration } from '@quartermaster/db/testing/durations.ts';
import { scaled } from '@quartermaster/db/testing/scale.ts';
import { listSpanRetentions } from '@quartermaster/db/repositories/tenants.ts';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { removeOldTraces } from '../../../src/telemetry/trace-retention.ts';
import { newTenant } from '../../governance/loop-support.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { all, chat, exportRequest, newTraceId, sendSpans } from './sending.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const SPANS = onPostgres() ? scaled({ usual: 5_000, full: 20_000 }) : 20_000;
const DAY_MS = 24 * 3600 * 1000;

/** Traces that are sent one by one, so that each has a block of its own, and by how many senders at once. */
const OLD_TRACES = 240;
const SENDERS = 4;

/** Writes and reads during the removal. SQLite removes 20,000 spans in 80 batches, PostgreSQL drops the partition of the day. */
const ROUNDS = onPostgres() ? 1 : 5;

test(`a trace of ${SPANS} spans is removed while reads and writes go on`, async () => {
  const { sender, operator, tenantId } = await newTenant(server);
  const traceId = newTraceId();
  const spans = Array.from({ length: SPANS }, (_, index) => ({
    ...chat('gpt-5', { 'gen_ai.provider.name': 'openai' }),
    traceId,
    spanId: (index + 1).toString(16).padStart(16, '0'),
  }));
  const answer = await server.call('POST', '/v1/traces', { as: sender, body: exportRequest(spans) });
  expect(answer.status).toBe(200);
  const settings = { settings: { spanRetentionDays: 30 } };
  await server.ok('PUT', `/v1/tenants/${tenantId}`, { as: server.admin, body: settings });
  server.travel(31 * DAY_MS);
  // The tenant works alone by then, and its pause after the long request is over.
  passDuration(16_000);
  const over = new AbortController();
  const removed = removeOldTraces(server.services).finally(() => over.abort());
  const fresh: string[] = [];
  while (!over.signal.aborted) {
    fresh.push(newTraceId());
    await sendSpans(server, sender, [{ ...chat('gpt-5', {}), traceId: fresh.at(-1) ?? '' }]);
    await server.ok('GET', '/v1/traces?limit=1', { as: operator });
  }
  expect(await removed).toBe(1);
  // Requests were answered between the batches, not after the last one.
  expect(fresh.length).toBeGreaterThanOrEqual(ROUNDS);
  const left = await all(server, '/v1/traces', operator);
  expect(left.map((trace) => trace.traceId as string).toSorted()).toEqual(fresh.toSorted());
  const gone = await server.call('GET', `/v1/traces/${traceId}/spans`, { as: operator });
  expect(gone.status).toBe(404);
});

test('regression: old traces of a tenant are removed while several of its agents send spans without a pause', async () => {
  const { sender, tenantId } = await newTenant(server);
  const sendOne = () => sendSpans(server, sender, [{ ...chat('gpt-5', {}), traceId: newTraceId() }]);
  const inParallel = (work: () => Promise<void>) => Promise.all(Array.from({ length: SENDERS }, work));
  await inParallel(async () => {
    for (let sent = 0; sent < OLD_TRACES / SENDERS; sent += 1) await sendOne();
  });
  const settings = { settings: { spanRetentionDays: 30 } };
  await server.ok('PUT', `/v1/tenants/${tenantId}`, { as: server.admin, body: settings });
  server.travel(31 * DAY_MS);
  const over = new AbortController();
  const removed = removeOldTraces(server.services).finally(() => over.abort());
  const sending = inParallel(async () => {
    while (!over.signal.aborted) await sendOne();
  });
  expect(await removed).toBeGreaterThanOrEqual(OLD_TRACES);
  await sending;
});

test.skipIf(onPostgres())(
  'regression: a failure for one tenant does not keep the old traces of the others',
  async () => {
    const tenants = [await newTenant(server), await newTenant(server)];
    for (const { sender, tenantId } of tenants) {
      await sendSpans(server, sender, [chat('gpt-5', {})]);
      const settings = { settings: { spanRetentionDays: 30 } };
      await server.ok('PUT', `/v1/tenants/${tenantId}`, { as: server.admin, body: settings });
    }
    const ids = tenants.map(({ tenantId }) => tenantId);
    const { db } = server.services;
    const failing = (await listSpanRetentions(db)).find(({ tenantId }) => ids.includes(tenantId))?.tenantId ?? '';
    const trigger = sql`create trigger keep_traces before delete on traces when old.tenant_id = ${sql.lit(failing)}
    begin select raise(abort, 'not now'); end`;
    await trigger.execute(db);
    server.travel(31 * DAY_MS);
    await expect(removeOldTraces(server.services)).rejects.toThrow('not now');
    await sql`drop trigger keep_traces`.execute(db);
    const left = await db.selectFrom('traces').select('tenant_id').where('tenant_id', 'in', ids).execute();
    expect(left).toEqual([{ tenant_id: failing }]);
  },
);
