import type { Database } from '@quartermaster/db/database.ts';
import type { Ledger, Write } from './ledger.ts';
import { type Found, recordsOf } from './records.ts';
import { storedSpansOf } from './stored-spans.ts';

/** The comparison of the ledger with the database: `happened` are the writes in doubt that took effect. */
type Comparison = { faults: string[]; happened: Set<Write>; found: Map<string, Found> };

/**
 * Compares a tenant in the database with its ledger.
 *
 * @returns the faults: a lost acknowledged write, a write that took effect only in part, a record that no write created, a wrong
 * count, missing or extra audit events
 */
export async function faultsOf(db: Database, ledger: Ledger): Promise<string[]> {
  const comparison = await compareRecords(db, ledger);
  return [
    ...comparison.faults,
    ...(await auditFaults(db, ledger, comparison)),
    ...(await countFaults(db, ledger.tenantId)),
    ...(await recommendationFaults(db, ledger.tenantId)),
  ].map((fault) => `${ledger.tenantId}: ${fault}`);
}

async function compareRecords(db: Database, { tenantId, entries, inDoubt }: Ledger): Promise<Comparison> {
  const found = await recordsOf(db, tenantId);
  const actual = (record: string) => found.get(record)?.state ?? null;
  const known = (record: string) => entries.get(record)?.state ?? null;
  const faults: string[] = [];
  const happened = new Set<Write>();
  const doubtful = new Set<string>();
  for (const write of inDoubt) {
    for (const { record } of write.effects) doubtful.add(record);
    if (write.effects.every(({ record, state }) => actual(record) === state)) happened.add(write);
    // A recommendation exists, and is open, before the first write to it.
    else if (!write.effects.every(({ record }) => [known(record), initialState(record)].includes(actual(record)))) {
      const effects = write.effects.map(({ record, state }) => `${record} ${actual(record)} instead of ${state}`);
      faults.push(`${write.operation} happened by half: ${effects.join(', ')}`);
    }
  }
  for (const [record, { state }] of entries) {
    if (!doubtful.has(record) && actual(record) !== state) {
      faults.push(`${record} was acknowledged as ${state}, and is ${actual(record)}`);
    }
  }
  for (const [record, { state }] of found) {
    const made = entries.has(record) || doubtful.has(record);
    if (!made && initialState(record) !== state) faults.push(`no write created ${record}, which is ${state}`);
  }
  return { faults, happened, found };
}

/** The initial state of records that the service creates by itself; undefined for others. */
function initialState(record: string): string | undefined {
  return record.startsWith('recommendation/') ? 'open' : undefined;
}

/** Records for which each write has an audit event with the record's id. */
const AUDITED = /^(account|key|session|review|recommendation|provider)\//;

async function auditFaults(db: Database, ledger: Ledger, { happened, found }: Comparison): Promise<string[]> {
  const expected = new Map<string, number>();
  const expect = (operation: string, id: string) => {
    const event = `${operation} of ${id}`;
    expected.set(event, (expected.get(event) ?? 0) + 1);
  };
  for (const [record, { id, operations }] of ledger.entries) {
    const target = id ?? found.get(record)?.id;
    if (AUDITED.test(record) && target !== undefined) for (const operation of operations) expect(operation, target);
  }
  for (const { operation, effects } of happened) {
    for (const { record } of effects) {
      const id = ledger.entries.get(record)?.id ?? found.get(record)?.id;
      if (AUDITED.test(record) && id !== undefined) expect(operation, id);
    }
  }
  const rows = await db
    .selectFrom('audit_events')
    .select(['operation', 'target_id', (eb) => eb.fn.countAll<number>().as('count')])
    .where('tenant_id', '=', ledger.tenantId)
    .groupBy(['operation', 'target_id'])
    .execute();
  const recorded = new Map(rows.map((row) => [`${row.operation} of ${row.target_id}`, Number(row.count)]));
  return [...expected].flatMap(([event, count]) =>
    recorded.get(event) === count ? [] : [`${event}: ${recorded.get(event) ?? 0} audit events instead of ${count}`],
  );
}

/** Compares the counts of observations, traces and shares with the stored spans. */
async function countFaults(db: Database, tenantId: string): Promise<string[]> {
  const models = new Map<string, number>();
  const traces = new Map<string, number>();
  for (const { traceId, genAi } of await storedSpansOf(db, tenantId)) {
    const model = genAi?.model ?? '';
    models.set(model, (models.get(model) ?? 0) + 1);
    traces.set(traceId, (traces.get(traceId) ?? 0) + 1);
  }
  const observations = await db
    .selectFrom('runtime_observations')
    .select(['name', 'occurrences', 'first_account', 'sub_tenant_id'])
    .where('tenant_id', '=', tenantId)
    .execute();
  const counted = await db
    .selectFrom('traces')
    .select(['trace_id', 'span_count'])
    .where('tenant_id', '=', tenantId)
    .execute();
  const shares = await db.selectFrom('observation_shares').selectAll().where('tenant_id', '=', tenantId).execute();
  const tenant = await db
    .selectFrom('tenants')
    .select('observation_count')
    .where('id', '=', tenantId)
    .executeTakeFirstOrThrow();
  return [
    ...differences('occurrences', models, new Map(observations.map((row) => [row.name, row.occurrences]))),
    ...differences('spans of trace', traces, new Map(counted.map((row) => [row.trace_id, row.span_count]))),
    ...differences('share of', sharesOf(observations), countedShares(shares)),
    ...(tenant.observation_count === observations.length
      ? []
      : [`the tenant counts ${tenant.observation_count} observations, and has ${observations.length}`]),
  ];
}

/** How many observations each account reported first, and how many each sub-tenant has. */
function sharesOf(observations: readonly { first_account: string; sub_tenant_id: string }[]): Map<string, number> {
  const shares = new Map<string, number>();
  for (const { first_account, sub_tenant_id } of observations) {
    for (const holder of [`account ${first_account}`, `sub_tenant ${sub_tenant_id}`]) {
      shares.set(holder, (shares.get(holder) ?? 0) + 1);
    }
  }
  return shares;
}

function countedShares(rows: readonly { holder_type: string; holder_id: string; observations: number }[]) {
  return new Map(rows.map((row) => [`${row.holder_type} ${row.holder_id}`, row.observations]));
}

function differences(what: string, spans: Map<string, number>, counted: Map<string, number>): string[] {
  return [...new Set([...spans.keys(), ...counted.keys()])].flatMap((name) => {
    const [there, said] = [spans.get(name) ?? 0, counted.get(name) ?? 0];
    return there === said ? [] : [`${what} ${name}: ${said} counted, ${there} there`];
  });
}

/** A recommendation is applied if and only if its change is made, and the audit has as many events of one as of the other. */
async function recommendationFaults(db: Database, tenantId: string): Promise<string[]> {
  const recommendations = await db
    .selectFrom('recommendations')
    .select(['id', 'status', 'change', 'applied_by', 'applied_at'])
    .where('tenant_id', '=', tenantId)
    .where('kind', '=', 'register_item')
    .execute();
  const items = await db.selectFrom('inventory_items').select('name').where('tenant_id', '=', tenantId).execute();
  const names = new Set(items.map(({ name }) => name));
  const events = await db
    .selectFrom('audit_events')
    .select(['operation', 'target_type', 'target_id', 'request_id'])
    .where('tenant_id', '=', tenantId)
    .where('operation', 'in', ['apply_provider_recommendations', 'undo_recommendation'])
    .execute();
  const audited = (operation: string, id: string) =>
    events.filter((event) => event.operation === operation && event.target_id === id).length;
  return recommendations.flatMap(({ id, status, change, applied_by, applied_at }) => {
    const { after } = JSON.parse(change) as { after: { name: string } };
    const applied = status === 'applied';
    const balance = audited('apply_provider_recommendations', id) - audited('undo_recommendation', id);
    const faults: string[] = [];
    if (applied !== names.has(after.name))
      faults.push(`is ${status}, its item ${names.has(after.name) ? '' : 'not '}there`);
    if (applied !== (applied_by !== null && applied_at !== null)) faults.push(`is ${status}, applied at ${applied_at}`);
    if (balance !== (applied ? 1 : 0)) faults.push(`is ${status}, applied ${balance} times by the audit`);
    return faults.map((fault) => `the recommendation ${id} of ${after.name} ${fault}`);
  });
}
