import { type Expression, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { DatabaseUnavailableError } from '../errors.ts';
import { listRetentions } from '../repositories/tenants.ts';

/** Days whose partitions are made ahead. */
const DAYS_AHEAD = 7;

/** Rows removed by one statement. */
const ROWS_OF_BATCH = 5000;

/** How far the clocks of processes may be apart, in milliseconds. */
const SKEW_MS = 3_600_000;

const DAY_MS = 24 * SKEW_MS;

/** What changes partitions waits so long for those who read; everyone else would wait behind it. In milliseconds. */
const LOCK_MS = 250;

const PARTITIONS_LOCK = 7_157_316_905_202n;

/** Where the rows stand whose day had no partition when they came in. */
const REST = 'spans_rest';

/** A day of receipt: its partition, its first moment, and the next day's. As texts, which sort as times do. */
type Day = { partition: string; from: string; to: string };

/**
 * Makes the partitions of today and the next days where they are missing; shortly after midnight that of yesterday, too,
 * since for another process it may be today still.
 *
 * @throws {DatabaseUnavailableError} where somebody reads all days for too long; until then rows go to the rest
 */
export async function makeSpanPartitions(db: Database, now: Date): Promise<void> {
  const days = Array.from({ length: DAYS_AHEAD + 1 }, (_, index) => dayOf(now.getTime() - SKEW_MS + index * DAY_MS));
  const there = new Set((await listDays(db)).map(({ partition }) => partition));
  if (days.every(({ partition }) => there.has(partition))) return;
  await db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(${sql.lit(PARTITIONS_LOCK)})`.execute(trx);
    await sql`set local lock_timeout = ${sql.lit(LOCK_MS)}`.execute(trx);
    // Another process may have made them while this one waited.
    const made = new Set((await listDays(trx)).map(({ partition }) => partition));
    const missing = days.filter(({ partition }) => !made.has(partition));
    // Rows of a day that has begun may be in the rest already, and move. A reader that has planned its query waits for
    // the lock on the rest, then looks there and not in the new partition. Locking the parent makes it wait before it plans.
    if (missing.some(({ from }) => Date.parse(from) <= now.getTime() + SKEW_MS)) {
      await sql`lock table only spans in access exclusive mode`.execute(trx);
    }
    for (const day of missing) await makePartition(trx, day);
  });
}

/** Attached rather than created in its place: that way those who read and write other days go on. */
async function makePartition(trx: Database, { partition, from, to }: Day): Promise<void> {
  const [table, rest] = [sql.table(partition), sql.table(REST)];
  await sql`create table ${table} (like spans including all)`.execute(trx);
  // A row of that day that came to the rest after the move would not let the day be attached. Attaching takes this lock
  // anyway; one that is less would have to be raised to it, across those who read and then write.
  await sql`lock table ${rest} in access exclusive mode`.execute(trx);
  await sql`
    with moved as (delete from ${rest} where created_at >= ${from} and created_at < ${to} returning *)
    insert into ${table} select * from moved`.execute(trx);
  await sql`
    alter table spans attach partition ${table} for values from (${sql.lit(from)}) to (${sql.lit(to)})`.execute(trx);
}

/**
 * Removes what no trace speaks of any more. A day that holds nothing else is dropped with its partition; of days that
 * some tenants keep the others' rows are deleted in batches.
 *
 * @returns how many partitions were dropped, and how many rows deleted
 */
export async function removeExpiredSpans(db: Database, now: Date): Promise<{ dropped: number; deleted: number }> {
  const removed = { dropped: 0, deleted: 0 };
  const keptDays = new Map((await listRetentions(db)).map(({ tenantId, days }) => [tenantId, days]));
  for (const day of await listDays(db)) {
    if (Date.parse(day.to) + SKEW_MS > now.getTime()) continue;
    const tenants = await listTenantsOf(db, day);
    const keeping: string[] = [];
    for (const tenantId of tenants) if (await hasTracesOf(db, tenantId, day)) keeping.push(tenantId);
    if (keeping.length === 0) {
      if (await dropPartition(db, day)) removed.dropped += 1;
      continue;
    }
    for (const tenantId of tenants) {
      const kept = keeping.includes(tenantId);
      const days = keptDays.get(tenantId);
      // A trace that goes on for long keeps the day, not what else its tenant had on it.
      if (kept && (days === undefined || Date.parse(day.to) > now.getTime() - days * DAY_MS)) continue;
      removed.deleted += await deleteOrphans(db, day, tenantId);
    }
  }
  return removed;
}

/** The days of receipt that the spans of some traces may have: those of the traces' rows, give or take the clocks' skew. */
export function onDaysOf(times: { first: string; last: string }, column = 'created_at'): Expression<SqlBool> {
  const first = new Date(Date.parse(times.first) - SKEW_MS).toISOString();
  const last = new Date(Date.parse(times.last) + SKEW_MS).toISOString();
  return sql<SqlBool>`${sql.ref(column)} >= ${first} and ${sql.ref(column)} <= ${last}`;
}

function dayOf(time: number): Day {
  const from = new Date(time).toISOString().slice(0, 10);
  const to = new Date(Date.parse(from) + DAY_MS).toISOString().slice(0, 10);
  return { partition: `spans_${from.replaceAll('-', '')}`, from, to };
}

/** The days that have a partition, the oldest first. */
async function listDays(db: Database): Promise<Day[]> {
  const { rows } = await sql<{ partition: string }>`
    select part.relname as partition from pg_inherits
    join pg_class as part on part.oid = inhrelid
    where inhparent = 'spans'::regclass and part.relname <> ${REST} order by part.relname`.execute(db);
  return rows.map(({ partition }) => dayOf(Date.parse(partition.replace(/^spans_(....)(..)(..)$/, '$1-$2-$3'))));
}

/** The tenants that have rows of a day: one step of the index for each, however many rows it has. */
async function listTenantsOf(db: Database, { partition }: Day): Promise<string[]> {
  const table = sql.table(partition);
  const { rows } = await sql<{ tenant_id: string }>`
    with recursive tenant(tenant_id) as (
      (select tenant_id from ${table} order by tenant_id limit 1)
      union all
      select (select tenant_id from ${table} as day where day.tenant_id > tenant.tenant_id order by tenant_id limit 1)
      from tenant where tenant.tenant_id is not null)
    select tenant_id from tenant where tenant_id is not null`.execute(db);
  return rows.map(({ tenant_id: tenantId }) => tenantId);
}

/** Whether a tenant has a trace that began before the end of a day: its spans may stand there. */
async function hasTracesOf(db: Database, tenantId: string, { to }: Day): Promise<boolean> {
  const end = new Date(Date.parse(to) + SKEW_MS).toISOString();
  const traces = db.selectFrom('traces').select('trace_id').where('tenant_id', '=', tenantId);
  return (await traces.where('created_at', '<', end).limit(1).executeTakeFirst()) !== undefined;
}

/** Whether it was to be had: whoever reads keeps it until the next time. */
async function dropPartition(db: Database, { partition }: Day): Promise<boolean> {
  try {
    await db.transaction().execute(async (trx) => {
      await sql`set local lock_timeout = ${sql.lit(LOCK_MS)}`.execute(trx);
      await sql`drop table if exists ${sql.table(partition)}`.execute(trx);
    });
    return true;
  } catch (error) {
    if (error instanceof DatabaseUnavailableError) return false;
    throw error;
  }
}

/** Deletes a tenant's rows of a day that belong to no trace any more. Answers how many. */
async function deleteOrphans(db: Database, { partition }: Day, tenantId: string): Promise<number> {
  const table = sql.table(partition);
  let deleted = 0;
  for (let batch = ROWS_OF_BATCH; batch === ROWS_OF_BATCH; deleted += batch) {
    const { numAffectedRows = 0n } = await sql`
      delete from ${table} where ctid = any(array(
        select span.ctid from ${table} as span where span.tenant_id = ${tenantId} and not exists (
          select 1 from traces as trace where trace.tenant_id = span.tenant_id
            and trace.sub_tenant_id = span.sub_tenant_id and trace.trace_id = span.trace_id)
        limit ${ROWS_OF_BATCH}))`.execute(db);
    batch = Number(numAffectedRows);
  }
  return deleted;
}
