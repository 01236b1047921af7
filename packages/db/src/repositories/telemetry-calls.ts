import { type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { placeColumns } from '../queries.ts';
import { multiRowStatement } from '../multi-row-statement.ts';
import type { TenantPlace } from '../tenancy.ts';

export type Signal = 'span' | 'log';

/** Whether any stored call at a place was first reported by a log record. */
export async function hasCallsFromLogs(db: Database, place: TenantPlace): Promise<boolean> {
  const { tenant_id, sub_tenant_id } = placeColumns(place);
  const row = await db
    .selectFrom('telemetry_calls')
    .select('call_key')
    .where('tenant_id', '=', tenant_id)
    .where('sub_tenant_id', '=', sub_tenant_id)
    // A literal, not a parameter: a partial index is only used if the statement itself contains its condition.
    .where(sql<SqlBool>`signal = 'log'`)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** The signal that first reported each known call, by the keys of the calls. */
export async function findTelemetryCalls(
  db: Database,
  place: TenantPlace,
  keys: readonly string[],
): Promise<Map<string, Signal>> {
  const rows = await selectByKeys(
    db,
    keys.map((key) => ({ key })),
    placeColumns(place),
  );
  return new Map(rows.map(({ call_key, signal }) => [call_key, signal]));
}

const selectByKeys = multiRowStatement(
  (db, rows: readonly { key: string }[], { tenant_id, sub_tenant_id }: ReturnType<typeof placeColumns>) =>
    db
      .selectFrom('telemetry_calls')
      .select(['call_key', 'signal'])
      .where('tenant_id', '=', tenant_id)
      .where('sub_tenant_id', '=', sub_tenant_id)
      .where(
        'call_key',
        'in',
        rows.map(({ key }) => key),
      ),
);

/** Stores calls that a signal reported. Known calls do not change. */
export async function insertTelemetryCalls(
  db: Database,
  place: TenantPlace,
  { keys, signal }: { keys: readonly string[]; signal: Signal },
  now: Date,
): Promise<void> {
  const rows = keys.map((key) => ({ key }));
  await insertRows(db, rows, { ...placeColumns(place), signal, now: now.toISOString() });
}

type Shared = ReturnType<typeof placeColumns> & { signal: Signal; now: string };

const insertRows = multiRowStatement(
  (db, rows: readonly { key: string }[], { tenant_id, sub_tenant_id, signal, now }: Shared) =>
    db
      .insertInto('telemetry_calls')
      .values(rows.map(({ key }) => ({ tenant_id, sub_tenant_id, call_key: key, signal, first_seen_at: now })))
      .onConflict((conflict) => conflict.columns(['tenant_id', 'sub_tenant_id', 'call_key']).doNothing()),
);

/** The time of the newest call beyond the newest `kept` ones of a tenant. Undefined if it has no more than these. */
export async function findOldestKeptCall(
  db: Database,
  { tenantId, kept }: { tenantId: string; kept: number },
): Promise<string | undefined> {
  const row = await db
    .selectFrom('telemetry_calls')
    .select('first_seen_at')
    .where('tenant_id', '=', tenantId)
    .orderBy('first_seen_at', 'desc')
    .offset(kept)
    .limit(1)
    .executeTakeFirst();
  return row?.first_seen_at;
}

/** Removes the oldest calls of a tenant that were seen before a time, at most `limit`. Returns how many. */
export async function deleteTelemetryCallsBefore(
  db: Database,
  { tenantId, before, limit }: { tenantId: string; before: string; limit: number },
): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('telemetry_calls')
    .where('tenant_id', '=', tenantId)
    .where((eb) =>
      eb(
        eb.refTuple('sub_tenant_id', 'call_key'),
        'in',
        eb
          .selectFrom('telemetry_calls')
          .select(['sub_tenant_id', 'call_key'])
          .where('tenant_id', '=', tenantId)
          .where('first_seen_at', '<', before)
          .orderBy('first_seen_at')
          .limit(limit)
          .$asTuple('sub_tenant_id', 'call_key'),
      ),
    )
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
