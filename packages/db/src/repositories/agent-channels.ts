import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { multiRowStatement } from '../prepared-statement.ts';
import { inScope, placeColumns, placeOf, tupleIn } from '../queries.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';

/** A channel of an agent at a place. */
export type ChannelName = { agent: string; channel: string };

/** When runs that name a channel were received. */
export type SeenChannel = TenantPlace & ChannelName & { firstSeenAt: string; lastSeenAt: string };

type InTenant = Pick<TenantPlace, 'tenantId'>;
type PlaceColumns = ReturnType<typeof placeColumns>;

/** All seen channels of some agents at a place. */
export function findChannelsOfAgents(
  db: Database,
  place: TenantPlace,
  agents: readonly string[],
): Promise<(ChannelName & { lastSeenAt: string })[]> {
  const rows = agents.map((agent) => ({ agent }));
  return selectChannels(db, rows, placeColumns(place));
}

const selectChannels = multiRowStatement(
  (db, rows: readonly { agent: string }[], { tenant_id, sub_tenant_id }: PlaceColumns) =>
    db
      .selectFrom('agent_channels')
      .select(['agent', 'channel', 'last_seen_at as lastSeenAt'])
      .where('tenant_id', '=', tenant_id)
      .where('sub_tenant_id', '=', sub_tenant_id)
      .where(
        'agent',
        'in',
        rows.map(({ agent }) => agent),
      ),
);

/** The number of seen channels of a tenant. */
export async function countChannels(db: Database, { tenantId }: InTenant): Promise<number> {
  const { count } = await db
    .selectFrom('agent_channels')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('tenant_id', '=', tenantId)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Stores channels that were seen for the first time. */
export async function insertChannels(
  db: Database,
  place: TenantPlace,
  channels: readonly ChannelName[],
  now: Date,
): Promise<void> {
  await insertRows(db, channels, { ...placeColumns(place), time: now.toISOString() });
}

const insertRows = multiRowStatement(
  (db, rows: readonly ChannelName[], { time, tenant_id, sub_tenant_id }: PlaceColumns & { time: string }) =>
    db
      .insertInto('agent_channels')
      .values(
        rows.map(({ agent, channel }) => ({
          tenant_id,
          sub_tenant_id,
          agent,
          channel,
          first_seen_at: time,
          last_seen_at: time,
        })),
      )
      .onConflict((conflict) => conflict.columns(['tenant_id', 'sub_tenant_id', 'agent', 'channel']).doNothing()),
);

/** Stores that channels were seen again. */
export async function touchChannels(
  db: Database,
  place: TenantPlace,
  channels: readonly ChannelName[],
  now: Date,
): Promise<void> {
  await updateRows(db, channels, { ...placeColumns(place), time: now.toISOString() });
}

const updateRows = multiRowStatement(
  (db, rows: readonly ChannelName[], { time, tenant_id, sub_tenant_id }: PlaceColumns & { time: string }) =>
    db
      .updateTable('agent_channels')
      .set({ last_seen_at: time })
      .where('tenant_id', '=', tenant_id)
      .where('sub_tenant_id', '=', sub_tenant_id)
      .where(
        tupleIn(
          ['agent', 'channel'],
          rows.map(({ agent, channel }) => [agent, channel]),
        ),
      ),
);

/** Removes channels that were last seen before a time, at most `limit`. Returns the number of rows. */
export async function deleteChannelsBefore(
  db: Database,
  { tenantId, before, limit }: InTenant & { before: string; limit: number },
): Promise<number> {
  const oldest = await db
    .selectFrom('agent_channels')
    .select(['sub_tenant_id', 'agent', 'channel'])
    .where('tenant_id', '=', tenantId)
    .where('last_seen_at', '<', before)
    .orderBy('last_seen_at')
    .limit(limit)
    .execute();
  if (oldest.length === 0) return 0;
  const { numDeletedRows } = await db
    .deleteFrom('agent_channels')
    .where('tenant_id', '=', tenantId)
    .where('last_seen_at', '<', before)
    .where(
      tupleIn(
        ['sub_tenant_id', 'agent', 'channel'],
        oldest.map((row) => [row.sub_tenant_id, row.agent, row.channel]),
      ),
    )
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

/**
 * The seen channels in a scope.
 *
 * @param agent only channels of agents with this name; null for all
 * @returns null if there are more than `limit`
 */
export async function listSeenChannels(
  db: Database,
  scope: TenantScope,
  { agent, limit }: { agent: string | null; limit: number },
): Promise<SeenChannel[] | null> {
  let query = db.selectFrom('agent_channels').selectAll().where(inScope(scope));
  if (agent !== null) query = query.where('agent', '=', agent);
  const rows = await query.limit(limit + 1).execute();
  if (rows.length > limit) return null;
  return rows.map((row) => ({
    ...placeOf(row),
    agent: row.agent,
    channel: row.channel,
    firstSeenAt: row.first_seen_at,
    lastSeenAt: row.last_seen_at,
  }));
}

/** An active manifest of an agent that declares channels. */
export type ChannelManifest = TenantPlace & { id: string; agent: string; channels: string[] };

/**
 * The active manifests in a scope that declare channels.
 *
 * @param agent only manifests of this agent; null for all
 * @returns null if there are more than `limit`
 */
export async function listChannelManifests(
  db: Database,
  scope: TenantScope,
  { agent, limit }: { agent: string | null; limit: number },
): Promise<ChannelManifest[] | null> {
  let query = db
    .selectFrom('manifests')
    .select(['id', 'tenant_id', 'sub_tenant_id', 'name', 'channels'])
    .where('channels', '<>', sql.lit('[]'))
    .where('kind', '=', 'agent')
    .where('status', '=', 'active')
    .where(inScope(scope));
  if (agent !== null) query = query.where('name', '=', agent);
  const rows = await query.limit(limit + 1).execute();
  if (rows.length > limit) return null;
  return rows.map((row) => ({
    ...placeOf(row),
    id: row.id,
    agent: row.name,
    channels: JSON.parse(row.channels) as string[],
  }));
}
