import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { DatabaseUnavailableError } from '../errors.ts';

/** Days whose partitions are created ahead. */
const DAYS_AHEAD = 7;

/** The tolerated clock skew between processes, in milliseconds. */
const SKEW_MS = 3_600_000;

const DAY_MS = 24 * SKEW_MS;

/**
 * How long a change of partitions waits for readers, in milliseconds. It is short, because all other statements queue behind
 * the waiting lock.
 */
const LOCK_MS = 250;

const PARTITIONS_LOCK = 7_157_316_905_202n;

/** The default partition: rows whose day had no partition when they were inserted. */
const DEFAULT_PARTITION = 'span_blocks_rest';

/** A day of receipt: its partition, its start (inclusive) and its end (exclusive), as texts that sort in the order of time. */
type Day = { partition: string; from: string; to: string };

/**
 * Creates the missing partitions of today and the next days. Shortly after midnight that includes yesterday, since the clock of
 * another process may be behind.
 *
 * @throws {DatabaseUnavailableError} if another transaction reads all days for too long. Rows go to the default partition then.
 */
export async function createSpanPartitions(db: Database, now: Date): Promise<void> {
  const days = Array.from({ length: DAYS_AHEAD + 1 }, (_, index) => dayOf(now.getTime() - SKEW_MS + index * DAY_MS));
  const there = new Set((await listDays(db)).map(({ partition }) => partition));
  if (days.every(({ partition }) => there.has(partition))) return;
  await db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(${sql.lit(PARTITIONS_LOCK)})`.execute(trx);
    await sql`set local lock_timeout = ${sql.lit(LOCK_MS)}`.execute(trx);
    // Another process may have created them while this one waited.
    const made = new Set((await listDays(trx)).map(({ partition }) => partition));
    const missing = days.filter(({ partition }) => !made.has(partition));
    // Rows of a day that has begun may be in the default partition, and are moved. A reader that has planned its query would
    // wait for the lock on the default partition, and then not look in the new one. A lock on the parent makes it wait before
    // planning.
    if (missing.some(({ from }) => Date.parse(from) <= now.getTime() + SKEW_MS)) {
      await sql`lock table only span_blocks in access exclusive mode`.execute(trx);
    }
    for (const day of missing) await createPartition(trx, day);
  });
}

/** Creates a table and attaches it. Creating it as a partition would block readers and writers of other days. */
async function createPartition(trx: Database, { partition, from, to }: Day): Promise<void> {
  const [table, defaultPartition] = [sql.table(partition), sql.table(DEFAULT_PARTITION)];
  await sql`create table ${table} (like span_blocks including all)`.execute(trx);
  // If a row of that day were inserted into the default partition after the move, attaching would fail. Attaching takes this lock
  // anyway. A weaker lock would have to be upgraded, and could deadlock with transactions that read and then write.
  await sql`lock table ${defaultPartition} in access exclusive mode`.execute(trx);
  await sql`
    with moved as (delete from ${defaultPartition} where created_at >= ${from} and created_at < ${to} returning *)
    insert into ${table} select * from moved`.execute(trx);
  await sql`
    alter table span_blocks attach partition ${table} for values from (${sql.lit(from)}) to (${sql.lit(to)})`.execute(
    trx,
  );
}

/**
 * Drops the empty partitions of past days. `deleteTracesBefore` deletes a block with its last span.
 *
 * @returns how many were dropped
 */
export async function dropEmptyPartitions(db: Database, now: Date): Promise<number> {
  let dropped = 0;
  for (const day of await listDays(db)) {
    if (Date.parse(day.to) + SKEW_MS > now.getTime()) continue;
    if (await dropIfEmpty(db, day)) dropped += 1;
  }
  return dropped;
}

function dayOf(time: number): Day {
  const from = new Date(time).toISOString().slice(0, 10);
  const to = new Date(Date.parse(from) + DAY_MS).toISOString().slice(0, 10);
  return { partition: `span_blocks_${from.replaceAll('-', '')}`, from, to };
}

/** The days with a partition, oldest first. */
async function listDays(db: Database): Promise<Day[]> {
  const { rows } = await sql<{ partition: string }>`
    select part.relname as partition from pg_inherits
    join pg_class as part on part.oid = inhrelid
    where inhparent = 'span_blocks'::regclass and part.relname <> ${DEFAULT_PARTITION} order by part.relname`.execute(
    db,
  );
  return rows.map(({ partition }) => dayOf(Date.parse(partition.replace(/^span_blocks_(....)(..)(..)$/, '$1-$2-$3'))));
}

/** Drops a partition if it is empty. If another transaction reads it for too long, the next run tries again. */
async function dropIfEmpty(db: Database, { partition }: Day): Promise<boolean> {
  const table = sql.table(partition);
  const isEmpty = async (trx: Database) => (await sql`select 1 from ${table} limit 1`.execute(trx)).rows.length === 0;
  if (!(await isEmpty(db))) return false;
  try {
    return await db.transaction().execute(async (trx) => {
      await sql`set local lock_timeout = ${sql.lit(LOCK_MS)}`.execute(trx);
      await sql`lock table ${table} in access exclusive mode`.execute(trx);
      if (!(await isEmpty(trx))) return false;
      await sql`drop table ${table}`.execute(trx);
      return true;
    });
  } catch (error) {
    if (error instanceof DatabaseUnavailableError) return false;
    throw error;
  }
}
