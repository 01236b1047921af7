import { randomUUID } from 'node:crypto';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { unique } from './support/people.ts';
import { type Answered, startTestServer, type TestServer } from './support/server.ts';

// If the database refuses one statement of a write, the whole write is rolled back.

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({}, { noHousekeeping: true });
});
afterAll(() => server.stop());

/** Makes the database refuse every insert into a table, or every update of it, while `work` runs. */
async function whileRefused<T>(event: 'insert' | 'update', table: string, work: () => Promise<T>): Promise<T> {
  const { db } = server.services;
  const name = `refuse_${event}_${table}`;
  const statements = onPostgres()
    ? {
        refuse: [
          `create function ${name}() returns trigger language plpgsql as $$ begin raise 'refused by the test'; end $$`,
          `create trigger ${name} before ${event} on ${table} for each row execute function ${name}()`,
        ],
        allow: [`drop trigger ${name} on ${table}`, `drop function ${name}()`],
      }
    : {
        refuse: [
          `create trigger ${name} before ${event} on ${table} begin select raise(abort, 'refused by the test'); end`,
        ],
        allow: [`drop trigger ${name}`],
      };
  for (const statement of statements.refuse) await sql.raw(statement).execute(db);
  try {
    return await work();
  } finally {
    for (const statement of statements.allow) await sql.raw(statement).execute(db);
  }
}

/** A request that fails in the database. Its answer is not in the contract. */
function createProvider(name: string, headers: Record<string, string> = {}): Promise<Answered> {
  const body = { name, kind: 'llm', tenantId: 'default' };
  return server.call('POST', '/v1/providers', { as: server.admin, body, headers, unchecked: true });
}

async function providersNamed(name: string): Promise<unknown[]> {
  return (await server.ok('GET', `/v1/providers?name=${name}`, { as: server.admin })).items;
}

test('a write is rolled back if its audit event cannot be stored', async () => {
  const name = unique('unaudited');
  const refused = await whileRefused('insert', 'audit_events', () => createProvider(name));
  expect(refused.status).toBe(500);
  expect(await providersNamed(name)).toEqual([]);
  expect((await createProvider(name)).status).toBe(200);
});

test('a write is rolled back if its answer cannot be stored for its Idempotency-Key, and can be sent again', async () => {
  const name = unique('unanswered');
  const key = { 'idempotency-key': randomUUID() };
  const refused = await whileRefused('update', 'idempotency_keys', () => createProvider(name, key));
  expect(refused.status).toBe(500);
  expect(await providersNamed(name)).toEqual([]);
  const again = await createProvider(name, key);
  expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, null]);
  expect(await providersNamed(name)).toHaveLength(1);
});
