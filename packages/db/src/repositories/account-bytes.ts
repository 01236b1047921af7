import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import { multiRowStatement, preparedStatement } from '../prepared-statement.ts';
import { tupleIn } from '../queries.ts';
import type { Database } from '../database.ts';
import type { placeColumns } from '../queries.ts';
import type { Tables } from '../tables.ts';

/*
 * How many stored bytes of a tenant are spans of which account. An account is named as its spans are: `user:<id>` or
 * `service_account:<tenant>/<id>`. A trace names the account that sent it first. The bytes that other accounts added to it are in
 * `trace_accounts`, which is usually empty. So removing a trace gives back to each account exactly what it stored.
 */

type TraceKey = Pick<Selectable<Tables['traces']>, 'tenant_id' | 'sub_tenant_id' | 'trace_id'>;

/** A trace that loses bytes. `account` is the one that sent it first. */
type ShrinkingTrace = TraceKey & { account: string; stored_bytes: number };

type PlaceColumns = ReturnType<typeof placeColumns>;

const bytesOfAccount = preparedStatement((db, { tenantId, account }: { tenantId: string; account: string }) =>
  db.selectFrom('account_bytes').select('bytes').where('tenant_id', '=', tenantId).where('account', '=', account),
);

/** The stored bytes of an account's spans. */
export async function findAccountBytes(db: Database, tenantId: string, account: string): Promise<number> {
  const [row] = await bytesOfAccount(db, { tenantId, account });
  return row?.bytes ?? 0;
}

/** The accounts of a tenant with the most stored bytes, the largest first. */
export async function listLargestAccounts(
  db: Database,
  tenantId: string,
  limit: number,
): Promise<{ account: string; storedBytes: number }[]> {
  const rows = await db
    .selectFrom('account_bytes')
    .select(['account', 'bytes'])
    .where('tenant_id', '=', tenantId)
    .where('bytes', '>', 0)
    .orderBy('bytes', 'desc')
    .orderBy('account')
    .limit(limit)
    .execute();
  return rows.map(({ account, bytes }) => ({ account, storedBytes: bytes }));
}

/**
 * Counts what an account stored in traces. Call it at the end of a transaction: its row of `account_bytes` is the last lock that
 * the transaction takes, so that storing and removing spans cannot deadlock.
 *
 * @param traces the traces, with the account that sent each first
 */
export async function addAccountBytes(
  db: Database,
  place: PlaceColumns,
  account: string,
  traces: readonly { traceId: string; firstAccount: string; bytes: number }[],
): Promise<void> {
  const others = traces.filter(({ firstAccount }) => firstAccount !== account);
  await addTraceBytes(
    db,
    others.map(({ traceId, bytes }) => ({ traceId, bytes })),
    { ...place, account },
  );
  const bytes = traces.reduce((sum, trace) => sum + trace.bytes, 0);
  if (bytes > 0) await addBytes(db, { tenantId: place.tenant_id, account, bytes });
}

const addTraceBytes = multiRowStatement(
  (db, rows: readonly { traceId: string; bytes: number }[], shared: PlaceColumns & { account: string }) =>
    db
      .insertInto('trace_accounts')
      .values(
        rows.map(({ traceId, bytes }) => ({
          tenant_id: shared.tenant_id,
          sub_tenant_id: shared.sub_tenant_id,
          trace_id: traceId,
          account: shared.account,
          bytes,
        })),
      )
      .onConflict((conflict) =>
        conflict
          .columns(['tenant_id', 'sub_tenant_id', 'trace_id', 'account'])
          .doUpdateSet({ bytes: sql<number>`trace_accounts.bytes + excluded.bytes` }),
      ),
);

const addBytes = preparedStatement((db, row: { tenantId: string; account: string; bytes: number }) =>
  db
    .insertInto('account_bytes')
    .values({ tenant_id: row.tenantId, account: row.account, bytes: row.bytes })
    .onConflict((conflict) =>
      conflict
        .columns(['tenant_id', 'account'])
        .doUpdateSet({ bytes: sql<number>`account_bytes.bytes + excluded.bytes` }),
    ),
);

/** Gives the bytes of removed traces back to their accounts. Call it at the end of a transaction. */
export async function removeTracesOfAccounts(db: Database, traces: readonly ShrinkingTrace[]): Promise<void> {
  const keys = traces.map(({ tenant_id, sub_tenant_id, trace_id }) => ({ tenant_id, sub_tenant_id, trace_id }));
  const others = await selectOfTraces(db, keys, {});
  if (others.length > 0) await deleteOfTraces(db, keys, {});
  await subtractBytes(db, [
    ...firstAccounts(traces, others),
    ...others.map(({ tenant_id, account, bytes }) => ({ tenant_id, account, bytes })),
  ]);
}

/**
 * Gives a part of a trace's bytes back to its accounts. The bytes of single spans are not known, so every account gets the same
 * share of what it stored.
 *
 * @param trace as it was before
 * @param bytesLeft the bytes of the trace that stay
 */
export async function shrinkTraceOfAccounts(db: Database, trace: ShrinkingTrace, bytesLeft: number): Promise<void> {
  const { tenant_id, sub_tenant_id, trace_id } = trace;
  const others = await selectOfTraces(db, [{ tenant_id, sub_tenant_id, trace_id }], {});
  const shrunk = (bytes: number) =>
    trace.stored_bytes === 0 ? 0 : Math.floor((bytes * bytesLeft) / trace.stored_bytes);
  const removed: AccountBytes[] = [];
  let ofOthers = 0;
  for (const { account, bytes } of others) {
    await db
      .updateTable('trace_accounts')
      .set({ bytes: shrunk(bytes) })
      .where('tenant_id', '=', tenant_id)
      .where('sub_tenant_id', '=', sub_tenant_id)
      .where('trace_id', '=', trace_id)
      .where('account', '=', account)
      .execute();
    removed.push({ tenant_id, account, bytes: bytes - shrunk(bytes) });
    ofOthers += bytes - shrunk(bytes);
  }
  removed.push({ tenant_id, account: trace.account, bytes: trace.stored_bytes - bytesLeft - ofOthers });
  await subtractBytes(db, removed);
}

type AccountBytes = { tenant_id: string; account: string; bytes: number };

/** What the first account of each trace stored in it: the bytes that no other account added. */
function firstAccounts(
  traces: readonly ShrinkingTrace[],
  others: readonly (TraceKey & { bytes: number })[],
): AccountBytes[] {
  const added = new Map<string, number>();
  const keyOf = ({ tenant_id, sub_tenant_id, trace_id }: TraceKey) => `${tenant_id}\n${sub_tenant_id}\n${trace_id}`;
  for (const one of others) added.set(keyOf(one), (added.get(keyOf(one)) ?? 0) + one.bytes);
  return traces.map((trace) => ({
    tenant_id: trace.tenant_id,
    account: trace.account,
    bytes: trace.stored_bytes - (added.get(keyOf(trace)) ?? 0),
  }));
}

/** Subtracts in a fixed order of accounts, so that two transactions cannot deadlock. */
async function subtractBytes(db: Database, removed: readonly AccountBytes[]): Promise<void> {
  const sums = new Map<string, AccountBytes>();
  for (const { tenant_id, account, bytes } of removed) {
    const key = `${tenant_id}\n${account}`;
    const sum = sums.get(key) ?? { tenant_id, account, bytes: 0 };
    sums.set(key, sum);
    sum.bytes += bytes;
  }
  for (const [, { tenant_id, account, bytes }] of [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const ofAccount = db.updateTable('account_bytes').where('tenant_id', '=', tenant_id).where('account', '=', account);
    await ofAccount.set((eb) => ({ bytes: eb('bytes', '-', bytes) })).execute();
  }
}

const selectOfTraces = multiRowStatement((db, rows: readonly TraceKey[]) =>
  db.selectFrom('trace_accounts').selectAll().where(ofTraces(rows)),
);

const deleteOfTraces = multiRowStatement((db, rows: readonly TraceKey[]) =>
  db.deleteFrom('trace_accounts').where(ofTraces(rows)),
);

function ofTraces(rows: readonly TraceKey[]) {
  return tupleIn(
    ['tenant_id', 'sub_tenant_id', 'trace_id'],
    rows.map(({ tenant_id, sub_tenant_id, trace_id }) => [tenant_id, sub_tenant_id, trace_id]),
  );
}
