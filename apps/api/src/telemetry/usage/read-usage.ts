import type { Usage, UsageDimension, UsageInterval, UsageOrder } from '@quartermaster/contracts/usage.ts';
import type { Database } from '@quartermaster/db/database.ts';
import type { Page, PageKey, PageRequest } from '@quartermaster/db/queries.ts';
import type { RollupRange } from '@quartermaster/db/repositories/usage-rollups.ts';
import { listSeries, type UsageFilter, type UsageSeries } from '@quartermaster/db/repositories/usage-series.ts';
import type { TenantScope } from '@quartermaster/db/tenancy.ts';
import { valueError } from '../../platform/errors.ts';
import { firstInOrder } from '@quartermaster/db/first-in-order.ts';
import { TOKEN_COUNTS } from '../calls/call-span.ts';
import { Pricer } from '../pricing/pricer.ts';
import { CostSum } from '../pricing/token-price.ts';
import { addCost, type PricedSums, readPricedSums } from './priced-sums.ts';
import { rangesOf, type TimeRange, timeRange } from './time-range.ts';

export type UsageQuery = {
  interval: UsageInterval;
  groupBy: readonly UsageDimension[];
  from?: string | null | undefined;
  to?: string | null | undefined;
  filter: UsageFilter;
  sort?: UsageOrder | null | undefined;
};

/** The maximum number of series and rows that one query reads. */
const MAX_SERIES = 50_000;
const MAX_ROWS = 200_000;

/** How many series or rows cost one point of the rate limits, in addition to the point of the request. */
const SERIES_PER_POINT = 200;
const ROWS_PER_POINT = 2000;

/** Series that are listed with one statement. */
const SERIES_PAGE_SIZE = 1000;

/** Usage whose cost is not rounded yet. */
type UncostedUsage = Omit<Usage, 'cost'>;

type Group = SummedGroup & { key: string };

/**
 * Reads one page of sums: the largest of `sort` first, then by start, then by group. Each page adds up the whole range again, so the amount that a
 * query reads is limited.
 *
 * @param charge charges points of the rate limits for what was read
 * @throws 422 if the range is empty or too long, or if the query reads too much
 */
export async function usagePage(
  db: Database,
  scope: TenantScope,
  { interval, groupBy, filter, sort = null, ...asked }: UsageQuery,
  { limit, after, charge }: PageRequest & { charge: (points: number) => Promise<void> },
  now: Date,
): Promise<Page<Usage> & { range: TimeRange }> {
  const position = after && positionOf(after);
  // All pages of one list have the range of the first page.
  const range = position?.range ?? timeRange(interval, asked, now);
  const since = sort === null ? position?.start : null;
  const from = since && since > range.from ? since : range.from;
  const ranges = rangesOf(interval, { ...range, from });
  const groups = await sumGroups(db, scope, {
    ranges,
    each: interval === 'all' ? 'series' : 'period',
    groupBy,
    filter,
    charge,
  });
  const wanted = groups
    .values()
    .filter((group) => isUsed(group) && (position === null || isAfter(group, position, sort)));
  const remaining = await firstInOrder(wanted, limit + 1, (a, b) => isAfter(b, a, sort));
  const items = remaining.slice(0, limit);
  const last = items.at(-1);
  return {
    range,
    items: items.map(({ usage, cost }) => ({ ...usage, cost: cost.toCost() })),
    next: last && remaining.length > limit ? keyOf(last, range, sort) : null,
  };
}

/** The sums of a time range, unordered. `nameKey` is null if they are not grouped by name. */
export type SummedUsage = { range: TimeRange; groups: SummedGroup[] };
/** `lastAt`: the time of the last call, in milliseconds since 1970. */
export type SummedGroup = { usage: UncostedUsage; cost: CostSum; nameKey: string | null; lastAt: number };

/**
 * Adds up the usage of a whole time range for each group.
 *
 * @param charge charges points of the rate limits for what was read
 * @throws 422 if the range is empty or too long, or if the query reads too much
 */
export async function sumUsage(
  db: Database,
  scope: TenantScope,
  { groupBy, filter, from, to }: Omit<UsageQuery, 'interval' | 'sort'>,
  charge: (points: number) => Promise<void>,
  now: Date,
): Promise<SummedUsage> {
  const range = timeRange('all', { from, to }, now);
  const groups = await sumGroups(db, scope, {
    ranges: rangesOf('all', range),
    each: 'series',
    groupBy,
    filter,
    charge,
  });
  return { range, groups: [...groups.values()].filter(isUsed) };
}

function isUsed({ usage: { calls, errors } }: Group): boolean {
  return calls !== 0 || errors !== 0;
}

type GroupQuery = {
  ranges: readonly RollupRange[];
  each: 'period' | 'series';
  groupBy: readonly UsageDimension[];
  filter: UsageFilter;
  charge: (points: number) => Promise<void>;
};

async function sumGroups(db: Database, scope: TenantScope, query: GroupQuery): Promise<Map<string, Group>> {
  const read = { series: 0, rows: 0 };
  try {
    return await readGroups(db, scope, query, read);
  } finally {
    // A query that is refused because it reads too much is charged as well.
    await query.charge(Math.floor(read.series / SERIES_PER_POINT) + Math.floor(read.rows / ROWS_PER_POINT));
  }
}

/** @param read is increased by what was read */
async function readGroups(
  db: Database,
  scope: TenantScope,
  { ranges, each, groupBy, filter }: GroupQuery,
  read: { series: number; rows: number },
): Promise<Map<string, Group>> {
  const groups = new Map<string, Group>();
  const pricer = new Pricer(db);
  let after: UsageSeries | null = null;
  for (;;) {
    const series: UsageSeries[] = await listSeries(db, scope, filter, { after, limit: SERIES_PAGE_SIZE });
    read.series += series.length;
    if (read.series > MAX_SERIES) throw tooMuch(`more than ${MAX_SERIES} combinations of provider, name and agent`);
    for (const [tenantId, tenantSeries] of Map.groupBy(series, (entry) => entry.tenantId)) {
      const batches = readPricedSums(db, pricer, { tenantId, series: tenantSeries, ranges, each });
      for await (const { sums } of batches) {
        for (const row of sums) {
          add(groups, { start: each === 'series' ? null : row.startTime, groupBy }, row);
          read.rows += row.rows;
        }
        if (read.rows > MAX_ROWS) throw tooMuch(`more than ${MAX_ROWS} sums`);
      }
    }
    after = series.at(-1) ?? null;
    if (series.length < SERIES_PAGE_SIZE) return groups;
  }
}

function tooMuch(what: string) {
  return valueError(['query', 'from'], `this query would read ${what}. Use a shorter time range or a filter`);
}

function add(
  groups: Map<string, Group>,
  { start, groupBy }: { start: string | null; groupBy: readonly UsageDimension[] },
  sums: PricedSums<UsageSeries>,
): void {
  const { series } = sums;
  const by = new Set(groupBy);
  const subTenantId = by.has('sub_tenant') ? series.subTenantId : null;
  const providerId = by.has('provider') ? series.providerId : null;
  const kind = by.has('kind') ? series.kind : null;
  const nameKey = by.has('name') ? series.nameKey : null;
  const agent = by.has('agent') ? series.agent : null;
  const account = by.has('account') ? series.account : null;
  const key = JSON.stringify([series.tenantId, subTenantId, providerId, kind, nameKey, agent, account]);
  const found = groups.get(`${start} ${key}`);
  const usage = found?.usage ?? {
    tenantId: series.tenantId,
    subTenantId,
    start,
    providerId,
    kind,
    name: nameKey === null ? null : series.name,
    agent,
    account,
    calls: 0,
    errors: 0,
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    durationMs: 0,
  };
  const cost = found?.cost ?? new CostSum();
  // Of several spellings of a name the shortest is shown, so that the answer does not depend on their order.
  if (usage.name !== null) usage.name = shorter(usage.name, series.name);
  for (const name of COUNTS) usage[name] = Math.min(usage[name] + sums[name], Number.MAX_SAFE_INTEGER);
  usage.durationMs = (usage.durationMs * 1000 + sums.durationUs) / 1000;
  addCost(cost, sums);
  const lastAt = Math.max(found?.lastAt ?? 0, sums.lastAt);
  groups.set(`${start} ${key}`, { usage, cost, key, nameKey, lastAt });
}

function shorter(a: string, b: string): string {
  if (a.length !== b.length) return a.length < b.length ? a : b;
  return a < b ? a : b;
}

const COUNTS = ['calls', 'errors', ...TOKEN_COUNTS] as const;

type Position = { range: TimeRange; start: string | null; value: number; key: string };

type Sort = UsageOrder | null;

function isAfter(group: Group, reference: Group | Position, sort: Sort): boolean {
  const [value, referenceValue] = [valueOf(group, sort), valueOf(reference, sort)];
  if (value !== referenceValue) return value < referenceValue;
  const [a, b] = [startOf(group), startOf(reference)];
  return a === b ? group.key > reference.key : a > b;
}

function valueOf(entry: Group | Position, sort: Sort): number {
  if (!('usage' in entry)) return entry.value;
  if (sort === null) return 0;
  if (sort === 'cost') return entry.cost.rank();
  const { inputTokens, outputTokens } = entry.usage;
  return sort === 'tokens' ? inputTokens + outputTokens : entry.usage[sort];
}

function startOf(entry: Group | Position): string {
  return ('usage' in entry ? entry.usage.start : entry.start) ?? '';
}

function keyOf(group: Group, { from, to }: TimeRange, sort: Sort): PageKey {
  return [[from, to, group.usage.start ?? '', valueOf(group, sort)].join(' '), group.key];
}

function positionOf([place, key]: PageKey): Position {
  const [from = '', to = '', start = '', value = '0'] = place.split(' ');
  return { range: { from, to }, start: start === '' ? null : start, value: Number(value), key };
}
