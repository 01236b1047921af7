import type { Database } from '@quartermaster/db/database.ts';
import { type RollupRange, readRollups, type UsageSums } from '@quartermaster/db/repositories/usage-rollups.ts';
import { yieldWhenDue } from '@quartermaster/db/turns.ts';
import { DAY_MS, HOUR_MS } from '../periods.ts';
import type { PricedSeries, Pricer } from '../pricing/pricer.ts';
import { CostSum, type TokenPrice } from '../pricing/token-price.ts';

/** Series whose sums are read with one statement. Then the event loop gets a turn. Fewer of a long range, which may have many sums. */
const BATCH_SIZE = { least: 10, most: 100, sums: 5000 };

/** The sums of a series in one hour or day, or in a range in which its price does not change. */
export type PricedSums<Series> = UsageSums & {
  series: Series;
  startTime: string;
  /** How many stored sums it adds up. */
  rows: number;
  /** The time of its last call, in milliseconds since 1970. */
  lastAt: number;
  /** Null for what is not a model, or has no price. */
  price: TokenPrice | null;
};

/**
 * Reads the sums of series of one tenant in batches, with their prices. Sums of a whole range are read as such, unless a price changes
 * in it.
 */
export async function* readPricedSums<Series extends PricedSeries>(
  db: Database,
  pricer: Pricer,
  {
    tenantId,
    series,
    ranges,
    each,
  }: {
    tenantId: string;
    series: readonly Series[];
    ranges: readonly RollupRange[];
    each: 'period' | 'series';
  },
): AsyncGenerator<{ series: readonly Series[]; sums: readonly PricedSums<Series>[] }, void, undefined> {
  const batchSize = batchSizeOf(ranges);
  for (let start = 0; start < series.length; start += batchSize) {
    const batch = series.slice(start, start + batchSize);
    const byId = new Map(batch.map((one) => [one.id, one]));
    const histories = await pricer.historiesOf(tenantId, batch);
    const sums: PricedSums<Series>[] = [];
    for (const range of ranges) {
      const changes = [...histories.values()].some((history) => history.changesBetween(range.from, range.to));
      const rows = await readRollups(db, { tenantId }, [...byId.keys()], { ...range, each: changes ? 'period' : each });
      for (const row of rows) {
        const one = byId.get(row.seriesId);
        if (one === undefined) continue;
        const price = histories.get(row.seriesId)?.priceAt(row.startTime === '' ? range.from : row.startTime) ?? null;
        sums.push({ ...row, series: one, price });
      }
    }
    yield { series: batch, sums };
    await yieldWhenDue();
  }
}

/** Adds sums to a cost, if they are calls of a model. */
export function addCost(cost: CostSum, { series, price, ...sums }: PricedSums<PricedSeries>): void {
  if (series.kind === 'model') cost.add(price, sums);
}

function batchSizeOf(ranges: readonly RollupRange[]): number {
  const sumsOf = ({ period, from, to }: RollupRange) =>
    (Date.parse(to) - Date.parse(from)) / (period === 'hour' ? HOUR_MS : DAY_MS);
  const sums = Math.max(1, ...ranges.map(sumsOf));
  return Math.max(BATCH_SIZE.least, Math.min(BATCH_SIZE.most, Math.floor(BATCH_SIZE.sums / sums)));
}
