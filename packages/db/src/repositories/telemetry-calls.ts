import { type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import { multiRowStatement, preparedStatement } from '../prepared-statement.ts';
import type { Database } from '../database.ts';
import { senderDigestOf } from '../merged-part.ts';
import { placeColumns } from '../queries.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace } from '../tenancy.ts';

/** What reported a call. */
export type CallSignal = 'span' | 'log';

/**
 * The maximum number of keys of one account. Beyond it, new keys displace the oldest keys of the account. The hourly removal
 * alone would not limit how much an account stores within an hour.
 */
const MAX_KEYS_OF_SENDER = 500_000;

/** The most keys that one statement removes beyond that. SQLite removes them without yielding to the event loop. */
const REMOVED_AT_ONCE = 500;

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
  signal: CallSignal;
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
  recordKey?: string | null;
  /** The call that the record counted, under the record's own key. */
  countedCall?: Uint8Array | null;
};

/**
 * Stores calls that a signal reported. Known calls do not change. If the sender has too many then, its oldest ones are removed.
 *
 * @param sender `user:<id>` or `service_account:<tenant>/<id>`
 * @returns how many were not known
 */
export async function insertTelemetryCalls(
  db: Database,
  place: TenantPlace,
  { calls, signal, sender }: { calls: readonly NewTelemetryCall[]; signal: CallSignal; sender: string },
  now: Date,
): Promise<number> {
  const rows = calls.map(({ key, recordKey = null, countedCall = null }) => {
    return { key, recordKey, countedCall: countedCall && Buffer.from(countedCall) };
  });
  const shared = { ...placeColumns(place), signal, sender: senderKey(sender), now: now.toISOString() };
  const { length: inserted } = await insertRows(db, rows, shared);
  if (inserted === 0) return 0;
  const ofSender = { tenantId: place.tenantId, sender: shared.sender };
  const [count] = await addToCount(db, { ...ofSender, calls: inserted });
  const surplus = (count?.calls ?? 0) - MAX_KEYS_OF_SENDER;
  // Up to twice as many as were added, so that the number also falls after a release has lowered the limit.
  for (let left = Math.min(surplus, 2 * inserted); left > 0; left -= REMOVED_AT_ONCE) {
    await deleteOldestCalls(db, { ...ofSender, before: null, limit: Math.min(left, REMOVED_AT_ONCE) });
  }
  return inserted;
}

/** Identifies a sender in the rows of its calls. */
function senderKey(sender: string): string {
  return senderDigestOf(sender).slice(0, 16);
}

type NewRow = { key: string; recordKey: string | null; countedCall: Buffer | null };
type Shared = PlaceColumns & { signal: CallSignal; sender: string; now: string };

const insertRows = multiRowStatement(
  (db, rows: readonly NewRow[], { tenant_id, sub_tenant_id, signal, sender, now }: Shared) =>
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
          sender,
          first_seen_at: now,
        })),
      )
      .onConflict((conflict) => conflict.columns(['tenant_id', 'sub_tenant_id', 'call_key']).doNothing())
      .returning('call_key'),
);

type SenderOfTenant = { tenantId: string; sender: string };

const addToCount = preparedStatement((db, { tenantId, sender, calls }: SenderOfTenant & { calls: number }) =>
  db
    .insertInto('telemetry_call_counts')
    .values({ tenant_id: tenantId, sender, calls })
    .onConflict((conflict) =>
      conflict
        .columns(['tenant_id', 'sender'])
        .doUpdateSet({ calls: sql<number>`telemetry_call_counts.calls + excluded.calls` }),
    )
    .returning('calls'),
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

// An upsert, although the rows exist: it is the one statement in both dialects that sets another value in each row.
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

/** How many stored calls each sender of a tenant has. */
export async function listCallCounts(
  db: Database,
  { tenantId }: { tenantId: string },
): Promise<{ sender: string; calls: number }[]> {
  return db
    .selectFrom('telemetry_call_counts')
    .select(['sender', 'calls'])
    .where('tenant_id', '=', tenantId)
    .where('calls', '>', 0)
    .orderBy('sender')
    .execute();
}

/**
 * Removes the oldest calls of a sender, at most `limit`. Returns how many.
 *
 * @param sender as {@link listCallCounts} returns it
 * @param before only those that were seen before this time. Null: all
 */
export async function deleteOldestCalls(
  db: Database,
  { tenantId, sender, before, limit }: SenderOfTenant & { before: string | null; limit: number },
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
          .where('sender', '=', sender)
          .$if(before !== null, (query) => query.where('first_seen_at', '<', before ?? ''))
          .orderBy('first_seen_at')
          .limit(limit)
          .$asTuple('sub_tenant_id', 'call_key'),
      ),
    )
    .executeTakeFirstOrThrow();
  const removed = Number(numDeletedRows);
  if (removed > 0) await addToCount(db, { tenantId, sender, calls: -removed });
  return removed;
}
