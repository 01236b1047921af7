import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { migrate } from '../src/database.ts';
import { deleteOldestCalls, listCallCounts } from '../src/repositories/telemetry-calls.ts';
import { databaseBefore, later, NOW } from './temporary-database.ts';

test('calls from before their senders were stored are counted, and can be removed', async () => {
  const db = await databaseBefore('0044-calls-of-senders');
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
