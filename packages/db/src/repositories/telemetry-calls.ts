import { type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { placeColumns } from '../queries.ts';
import { multiRowStatement } from '../multi-row-statement.ts';
import type { Tables } from '../tables.ts';
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

export type TelemetryCall = {
  /** The signal that reported it first. */
  signal: Signal;
  /** Identifies the log record that counted the call, see {@link findCountedCalls}. Null if no span can replace the call. */
  recordKey: string | null;
};

/** Known calls, by their keys. */
export async function findTelemetryCalls(
  db: Database,
  place: TenantPlace,
  keys: readonly string[],
): Promise<Map<string, TelemetryCall>> {
  const rows = await selectByKeys(db, asRows(keys), placeColumns(place));
  return new Map(rows.map(({ call_key, signal, record_key }) => [call_key, { signal, recordKey: record_key }]));
}

const selectByKeys = multiRowStatement((db, keys: readonly Key[], place: PlaceColumns) =>
  db.selectFrom('telemetry_calls').select(['call_key', 'signal', 'record_key']).where(isOneOf(keys, place)),
);

export type NewTelemetryCall = {
  key: string;
  /** The key of the log record that counted the call. */
  recordKey: string | null;
  /** The call that the record counted, under the record's own key. */
  countedCall: Uint8Array | null;
};

/** Stores calls that a signal reported. Known calls do not change. */
export async function insertTelemetryCalls(
  db: Database,
  place: TenantPlace,
  { calls, signal }: { calls: readonly NewTelemetryCall[]; signal: Signal },
  now: Date,
): Promise<void> {
  const rows = calls.map(({ key, recordKey, countedCall }) => {
    return { key, recordKey, countedCall: countedCall && Buffer.from(countedCall) };
  });
  await insertRows(db, rows, { ...placeColumns(place), signal, now: now.toISOString() });
}

type NewRow = { key: string; recordKey: string | null; countedCall: Buffer | null };
type Shared = PlaceColumns & { signal: Signal; now: string };

const insertRows = multiRowStatement((db, rows: readonly NewRow[], { tenant_id, sub_tenant_id, signal, now }: Shared) =>
  db
    .insertInto('telemetry_calls')
    .values(
      rows.map(({ key, recordKey, countedCall }) => ({
        tenant_id,
        sub_tenant_id,
        call_key: key,
        signal,
        record_key: recordKey,
        counted_call: countedCall,
        first_seen_at: now,
      })),
    )
    .onConflict((conflict) => conflict.columns(['tenant_id', 'sub_tenant_id', 'call_key']).doNothing()),
);

/** The calls that log records counted, and that no span has replaced, by the keys of the records. */
export async function findCountedCalls(
  db: Database,
  place: TenantPlace,
  recordKeys: readonly string[],
): Promise<Map<string, Uint8Array>> {
  if (recordKeys.length === 0) return new Map();
  const rows = await selectCounted(db, asRows(recordKeys), placeColumns(place));
  return new Map(rows.flatMap(({ call_key, counted_call }) => (counted_call ? [[call_key, counted_call]] : [])));
}

const selectCounted = multiRowStatement((db, keys: readonly Key[], place: PlaceColumns) =>
  db.selectFrom('telemetry_calls').select(['call_key', 'counted_call']).where(isOneOf(keys, place)),
);

/** Changes stored calls that log records counted, by the keys of the records. */
export async function changeCountedCalls(
  db: Database,
  place: TenantPlace,
  calls: ReadonlyMap<string, Uint8Array>,
  now: Date,
): Promise<void> {
  const rows = [...calls].map(([key, call]) => ({ key, countedCall: Buffer.from(call) }));
  await changeRows(db, rows, { ...placeColumns(place), now: now.toISOString() });
}

type ChangedRow = { key: string; countedCall: Buffer };

// The rows exist. SQLite and PostgreSQL have no other statement in common that gives each row its own value.
const changeRows = multiRowStatement(
  (db, rows: readonly ChangedRow[], { tenant_id, sub_tenant_id, now }: PlaceColumns & { now: string }) =>
    db
      .insertInto('telemetry_calls')
      .values(
        rows.map(({ key, countedCall }) => ({
          tenant_id,
          sub_tenant_id,
          call_key: key,
          signal: 'log' as const,
          counted_call: countedCall,
          first_seen_at: now,
        })),
      )
      .onConflict((conflict) =>
        conflict
          .columns(['tenant_id', 'sub_tenant_id', 'call_key'])
          .doUpdateSet((eb) => ({ counted_call: eb.ref('excluded.counted_call') })),
      ),
);

/** Removes the stored calls of log records, because spans replace them. Their keys stay. */
export async function removeCountedCalls(
  db: Database,
  place: TenantPlace,
  recordKeys: readonly string[],
): Promise<void> {
  if (recordKeys.length > 0) await clearCounted(db, asRows(recordKeys), placeColumns(place));
}

const clearCounted = multiRowStatement((db, keys: readonly Key[], place: PlaceColumns) =>
  db.updateTable('telemetry_calls').set({ counted_call: null }).where(isOneOf(keys, place)),
);

type Key = { key: string };
type PlaceColumns = ReturnType<typeof placeColumns>;

function asRows(keys: readonly string[]): Key[] {
  return keys.map((key) => ({ key }));
}

function isOneOf(keys: readonly Key[], { tenant_id, sub_tenant_id }: PlaceColumns) {
  return (eb: ExpressionBuilder<Tables, 'telemetry_calls'>) =>
    eb.and([
      eb('tenant_id', '=', tenant_id),
      eb('sub_tenant_id', '=', sub_tenant_id),
      eb(
        'call_key',
        'in',
        keys.map(({ key }) => key),
      ),
    ]);
}

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
