import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { DatabaseUnavailableError } from '../errors.ts';

/** Days whose partitions are made ahead. */
const DAYS_AHEAD = 7;

/** How far the clocks of processes may be apart, in milliseconds. */
const SKEW_MS = 3_600_000;

const DAY_MS = 24 * SKEW_MS;

/** What changes partitions waits so long for those who read; everyone else would wait behind it. In milliseconds. */
const LOCK_MS = 250;

const PARTITIONS_LOCK = 7_157_316_905_202n;

/** Where the rows stand whose day had no partition when they came in. */
const REST = 'span_blocks_rest';

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
      await sql`lock table only span_blocks in access exclusive mode`.execute(trx);
    }
    for (const day of missing) await makePartition(trx, day);
  });
}

/** Attached rather than created in its place: that way those who read and write other days go on. */
async function makePartition(trx: Database, { partition, from, to }: Day): Promise<void> {
  const [table, rest] = [sql.table(partition), sql.table(REST)];
  await sql`create table ${table} (like span_blocks including all)`.execute(trx);
  // A row of that day that came to the rest after the move would not let the day be attached. Attaching takes this lock
  // anyway; one that is less would have to be raised to it, across those who read and then write.
  await sql`lock table ${rest} in access exclusive mode`.execute(trx);
  await sql`
    with moved as (delete from ${rest} where created_at >= ${from} and created_at < ${to} returning *)
    insert into ${table} select * from moved`.execute(trx);
  await sql`
    alter table span_blocks attach partition ${table} for values from (${sql.lit(from)}) to (${sql.lit(to)})`.execute(
    trx,
  );
}

/**
 * Drops the partitions of past days that hold no block any more: `deleteTracesBefore` deletes a block with its last span.
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

/** The days that have a partition, the oldest first. */
async function listDays(db: Database): Promise<Day[]> {
  const { rows } = await sql<{ partition: string }>`
    select part.relname as partition from pg_inherits
    join pg_class as part on part.oid = inhrelid
    where inhparent = 'span_blocks'::regclass and part.relname <> ${REST} order by part.relname`.execute(db);
  return rows.map(({ partition }) => dayOf(Date.parse(partition.replace(/^span_blocks_(....)(..)(..)$/, '$1-$2-$3'))));
}

/** Not where another transaction reads the day for long: then at the next time. */
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
