import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { rowStatement } from '../row-statement.ts';
import type { TenantPlace } from '../tenancy.ts';

/** What is summed up. Whole numbers, so that the order of additions makes no difference. */
export type UsageSums = {
  calls: number;
  errors: number;
  inputTokens: number;
  outputTokens: number;
  /** Microseconds. */
  durationUs: number;
};

export type Period = 'hour' | 'day';

export type Rollup = UsageSums & {
  seriesId: string;
  period: Period;
  /** RFC 3339, UTC, milliseconds: when the hour or the day begins. */
  startTime: string;
};

type InTenant = Pick<TenantPlace, 'tenantId'>;

/** No sum grows beyond it: ten thousand of them still add up to a 64-bit number. */
const MAX_SUM = 9e14;

/** Adds to sums, or subtracts from them (negative numbers). A row whose sums become 0 is removed. */
export async function addToRollups(db: Database, { tenantId }: InTenant, rollups: readonly Rollup[]): Promise<void> {
  const rows = rollups.map(({ calls, errors, inputTokens, outputTokens, durationUs, ...key }) => ({
    ...key,
    calls,
    errors,
    inputTokens,
    outputTokens,
    durationUs,
  }));
  await upsertRows(db, rows, { tenantId });
  const lowered = rollups
    .filter(({ calls }) => calls < 0)
    .map(({ seriesId, period, startTime }) => ({
      seriesId,
      period,
      startTime,
    }));
  await deleteZeroRows(db, lowered, { tenantId });
}

const upsertRows = rowStatement((db, rows: readonly Rollup[], { tenantId }: { tenantId: string }) =>
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
        duration_us: row.durationUs,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'series_id', 'period', 'start_time']).doUpdateSet({
        calls: added('calls'),
        errors: added('errors'),
        input_tokens: added('input_tokens'),
        output_tokens: added('output_tokens'),
        duration_us: added('duration_us'),
      }),
    ),
);

function added(column: string) {
  const sum = sql<number>`${sql.ref(`usage_rollups.${column}`)} + ${sql.ref(`excluded.${column}`)}`;
  return sql<number>`case when ${sum} > ${sql.lit(MAX_SUM)} then ${sql.lit(MAX_SUM)} else ${sum} end`;
}

type RollupKey = Pick<Rollup, 'seriesId' | 'period' | 'startTime'>;

const deleteZeroRows = rowStatement((db, rows: readonly RollupKey[], { tenantId }: { tenantId: string }) =>
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
    .where('duration_us', '=', 0),
);

/** Rows of one period that begin at `from` or later, and before `to`. */
export type RollupRange = { period: Period; from: string; to: string };

/**
 * The sums of some series in a range: a row for each hour or day, or one for each series.
 *
 * @returns with each row how many rows were added up in it
 */
export async function readRollups(
  db: Database,
  { tenantId }: InTenant,
  seriesIds: readonly string[],
  { period, from, to, each }: RollupRange & { each: 'period' | 'series' },
): Promise<(UsageSums & { seriesId: string; startTime: string; rows: number })[]> {
  if (seriesIds.length === 0) return [];
  const startTime = each === 'period' ? sql<string>`start_time` : sql<string>`''`;
  const query = db
    .selectFrom('usage_rollups')
    .select('series_id as seriesId')
    .select(startTime.as('startTime'))
    .select(({ fn }) => [
      fn.countAll<number>().as('rows'),
      fn.sum<number>('calls').as('calls'),
      fn.sum<number>('errors').as('errors'),
      fn.sum<number>('input_tokens').as('inputTokens'),
      fn.sum<number>('output_tokens').as('outputTokens'),
      fn.sum<number>('duration_us').as('durationUs'),
    ])
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
    calls: Number(row.calls),
    errors: Number(row.errors),
    inputTokens: Number(row.inputTokens),
    outputTokens: Number(row.outputTokens),
    durationUs: Number(row.durationUs),
  }));
}

/** Removes the oldest sums of a tenant that begin before a time, at most `limit` rows. Answers how many. */
export async function deleteRollupsBefore(
  db: Database,
  { tenantId, before, limit }: InTenant & { before: string; limit: number },
): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('usage_rollups')
    .where('tenant_id', '=', tenantId)
    .where((eb) =>
      eb(
        eb.refTuple('series_id', 'period', 'start_time'),
        'in',
        eb
          .selectFrom('usage_rollups')
          .select(['series_id', 'period', 'start_time'])
          .where('tenant_id', '=', tenantId)
          .where('start_time', '<', before)
          .orderBy('start_time')
          .limit(limit)
          .$asTuple('series_id', 'period', 'start_time'),
      ),
    )
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

/** Removes series that have no sums (any more) and were made before a time, at most `limit`. Answers how many. */
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

/** Moves the sums of some series to another one, and removes the series. */
export async function moveRollups(
  db: Database,
  { tenantId }: InTenant,
  { from, to }: { from: readonly string[]; to: string },
): Promise<void> {
  if (from.length === 0) return;
  const moved = await db
    .selectFrom('usage_rollups')
    .select(['period', 'start_time'])
    .select(({ fn }) => [
      fn.sum<number>('calls').as('calls'),
      fn.sum<number>('errors').as('errors'),
      fn.sum<number>('input_tokens').as('inputTokens'),
      fn.sum<number>('output_tokens').as('outputTokens'),
      fn.sum<number>('duration_us').as('durationUs'),
    ])
    .where('tenant_id', '=', tenantId)
    .where('series_id', 'in', from)
    .groupBy(['period', 'start_time'])
    .execute();
  const rollups = moved.map((row) => ({
    seriesId: to,
    period: row.period,
    startTime: row.start_time,
    calls: Number(row.calls),
    errors: Number(row.errors),
    inputTokens: Number(row.inputTokens),
    outputTokens: Number(row.outputTokens),
    durationUs: Number(row.durationUs),
  }));
  await addToRollups(db, { tenantId }, rollups);
  await db.deleteFrom('usage_rollups').where('tenant_id', '=', tenantId).where('series_id', 'in', from).execute();
  await db.deleteFrom('usage_series').where('tenant_id', '=', tenantId).where('id', 'in', from).execute();
}
