import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { migrate } from '../src/database.ts';
import { deleteOldestCalls, listCallCounts } from '../src/repositories/telemetry-calls.ts';
import { later, NOW, temporaryDatabase } from './temporary-database.ts';

test('calls from before their senders were stored are counted, and can be removed', async () => {
  const db = await temporaryDatabase({ tenantId: 'acme', subTenantId: null });
  // Back to the former schema.
  await sql`drop table telemetry_call_counts`.execute(db);
  await sql`drop index telemetry_calls_by_sender`.execute(db);
  await sql`alter table telemetry_calls drop column sender`.execute(db);
  await sql`create index telemetry_calls_by_time on telemetry_calls (tenant_id, first_seen_at)`.execute(db);
  await sql`delete from kysely_migration where name = '0044-calls-of-senders'`.execute(db);
  for (const key of ['a', 'b']) {
    await sql`
      insert into telemetry_calls (tenant_id, sub_tenant_id, call_key, signal, first_seen_at)
      values ('acme', '', ${key}, 'log', ${NOW.toISOString()})`.execute(db);
  }
  await migrate(db);
  const [former] = await listCallCounts(db, { tenantId: 'acme' });
  expect(former).toEqual({ sender: '', calls: 2 });
  const removed = { tenantId: 'acme', sender: '', before: later(1).toISOString(), limit: 10 };
  expect(await deleteOldestCalls(db, removed)).toBe(2);
  expect(await listCallCounts(db, { tenantId: 'acme' })).toEqual([]);
});
