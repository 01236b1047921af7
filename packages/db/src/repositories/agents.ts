import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { ExpressionBuilder } from 'kysely';
import type { Database } from '../database.ts';
import { multiRowStatement } from '../prepared-statement.ts';
import { inScope, placeColumns, placeOf, tupleIn } from '../queries.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';
import type { ObservationSubject } from './runtime-observations.ts';
import { OTHER, type UsageSeries } from './usage-series.ts';

/**
 * Whether a series is of one agent, and not the sum of all agents beyond the limit of a tenant. In such a sum both the agent and
 * the name are `other`. In the series of an agent that calls itself `other`, only the agent is.
 */
function isOfOneAgent(eb: ExpressionBuilder<Tables, 'usage_series'>) {
  return eb.or([eb('agent', '!=', OTHER), eb('name_key', '!=', OTHER)]);
}

/**
 * An agent in usage series, and one account that reported its calls. `series`: the number of series of this agent and
 * account.
 */
export type AgentAccount = TenantPlace & { agent: string; account: string; firstSeenAt: string; series: number };

/**
 * The agents that usage series name, with the accounts that reported their calls.
 *
 * @param limit the most series to read
 * @returns null if there are more
 */
export async function listAgentAccounts(
  db: Database,
  scope: TenantScope,
  { agent, limit }: { agent: string | null; limit: number },
): Promise<AgentAccount[] | null> {
  const accounts = new Map<string, AgentAccount>();
  let after = { tenant_id: '', id: '' };
  for (let read = 0; read <= limit; ) {
    let query = db
      .selectFrom('usage_series')
      .select(['tenant_id', 'sub_tenant_id', 'id', 'agent', 'account', 'created_at'])
      .where(inScope(scope))
      .where(isOfOneAgent)
      .where((eb) => eb(eb.refTuple('tenant_id', 'id'), '>', eb.tuple(eb.val(after.tenant_id), eb.val(after.id))));
    if (agent !== null) query = query.where('agent', '=', agent);
    const rows = await query.orderBy('tenant_id').orderBy('id').limit(SERIES_AT_ONCE).execute();
    for (const row of rows) addSeries(accounts, row);
    read += rows.length;
    const last = rows.at(-1);
    if (last === undefined || rows.length < SERIES_AT_ONCE) return read > limit ? null : [...accounts.values()];
    after = last;
  }
  return null;
}

/** Series that are read before the event loop gets a turn. */
const SERIES_AT_ONCE = 2000;

type SeriesRow = { tenant_id: string; sub_tenant_id: string; agent: string; account: string; created_at: string };

function addSeries(accounts: Map<string, AgentAccount>, row: SeriesRow): void {
  const { tenant_id, sub_tenant_id, agent, account, created_at: firstSeenAt } = row;
  const key = [tenant_id, sub_tenant_id, account, agent].join('\n');
  const known = accounts.get(key);
  if (known === undefined) {
    accounts.set(key, { ...placeOf(row), agent, account, firstSeenAt, series: 1 });
    return;
  }
  known.series += 1;
  if (firstSeenAt < known.firstSeenAt) known.firstSeenAt = firstSeenAt;
}

/** An observation of an agent itself, in short. */
export type AgentSighting = TenantPlace & { id: string; name: string; unknown: boolean; lastSeenAt: string };

/**
 * The observations of agents themselves: those of the kind `agent`. Without their evidence, which may be large.
 *
 * @returns null if there are more than `limit`
 */
export async function listAgentObservations(
  db: Database,
  scope: TenantScope,
  { name, limit }: { name: string | null; limit: number },
): Promise<AgentSighting[] | null> {
  let query = db
    .selectFrom('runtime_observations')
    .select(['id', 'tenant_id', 'sub_tenant_id', 'name', 'unknown', 'last_seen_at'])
    .where('kind', '=', 'agent')
    .where(inScope(scope));
  if (name !== null) query = query.where('name', '=', name);
  const rows = await query.limit(limit + 1).execute();
  if (rows.length > limit) return null;
  return rows.map((row) => ({
    ...placeOf(row),
    id: row.id,
    name: row.name,
    unknown: row.unknown === 1,
    lastSeenAt: row.last_seen_at,
  }));
}

/** An active manifest of an agent. */
export type AgentManifest = TenantPlace & { id: string; name: string };

/**
 * The active manifests of agents.
 *
 * @returns null if there are more than `limit`
 */
export async function listAgentManifests(
  db: Database,
  scope: TenantScope,
  { name, limit }: { name: string | null; limit: number },
): Promise<AgentManifest[] | null> {
  let query = db
    .selectFrom('manifests')
    .select(['id', 'tenant_id', 'sub_tenant_id', 'name'])
    .where('kind', '=', 'agent')
    .where('status', '=', 'active')
    .where(inScope(scope));
  if (name !== null) query = query.where('name', '=', name);
  const rows = await query.limit(limit + 1).execute();
  return rows.length > limit ? null : rows.map((row) => ({ ...placeOf(row), id: row.id, name: row.name }));
}

/** A usage series of an agent. */
export type AgentSeries = Pick<
  UsageSeries,
  keyof TenantPlace | 'id' | 'agent' | 'providerId' | 'kind' | 'name' | 'nameKey'
>;

/** The usage series of some agents of a tenant. */
export async function findSeriesOfAgents(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  agents: readonly (Pick<TenantPlace, 'subTenantId'> & { agent: string })[],
): Promise<AgentSeries[]> {
  const wanted = agents.map(({ subTenantId, agent }) => ({
    subTenant: placeColumns({ tenantId, subTenantId }).sub_tenant_id,
    agent,
  }));
  return (await selectSeries(db, wanted, { tenantId })).map((row) => ({
    ...placeOf(row),
    id: row.id,
    agent: row.agent,
    providerId: row.provider_id,
    kind: row.kind,
    name: row.name,
    nameKey: row.name_key,
  }));
}

const selectSeries = multiRowStatement(
  (db, rows: readonly { subTenant: string; agent: string }[], { tenantId }: { tenantId: string }) =>
    db
      .selectFrom('usage_series')
      .select(['id', 'tenant_id', 'sub_tenant_id', 'agent', 'provider_id', 'kind', 'name', 'name_key'])
      .where('tenant_id', '=', tenantId)
      .where(isOfOneAgent)
      .where(
        tupleIn(
          ['sub_tenant_id', 'agent'],
          rows.map(({ subTenant, agent }) => [subTenant, agent]),
        ),
      ),
);

/** An observation with its risk, without its evidence, which may be large. */
export type ObservedRisk = Pick<RuntimeObservation, 'id' | 'providerId' | 'kind' | 'name' | 'risk'> & {
  nameKey: string;
};

/** The risks of the observations of some subjects in a place. */
export async function findRisksInPlace(
  db: Database,
  place: TenantPlace,
  subjects: readonly ObservationSubject[],
): Promise<ObservedRisk[]> {
  return (await selectRisks(db, subjects, placeColumns(place))).map((row) => ({
    id: row.id,
    providerId: row.provider_id,
    kind: row.kind,
    name: row.name,
    nameKey: row.name_key,
    risk: JSON.parse(row.risk) as RuntimeObservation['risk'],
  }));
}

const selectRisks = multiRowStatement(
  (db, rows: readonly ObservationSubject[], { tenant_id, sub_tenant_id }: ReturnType<typeof placeColumns>) =>
    db
      .selectFrom('runtime_observations')
      .select(['id', 'provider_id', 'kind', 'name', 'name_key', 'risk'])
      .where('tenant_id', '=', tenant_id)
      .where('sub_tenant_id', '=', sub_tenant_id)
      .where(
        tupleIn(
          ['provider_id', 'kind', 'name_key'],
          rows.map(({ providerId, kind, nameKey }) => [providerId, kind, nameKey]),
        ),
      ),
);

/** When the first and the last call of a series began: RFC 3339, UTC, milliseconds. */
export type ActiveTimes = { seriesId: string; firstCallAt: string; lastCallAt: string };

/** When the first and the last call began, for each series that has calls. */
export async function findActiveTimes(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  seriesIds: readonly string[],
): Promise<ActiveTimes[]> {
  const rows = await selectActiveTimes(
    db,
    seriesIds.map((id) => ({ id })),
    { tenantId },
  );
  return rows.flatMap(({ seriesId, firstAt, lastAt }) =>
    firstAt === null || lastAt === null
      ? []
      : [{ seriesId, firstCallAt: timeText(firstAt), lastCallAt: timeText(lastAt) }],
  );
}

/** @param time milliseconds since 1970, which Postgres may return as a text */
function timeText(time: number): string {
  return new Date(Number(time)).toISOString();
}

const selectActiveTimes = multiRowStatement((db, rows: readonly { id: string }[], { tenantId }: { tenantId: string }) =>
  db
    .selectFrom('usage_series as series')
    .select('series.id as seriesId')
    // Each is one look-up in the index. Grouped by series, all hours would be read.
    .select((eb) => [
      hourOf(eb, 'asc').select('sums.first_at').as('firstAt'),
      hourOf(eb, 'desc').select('sums.last_at').as('lastAt'),
    ])
    .where('series.tenant_id', '=', tenantId)
    .where(
      'series.id',
      'in',
      rows.map(({ id }) => id),
    ),
);

/** The first or the last hour with calls. */
function hourOf(
  { selectFrom }: ExpressionBuilder<Tables & { series: Tables['usage_series'] }, 'series'>,
  order: 'asc' | 'desc',
) {
  return selectFrom('usage_rollups as sums')
    .whereRef('sums.tenant_id', '=', 'series.tenant_id')
    .whereRef('sums.series_id', '=', 'series.id')
    .where('sums.period', '=', 'hour')
    .orderBy('sums.start_time', order)
    .limit(1);
}
