import type { DecisionPoint } from '@quartermaster/contracts/gateway-decisions.ts';
import type { Enforcement } from '@quartermaster/contracts/gateways.ts';
import type { DeniedUse, Denial } from '@quartermaster/contracts/denials.ts';
import { type Insertable, type Selectable, sql } from 'kysely';
import { inBatches } from '../batches.ts';
import type { Database } from '../database.ts';
import { multiRowStatement } from '../prepared-statement.ts';
import { inScope, type Page, type PageRequest, placeOf } from '../queries.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';

/** Ids in one statement: SQLite takes at most 32,766 parameters. */
const BATCH_SIZE = 1000;

type InTenant = Pick<TenantPlace, 'tenantId'>;

/** How many decisions of one hour have the same gateway, provider, account, point, mode and outcome. */
export type DecisionCount = Omit<Selectable<Tables['decision_counts']>, 'tenant_id'>;

/** The decisions of an account about a provider, added up. `providerId` is empty if the gateway lists no such provider. */
export type SummedDecisions = TenantPlace & {
  providerId: string;
  account: string;
  point: DecisionPoint;
  mode: Enforcement;
  outcome: DecisionCount['outcome'];
  decisions: number;
  lastAt: string;
};

/** The decisions of one session. */
export type SessionDecisions = { sessionId: string; allowed: number; denied: number; lastAt: string };

/** How often one gateway denied one account the subject of an observation. */
export type ObservationDenials = {
  observationId: string;
  gatewayId: string;
  account: string;
  denials: number;
  reason: Denial;
  lastSessionId: string;
  lastDeniedAt: string;
};

/** The decisions since a time, added up. At most `limit` sums. */
export async function sumDecisions(
  db: Database,
  scope: TenantScope,
  {
    from,
    providerId,
    account,
  }: { from: string; providerId?: string | null | undefined; account?: string | null | undefined },
  limit: number,
): Promise<SummedDecisions[]> {
  let query = db
    .selectFrom('decision_counts')
    .select(['tenant_id', 'sub_tenant_id', 'provider_id', 'account', 'point', 'mode', 'outcome'])
    .select(({ fn }) => [fn.sum<number | string>('decisions').as('decisions'), fn.max('last_at').as('last_at')])
    .where('hour', '>=', from)
    .where(inScope(scope));
  if (providerId != null) query = query.where('provider_id', '=', providerId);
  if (account != null) query = query.where('account', '=', account);
  const rows = await query
    .groupBy(['tenant_id', 'sub_tenant_id', 'provider_id', 'account', 'point', 'mode', 'outcome'])
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    ...placeOf(row),
    providerId: row.provider_id,
    account: row.account,
    point: row.point,
    mode: row.mode,
    outcome: row.outcome,
    decisions: Number(row.decisions),
    lastAt: row.last_at,
  }));
}

/** The ids among `providerIds` that active gateways of a tenant list. */
export async function findGovernedProviders(
  db: Database,
  { tenantId }: InTenant,
  providerIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const governed = new Set<string>();
  for await (const batch of inBatches(providerIds, BATCH_SIZE)) {
    const rows = await db
      .selectFrom('gateway_providers as listed')
      .innerJoin('gateways as gateway', (join) =>
        join.onRef('gateway.tenant_id', '=', 'listed.tenant_id').onRef('gateway.id', '=', 'listed.gateway_id'),
      )
      .select('listed.provider_id')
      .distinct()
      .where('listed.tenant_id', '=', tenantId)
      .where('listed.provider_id', 'in', batch)
      .where('gateway.status', '=', 'active')
      .execute();
    for (const row of rows) governed.add(row.provider_id);
  }
  return governed;
}

/** The providers that active gateways list. */
export async function listGovernedProviders(
  db: Database,
  scope: TenantScope,
): Promise<{ tenantId: string; providerId: string }[]> {
  const rows = await db
    .selectFrom('gateway_providers as listed')
    .innerJoin('gateways as gateway', (join) =>
      join.onRef('gateway.tenant_id', '=', 'listed.tenant_id').onRef('gateway.id', '=', 'listed.gateway_id'),
    )
    .select(['listed.tenant_id', 'listed.provider_id'])
    .distinct()
    .where('gateway.status', '=', 'active')
    .where(inScope(scope, 'gateway'))
    .execute();
  return rows.map(({ tenant_id: tenantId, provider_id: providerId }) => ({ tenantId, providerId }));
}

/** The accounts that asked about providers since an hour, each with the provider. */
export async function listAskingAccounts(
  db: Database,
  { tenantId }: InTenant,
  from: string,
): Promise<{ providerId: string; account: string }[]> {
  const rows = await db
    .selectFrom('decision_counts')
    .select(['provider_id', 'account'])
    .distinct()
    .where('tenant_id', '=', tenantId)
    .where('hour', '>=', from)
    .execute();
  return rows.map(({ provider_id: providerId, account }) => ({ providerId, account }));
}

/** Stores the id of a batch of counts. Call it in the transaction that adds them. @returns false if the batch was added before */
export async function insertDecisionBatch(
  db: Database,
  { tenantId }: InTenant,
  id: string,
  now: Date,
): Promise<boolean> {
  const added = await db
    .insertInto('decision_batches')
    .values({ tenant_id: tenantId, id, created_at: now.toISOString() })
    .onConflict((conflict) => conflict.columns(['tenant_id', 'id']).doNothing())
    .returning('id')
    .executeTakeFirst();
  return added !== undefined;
}

const addRows = multiRowStatement((db, rows: readonly Insertable<Tables['decision_counts']>[], _shared: object) =>
  db
    .insertInto('decision_counts')
    .values(
      rows.map((row) => ({
        tenant_id: row.tenant_id,
        sub_tenant_id: row.sub_tenant_id,
        hour: row.hour,
        gateway_id: row.gateway_id,
        provider_id: row.provider_id,
        account: row.account,
        point: row.point,
        mode: row.mode,
        outcome: row.outcome,
        decisions: row.decisions,
        last_at: row.last_at,
      })),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['tenant_id', 'hour', 'gateway_id', 'provider_id', 'account', 'point', 'mode', 'outcome'])
        .doUpdateSet({
          decisions: sql<number>`decision_counts.decisions + excluded.decisions`,
          last_at: sql<string>`case when excluded.last_at > decision_counts.last_at then excluded.last_at else decision_counts.last_at end`,
        }),
    ),
);

export async function addDecisionCounts(
  db: Database,
  { tenantId }: InTenant,
  counts: readonly DecisionCount[],
): Promise<void> {
  await addRows(
    db,
    counts.map((count) => ({ tenant_id: tenantId, ...count })),
    {},
  );
}

const addSessionRows = multiRowStatement((db, rows: readonly SessionDecisions[], { tenantId }: { tenantId: string }) =>
  db
    .insertInto('gateway_session_decisions')
    .values(
      rows.map(({ sessionId, allowed, denied, lastAt }) => ({
        tenant_id: tenantId,
        session_id: sessionId,
        allowed,
        denied,
        last_at: lastAt,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'session_id']).doUpdateSet({
        allowed: sql<number>`gateway_session_decisions.allowed + excluded.allowed`,
        denied: sql<number>`gateway_session_decisions.denied + excluded.denied`,
        last_at: sql<string>`excluded.last_at`,
      }),
    ),
);

/** @param sessions decisions of sessions that exist */
export async function addSessionDecisions(
  db: Database,
  { tenantId }: InTenant,
  sessions: readonly SessionDecisions[],
): Promise<void> {
  await addSessionRows(db, sessions, { tenantId });
}

const addDenialRows = multiRowStatement((db, rows: readonly ObservationDenials[], { tenantId }: { tenantId: string }) =>
  db
    .insertInto('observation_denials')
    .values(
      rows.map((row) => ({
        tenant_id: tenantId,
        observation_id: row.observationId,
        gateway_id: row.gatewayId,
        account: row.account,
        denials: row.denials,
        reason: row.reason,
        last_session_id: row.lastSessionId,
        last_denied_at: row.lastDeniedAt,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'observation_id', 'gateway_id', 'account']).doUpdateSet({
        denials: sql<number>`observation_denials.denials + excluded.denials`,
        reason: sql<Denial>`excluded.reason`,
        last_session_id: sql<string>`excluded.last_session_id`,
        last_denied_at: sql<string>`excluded.last_denied_at`,
      }),
    ),
);

export async function addObservationDenials(
  db: Database,
  { tenantId }: InTenant,
  denials: readonly ObservationDenials[],
): Promise<void> {
  await addDenialRows(db, denials, { tenantId });
}

type DenialFilter = { observationId?: string; gatewayId?: string; account?: string; since?: string };

/** Denials, the latest first. The scope applies to the observations. */
export async function listDenials(
  db: Database,
  scope: TenantScope,
  { observationId, gatewayId, account, since }: DenialFilter,
  { limit, after }: PageRequest,
): Promise<Page<DeniedUse>> {
  const position = sql<string>`denial.observation_id || ' ' || denial.gateway_id || ' ' || denial.account`;
  let query = db
    .selectFrom('observation_denials as denial')
    .innerJoin('runtime_observations as observation', (join) =>
      join
        .onRef('observation.tenant_id', '=', 'denial.tenant_id')
        .onRef('observation.id', '=', 'denial.observation_id'),
    )
    .select(['denial.observation_id', 'denial.gateway_id', 'denial.account', 'denial.denials', 'denial.reason'])
    .select(['denial.last_session_id', 'denial.last_denied_at'])
    .select(['observation.provider_id', 'observation.kind', 'observation.name'])
    .select(position.as('position'))
    .where(inScope(scope, 'observation'));
  if (observationId !== undefined) query = query.where('denial.observation_id', '=', observationId);
  if (gatewayId !== undefined) query = query.where('denial.gateway_id', '=', gatewayId);
  if (account !== undefined) query = query.where('denial.account', '=', account);
  if (since !== undefined) query = query.where('denial.last_denied_at', '>=', since);
  if (after !== null) {
    query = query.where(sql<boolean>`(denial.last_denied_at, ${position}) < (${after[0]}, ${after[1]})`);
  }
  const rows = await query
    .orderBy('denial.last_denied_at', 'desc')
    .orderBy(position, 'desc')
    .limit(limit + 1)
    .execute();
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return {
    items: items.map((row) => ({
      observationId: row.observation_id,
      providerId: row.provider_id,
      kind: row.kind,
      name: row.name,
      gatewayId: row.gateway_id,
      account: row.account,
      denials: row.denials,
      reason: row.reason,
      lastSessionId: row.last_session_id || null,
      lastDeniedAt: row.last_denied_at,
    })),
    next: last && rows.length > limit ? [last.last_denied_at, last.position] : null,
  };
}

/** How many open observations an account has that were denied and never used, at most `most`. */
export async function countDeniedOnly(
  db: Database,
  { tenantId }: InTenant,
  { account, most }: { account: string; most: number },
): Promise<number> {
  const rows = db
    .selectFrom('runtime_observations')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('first_account', '=', account)
    .where(sql<boolean>`denials > 0 and occurrences = 0 and status = 'open'`)
    .limit(most);
  const { count } = await db
    .selectFrom(rows.as('denied'))
    .select(({ fn }) => fn.countAll<number | string>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** The sub-tenants of service accounts, by their ids. */
export async function findPlacesOfAccounts(
  db: Database,
  { tenantId }: InTenant,
  ids: readonly string[],
): Promise<Map<string, TenantPlace>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('service_accounts')
    .select(['id', 'sub_tenant_id'])
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', ids)
    .execute();
  return new Map(
    rows.map((row) => [row.id, { tenantId, subTenantId: row.sub_tenant_id === '' ? null : row.sub_tenant_id }]),
  );
}

/** The ids among `ids` that sessions still have. Retention removes old ones. */
export async function findExistingSessions(
  db: Database,
  { tenantId }: InTenant,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const existing = new Set<string>();
  for await (const batch of inBatches(ids, BATCH_SIZE)) {
    const rows = await db
      .selectFrom('gateway_sessions')
      .select('id')
      .where('tenant_id', '=', tenantId)
      .where('id', 'in', batch)
      .execute();
    for (const { id } of rows) existing.add(id);
  }
  return existing;
}

/** Deletes a tenant's counts of hours before a time. Returns how many. */
export async function deleteDecisionCountsBefore(
  db: Database,
  { tenantId }: InTenant,
  before: string,
): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('decision_counts')
    .where('tenant_id', '=', tenantId)
    .where('hour', '<', before)
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** Deletes the ids of batches that were added before a time. */
export async function deleteDecisionBatchesBefore(db: Database, before: string): Promise<void> {
  await db.deleteFrom('decision_batches').where('created_at', '<', before).execute();
}
