import { type ExpressionBuilder, type SelectQueryBuilder, sql } from 'kysely';
import type { Database } from '../database.ts';
import { multiRowStatement } from '../prepared-statement.ts';
import type { Tables } from '../tables.ts';
import { placeOf, valueRows } from '../queries.ts';
import type { TenantPlace } from '../tenancy.ts';

/** The sums of usage. Whole numbers, so that the order of additions does not matter. */
export type UsageSums = {
  calls: number;
  errors: number;
  inputTokens: number;
  outputTokens: number;
  /** Parts of the input tokens. */
  cacheReadTokens: number;
  cacheWriteTokens: number;
  /** A part of the output tokens. */
  reasoningTokens: number;
  /** Microseconds. */
  durationUs: number;
};

export const NO_USAGE: Readonly<UsageSums> = {
  calls: 0,
  errors: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  durationUs: 0,
};

/** The names of the sums. */
export const USAGE_SUMS = Object.keys(NO_USAGE) as (keyof UsageSums)[];

export type Period = 'hour' | 'day';

export type Rollup = UsageSums & {
  seriesId: string;
  period: Period;
  /** The start of the hour or day: RFC 3339, UTC, milliseconds. */
  startTime: string;
} & CallTimes;

/** The times of the first and last call, in milliseconds since 1970. They stay if calls are taken back. */
export type CallTimes = { firstAt: number; lastAt: number };

const HOUR_MS = 60 * 60 * 1000;

type InTenant = Pick<TenantPlace, 'tenantId'>;

/** The upper limit of a sum. Ten thousand sums of this size still fit into 64 bits. */
const MAX_SUM = 9e14;

/**
 * Adds to sums, or subtracts from them (negative numbers). A sum stays between 0 and its upper limit. A sum that was cut at the
 * limit may be lower than what is subtracted later, so 0 is the lower bound. A row is deleted when all of its sums are 0.
 */
export async function addToRollups(db: Database, { tenantId }: InTenant, rollups: readonly Rollup[]): Promise<void> {
  const rows = rollups.map((rollup) => {
    const row = { ...rollup };
    for (const name of USAGE_SUMS) row[name] = Math.min(row[name], MAX_SUM);
    return row;
  });
  const lowered = rows.filter(hasNegativeSum).map(({ seriesId, period, startTime, firstAt, lastAt }) => ({
    seriesId,
    period,
    startTime,
    firstAt,
    lastAt,
  }));
  // Inserts missing rows with zeros first. Otherwise a subtraction would insert a row with negative sums.
  await upsertRows(
    db,
    lowered.map((key) => ({ ...key, ...NO_USAGE })),
    { tenantId },
  );
  await upsertRows(db, rows, { tenantId });
  await deleteZeroRows(db, lowered, { tenantId });
}

function hasNegativeSum(sums: UsageSums): boolean {
  return USAGE_SUMS.some((name) => sums[name] < 0);
}

type RollupKey = Pick<Rollup, 'seriesId' | 'period' | 'startTime'>;

const upsertRows = multiRowStatement((db, rows: readonly Rollup[], { tenantId }: { tenantId: string }) =>
  db
    .insertInto('usage_rollups')
    .values(
      rows.map((row) => ({
        tenant_id: tenantId,
        series_id: row.seriesId,
        period: row.period,
        start_time: row.startTime,
        calls: row.calls,
        errors: row.errors,
        input_tokens: row.inputTokens,
        output_tokens: row.outputTokens,
        cache_read_tokens: row.cacheReadTokens,
        cache_write_tokens: row.cacheWriteTokens,
        reasoning_tokens: row.reasoningTokens,
        duration_us: row.durationUs,
        first_at: row.firstAt,
        last_at: row.lastAt,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'series_id', 'period', 'start_time']).doUpdateSet({
        calls: added('calls'),
        errors: added('errors'),
        input_tokens: added('input_tokens'),
        output_tokens: added('output_tokens'),
        cache_read_tokens: added('cache_read_tokens'),
        cache_write_tokens: added('cache_write_tokens'),
        reasoning_tokens: added('reasoning_tokens'),
        duration_us: added('duration_us'),
        first_at: sql`case when excluded.first_at < usage_rollups.first_at then excluded.first_at else usage_rollups.first_at end`,
        last_at: sql`case when excluded.last_at > usage_rollups.last_at then excluded.last_at else usage_rollups.last_at end`,
      }),
    ),
);

function added(column: string) {
  const sum = sql<number>`${sql.ref(`usage_rollups.${column}`)} + ${sql.ref(`excluded.${column}`)}`;
  return sql<number>`case when ${sum} < 0 then 0 when ${sum} > ${sql.lit(MAX_SUM)} then ${sql.lit(MAX_SUM)} else ${sum} end`;
}

const deleteZeroRows = multiRowStatement((db, rows: readonly RollupKey[], { tenantId }: { tenantId: string }) =>
  db
    .deleteFrom('usage_rollups')
    .where('tenant_id', '=', tenantId)
    .where((eb) =>
      eb(
        eb.refTuple('series_id', 'period', 'start_time'),
        'in',
        rows.map((row) => eb.tuple(row.seriesId, row.period, row.startTime)),
      ),
    )
    .where('calls', '=', 0)
    .where('errors', '=', 0)
    .where('input_tokens', '=', 0)
    .where('output_tokens', '=', 0)
    .where('cache_read_tokens', '=', 0)
    .where('cache_write_tokens', '=', 0)
    .where('reasoning_tokens', '=', 0)
    .where('duration_us', '=', 0),
);

/** A range of rows of one period: from `from` (inclusive) to `to` (exclusive). */
export type RollupRange = { period: Period; from: string; to: string };

/**
 * The sums of some series in a range, for each hour or day, or for each series.
 *
 * @returns `rows` of each sum: how many stored rows it adds up. `lastAt`: the time of its last call, in milliseconds since 1970
 */
export async function readRollups(
  db: Database,
  { tenantId }: InTenant,
  seriesIds: readonly string[],
  { period, from, to, each }: RollupRange & { each: 'period' | 'series' },
): Promise<(UsageSums & { seriesId: string; startTime: string; rows: number; lastAt: number })[]> {
  if (seriesIds.length === 0) return [];
  const startTime = each === 'period' ? sql<string>`start_time` : sql<string>`''`;
  const query = db
    .selectFrom('usage_rollups')
    .select('series_id as seriesId')
    .select(startTime.as('startTime'))
    .select(({ fn }) => [fn.countAll<number>().as('rows'), fn.max('last_at').as('lastAt')])
    .select(sums)
    .where('tenant_id', '=', tenantId)
    .where('series_id', 'in', seriesIds)
    .where('period', '=', period)
    .where('start_time', '>=', from)
    .where('start_time', '<', to)
    .groupBy('series_id');
  const rows = await (each === 'period' ? query.groupBy('start_time') : query).execute();
  return rows.map((row) => ({
    seriesId: row.seriesId,
    startTime: row.startTime,
    rows: Number(row.rows),
    lastAt: Number(row.lastAt),
    ...numbers(row),
  }));
}

function sums({ fn }: ExpressionBuilder<Tables, 'usage_rollups'>) {
  return [
    fn.sum<number>('calls').as('calls'),
    fn.sum<number>('errors').as('errors'),
    fn.sum<number>('input_tokens').as('inputTokens'),
    fn.sum<number>('output_tokens').as('outputTokens'),
    fn.sum<number>('cache_read_tokens').as('cacheReadTokens'),
    fn.sum<number>('cache_write_tokens').as('cacheWriteTokens'),
    fn.sum<number>('reasoning_tokens').as('reasoningTokens'),
    fn.sum<number>('duration_us').as('durationUs'),
  ] as const;
}

/** Converts sums to numbers. Postgres sums integers to a numeric, which drivers may return as a text. */
function numbers(row: UsageSums): UsageSums {
  const sums = { ...NO_USAGE };
  for (const name of USAGE_SUMS) sums[name] = Number(row[name]);
  return sums;
}

const selectReporting = multiRowStatement(
  (
    db,
    rows: readonly { account: string }[],
    { tenantId, hour, since }: { tenantId: string; hour: string; since: number },
  ) =>
    db
      .with('asked(account)', () => valueRows<{ account: string }>(rows.map(({ account }) => [account])))
      .selectFrom('asked')
      .select('asked.account')
      // Stops at the first sum of each account.
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('usage_series as series')
            .innerJoin('usage_rollups as sums', (join) =>
              join.onRef('sums.tenant_id', '=', 'series.tenant_id').onRef('sums.series_id', '=', 'series.id'),
            )
            .select('series.id')
            .where('series.tenant_id', '=', tenantId)
            .whereRef('series.account', '=', 'asked.account')
            .where('sums.period', '=', 'hour')
            .where('sums.start_time', '>', hour)
            .where('sums.last_at', '>=', since),
        ),
      ),
);

/** The accounts among `accounts` whose telemetry reported calls that were made since a time. */
export async function findReportingAccounts(
  db: Database,
  { tenantId }: InTenant,
  accounts: readonly string[],
  since: Date,
): Promise<ReadonlySet<string>> {
  const asked = accounts.map((account) => ({ account }));
  const time = since.getTime();
  const rows = await selectReporting(db, asked, {
    tenantId,
    hour: new Date(time - HOUR_MS).toISOString(),
    since: time,
  });
  return new Set(rows.map(({ account }) => account));
}

/** The accounts whose telemetry reported calls at a provider since an hour, with the places of the calls. */
export async function listCallers(
  db: Database,
  { tenantId }: InTenant,
  { providerId, from }: { providerId: string; from: string },
): Promise<(TenantPlace & { account: string })[]> {
  const rows = await db
    .selectFrom('usage_series as series')
    .select(['series.tenant_id', 'series.sub_tenant_id', 'series.account'])
    .distinct()
    .where('series.tenant_id', '=', tenantId)
    .where('series.provider_id', '=', providerId)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('usage_rollups as sums')
          .select('sums.series_id')
          .whereRef('sums.tenant_id', '=', 'series.tenant_id')
          .whereRef('sums.series_id', '=', 'series.id')
          .where('sums.period', '=', 'hour')
          .where('sums.start_time', '>=', from)
          .where('sums.calls', '>', 0),
      ),
    )
    .execute();
  return rows.map((row) => ({ ...placeOf(row), account: row.account }));
}

/** Deletes the oldest sums of a tenant that begin before a time, at most `limit` rows. Returns how many. */
export function deleteRollupsBefore(
  db: Database,
  { tenantId, before, limit }: InTenant & { before: string; limit: number },
): Promise<number> {
  return deleteRollups(db, { tenantId }, (rollups) =>
    rollups.where('start_time', '<', before).orderBy('start_time').limit(limit),
  );
}

/** The ids of series that were merged into another one while their own sums are still stored, at most `limit`. */
export async function listMergedSeries(
  db: Database,
  { tenantId, limit }: InTenant & { limit: number },
): Promise<string[]> {
  const tenantRollups = sql`usage_rollups where tenant_id = ${tenantId}`;
  // One look-up in the index for each series. `distinct` would read all sums.
  const { rows } = await sql<{ id: string }>`
    with recursive stored(id) as (
      select (select min(series_id) from ${tenantRollups})
      union all
      select (select min(series_id) from ${tenantRollups} and series_id > stored.id) from stored where stored.id is not null
    )
    select id from stored
    where id is not null
    and not exists (select 1 from usage_series where tenant_id = ${tenantId} and usage_series.id = stored.id)
    limit ${sql.lit(limit)}`.execute(db);
  return rows.map(({ id }) => id);
}

/** Deletes the sums of some series, at most `limit` rows. Returns how many. */
export function deleteRollupsOf(
  db: Database,
  { tenantId, seriesIds, limit }: InTenant & { seriesIds: readonly string[]; limit: number },
): Promise<number> {
  return deleteRollups(db, { tenantId }, (rollups) => rollups.where('series_id', 'in', seriesIds).limit(limit));
}

type SelectedRollups = SelectQueryBuilder<Tables, 'usage_rollups', object>;

async function deleteRollups(
  db: Database,
  { tenantId }: InTenant,
  select: (rollups: SelectedRollups) => SelectedRollups,
): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('usage_rollups')
    .where('tenant_id', '=', tenantId)
    .where((eb) =>
      eb(
        eb.refTuple('series_id', 'period', 'start_time'),
        'in',
        select(eb.selectFrom('usage_rollups').where('tenant_id', '=', tenantId))
          .select(['series_id', 'period', 'start_time'])
          .$asTuple('series_id', 'period', 'start_time'),
      ),
    )
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

/** Deletes series without sums that were created before a time, at most `limit`. Returns how many. */
export async function deleteEmptySeries(
  db: Database,
  { tenantId, before, limit }: InTenant & { before: string; limit: number },
): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('usage_series')
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('usage_series as series')
        .select('series.id')
        .where('series.tenant_id', '=', tenantId)
        .where('series.created_at', '<', before)
        .where((inner) =>
          inner.not(
            inner.exists(
              inner
                .selectFrom('usage_rollups as sums')
                .select('sums.series_id')
                .whereRef('sums.tenant_id', '=', 'series.tenant_id')
                .whereRef('sums.series_id', '=', 'series.id'),
            ),
          ),
        )
        .limit(limit),
    )
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

/** The time range that one statement adds up, in milliseconds: 48 sums of each series. */
const ADDED_AT_ONCE: Record<Period, number> = { hour: 48 * HOUR_MS, day: 48 * 24 * HOUR_MS };

/**
 * Adds the sums of some series to another one, and deletes these series. Their own sums are not read any more.
 * {@link deleteRollupsOf} removes them later, because it takes twice as long as everything else.
 *
 * Spans with old times make thousands of sums of a series, and SQLite answers synchronously, so this adds a few
 * of them at a time.
 */
export async function mergeRollups(
  db: Database,
  { tenantId }: InTenant,
  { from, to }: { from: readonly string[]; to: string },
): Promise<void> {
  if (from.length === 0) return;
  for (const period of ['hour', 'day'] as const) {
    for (let since = ''; ; ) {
      const start = await findFirstStart(db, { tenantId }, { from, period, since });
      if (start === null) break;
      since = new Date(Date.parse(start) + ADDED_AT_ONCE[period]).toISOString();
      const added = await db
        .selectFrom('usage_rollups')
        .select('start_time')
        .select(sums)
        .select(({ fn }) => [fn.min('first_at').as('firstAt'), fn.max('last_at').as('lastAt')])
        .where('tenant_id', '=', tenantId)
        .where('series_id', 'in', from)
        .where('period', '=', period)
        .where('start_time', '>=', start)
        .where('start_time', '<', since)
        .groupBy('start_time')
        .execute();
      const rollups = added.map((row) => ({
        seriesId: to,
        period,
        startTime: row.start_time,
        firstAt: Number(row.firstAt),
        lastAt: Number(row.lastAt),
        ...numbers(row),
      }));
      await addToRollups(db, { tenantId }, rollups);
    }
  }
  await db.deleteFrom('usage_series').where('tenant_id', '=', tenantId).where('id', 'in', from).execute();
}

/** When the first sum of some series begins, at or after a time. Null if they have none. */
async function findFirstStart(
  db: Database,
  { tenantId }: InTenant,
  { from, period, since }: { from: readonly string[]; period: Period; since: string },
): Promise<string | null> {
  const rows = await db
    .selectFrom('usage_series as series')
    // A minimum for each series, because only that is one look-up in the index.
    .select(({ selectFrom }) =>
      selectFrom('usage_rollups as sums')
        .select(({ fn }) => fn.min('sums.start_time').as('start'))
        .whereRef('sums.tenant_id', '=', 'series.tenant_id')
        .whereRef('sums.series_id', '=', 'series.id')
        .where('sums.period', '=', period)
        .where('sums.start_time', '>=', since)
        .as('start'),
    )
    .where('series.tenant_id', '=', tenantId)
    .where('series.id', 'in', from)
    .execute();
  const starts = rows.flatMap(({ start }) => start ?? []);
  return starts.toSorted()[0] ?? null;
}
