import { expect, test } from 'vitest';
import { migrate } from '../src/database.ts';
import { countObservations, countObservationShares } from '../src/repositories/observation-counts.ts';
import { firstReleaseDatabase, insertRow, insertRows, NOW, type Values } from './temporary-database.ts';

const TIME = NOW.toISOString();
/** Rows of one batch of the migration. */
const BATCH = 1000;
const TIMES = { created_at: TIME, updated_at: TIME };

function observationRow(id: string, subTenantId: string, accounts: readonly string[]): Values {
  return {
    ...TIMES,
    tenant_id: 'acme',
    sub_tenant_id: subTenantId,
    id,
    provider_id: 'prov_1',
    kind: 'model',
    name: id,
    unknown: 1,
    status: 'open',
    occurrences: 1,
    first_seen_at: TIME,
    last_seen_at: TIME,
    last_trace_id: 't',
    last_span_id: 's',
    risk: '{"level":"medium","factors":[]}',
    // Evidence may hold any character.
    evidence: JSON.stringify({ serviceNames: ['a\0"b'], serverAddresses: [], operations: [], accounts, errors: 0 }),
  };
}

test('existing observations count for the account that reported them first, and for their sub-tenant', async () => {
  const db = await firstReleaseDatabase();
  const provider = { kind: 'llm', status: 'active', health: 'unknown', metadata: '{}', ...TIMES };
  const place = { tenant_id: 'acme', sub_tenant_id: '' };
  await insertRow(db, 'providers', { ...provider, ...place, id: 'prov_1', name: 'openai', name_key: 'openai' });
  const [one, other, many] = ['one', 'other', 'many'].map((id) => `service_account:acme/${id}`) as [
    string,
    string,
    string,
  ];
  await insertRows(db, 'runtime_observations', [
    observationRow('obs_1', '', [one, other]),
    observationRow('obs_2', 'east', [one]),
    observationRow('obs_3', 'east', [other]),
    observationRow('obs_4', 'east', []),
    ...Array.from({ length: BATCH + 5 }, (_, index) => observationRow(`obs_many_${index}`, 'many', [many])),
  ]);
  await migrate(db);

  const acme = { tenantId: 'acme' };
  const countsOf = (firstAccount: string, subTenantId: string | null) =>
    countObservationShares(db, acme, { firstAccount, subTenantId });
  expect(await countsOf(one, null)).toEqual({ ofAccount: 2, ofSubTenant: 1 });
  expect(await countsOf(other, 'east')).toEqual({ ofAccount: 1, ofSubTenant: 3 });
  expect(await countsOf('', 'west')).toEqual({ ofAccount: 1, ofSubTenant: 0 });
  expect(await countsOf(many, 'many')).toEqual({ ofAccount: BATCH + 5, ofSubTenant: BATCH + 5 });
  expect(await countObservations(db, acme)).toBe(BATCH + 9);
});
