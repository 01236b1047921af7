import { openDatabase } from '@quartermaster/db/open-database.ts';
import { sql } from 'kysely';
import { afterAll, expect, test } from 'vitest';
import { faultsOf } from '../src/kill/verify.ts';
import { writeUntilKilled } from '../src/kill/writing.ts';
import { randomOf } from '../src/random.ts';
import { startService } from '../src/service.ts';
import { openSqliteStore } from '../src/stores.ts';

// A torture suite without findings may be blind. So these tests prove that it detects every kind of loss.

const store = await openSqliteStore();
const service = await startService({ databaseUrl: store.url });
const kill = async () => service.process.kill('SIGKILL') && service.ended;
/** What the damage below is done to. On a busy machine some of it comes late. */
const operations = [
  'update_service_account',
  'revoke_service_account_key',
  'revoke_gateway_session',
  'update_provider',
  'apply_provider_recommendations',
];
const ledger = await writeUntilKilled({ service, tenantId: 'shown', random: randomOf(1), kill, operations });
const db = await openDatabase(store.url, '/');
afterAll(async () => {
  await db.destroy();
  await store.close();
});

test('finds no faults after a kill', async () => {
  expect(await faultsOf(db, ledger)).toEqual([]);
});

test.each([
  [
    'a lost account',
    `delete from service_account_metadata; delete from service_accounts where id like 'account-%'`,
    /account-.* and is null/,
  ],
  [
    'a lost change',
    `update service_accounts set display_name = null where display_name is not null`,
    /was acknowledged as .*:changed/,
  ],
  [
    'a lost revocation',
    `update credentials set revoked_at = null where name is not null`,
    /key.* was acknowledged as revoked, and is active/,
  ],
  ['an older version', `update providers set display_name = 'version 0'`, /provider-of-shown version 0 instead of/],
  ['a lost session', `delete from gateway_sessions where revoked_at is not null`, /session.* and is null/],
  ['lost blocks', `update traces set first_spans = null`, /was acknowledged as \d+, and is/],
  [
    'a use counted twice',
    `update runtime_observations set occurrences = occurrences + 1 where name = 'model-1'`,
    /occurrences model-1: /,
  ],
  ['a span not counted', `update traces set span_count = span_count - 1`, /spans of trace \w+: /],
  ['a miscount', `update tenants set observation_count = observation_count + 1`, /the tenant counts/],
  [
    'a wrong counter of a share',
    `update observation_shares set observations = observations + 1`,
    /share of account .*: /,
  ],
  ['a lost review', `update runtime_observations set review = null`, /review.* was acknowledged as approved/],
  ['a half undone change', `delete from inventory_items where name like 'governed-%'`, /its item not there/],
  ['a half applied change', `update recommendations set status = 'open' where status = 'applied'`, /its item there/],
  [
    'a write without its audit event',
    `delete from audit_events where operation = 'update_provider'`,
    /update_provider of .* 0 audit events/,
  ],
  [
    'a write audited twice',
    `update audit_events set target_id = (select max(target_id) from audit_events where operation = 'update_service_account')
      where operation = 'update_service_account'`,
    /update_service_account of .* \d+ audit events instead of 1/,
  ],
  [
    'a record that no write created',
    `update gateway_sessions set metadata = '{"tag":"nobodys"}' where id = (select min(id) from gateway_sessions)`,
    /no write created session\/nobodys/,
  ],
])('%s is found', async (_, damage, named) => {
  let faults: string[] = [];
  const done = db.transaction().execute(async (trx) => {
    await sql`pragma defer_foreign_keys = on`.execute(trx);
    for (const statement of damage.split(';')) await sql.raw(statement).execute(trx);
    faults = await faultsOf(trx, ledger);
    throw new Undone();
  });
  await expect(done).rejects.toThrow(Undone);
  expect(faults.join('\n')).toMatch(named);
});

class Undone extends Error {}
