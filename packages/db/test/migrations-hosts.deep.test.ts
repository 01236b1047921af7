import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { migrate } from '../src/database.ts';
import { databaseBefore, NOW } from './temporary-database.ts';

test('hosts of providers lose the dot at their end', async () => {
  const db = await databaseBefore('0046-hosts-without-dot');
  const time = NOW.toISOString();
  for (const [id, host] of [
    ['prov_1', 'api.openai.com.'],
    ['prov_2', 'api.openai.com'],
    ['prov_3', null],
  ] as const) {
    await sql`insert into providers (tenant_id, sub_tenant_id, id, name, name_key, name_family, kind, host, status, health, metadata, created_at, updated_at)
      values ('acme', '', ${id}, ${id}, ${id}, ${id}, 'llm', ${host}, 'active', 'unknown', '{}', ${time}, ${time})`.execute(
      db,
    );
  }
  await migrate(db);
  const { rows } = await sql<{ host: string | null }>`select host from providers order by id`.execute(db);
  expect(rows.map(({ host }) => host)).toEqual(['api.openai.com', 'api.openai.com', null]);
});
