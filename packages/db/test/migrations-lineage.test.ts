import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { type Database, migrate } from '../src/database.ts';
import { firstReleaseDatabase, NOW } from './temporary-database.ts';

const TIME = NOW.toISOString();

type Values = Record<string, string | number | null>;

async function insert(db: Database, table: string, values: Values): Promise<void> {
  const columns = Object.keys(values).map((column) => sql.ref(column));
  await sql`insert into ${sql.table(table)} (${sql.join(columns)}) values (${sql.join(Object.values(values))})`.execute(
    db,
  );
}

const PLACED = { tenant_id: 'acme', sub_tenant_id: '', created_at: TIME, updated_at: TIME };

test('keys get the key that made them, as the audit tells', async () => {
  const db = await firstReleaseDatabase();
  const key = { ...PLACED, kind: 'api_key', owner_type: 'service_account', owner_id: 'bot', scopes: '[]' };
  for (const id of ['key_1', 'key_2', 'key_3']) {
    await insert(db, 'credentials', { ...key, id, rotation_count: 0, search_text: id });
  }
  const event = {
    ...{ tenant_id: 'acme', sub_tenant_id: '', created_at: TIME, actor_type: 'service_account', actor_id: 'bot' },
    ...{ target_type: 'api_key', outcome: 'success', changed_fields: '[]', count: 1, request_id: 'r' },
  };
  const made = 'create_service_account_key';
  const rotated = 'rotate_service_account_key';
  await insert(db, 'audit_events', { ...event, id: 'evt_1', operation: made, target_id: 'key_1', key_id: 'key_0' });
  // A later rotation of the key itself does not count.
  await insert(db, 'audit_events', { ...event, id: 'evt_2', operation: rotated, target_id: 'key_1', key_id: 'key_9' });
  await insert(db, 'audit_events', { ...event, id: 'evt_3', operation: rotated, target_id: 'key_2', key_id: 'key_9' });
  await migrate(db);
  const rows = await db.selectFrom('credentials').select(['id', 'created_by_key']).orderBy('id').execute();
  expect(rows).toEqual([
    { id: 'key_1', created_by_key: 'key_0' },
    { id: 'key_2', created_by_key: 'key_9' },
    { id: 'key_3', created_by_key: null },
  ]);
});
