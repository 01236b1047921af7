import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Usage, UsageDimension, UsageInterval } from '@quartermaster/contracts/usage.ts';
import type { Database } from '@quartermaster/db/database.ts';
import type { Page, PageKey, PageRequest } from '@quartermaster/db/queries.ts';
import { type RollupRange, readRollups, type UsageSums } from '@quartermaster/db/repositories/usage-rollups.ts';
import { listSeries, type UsageFilter, type UsageSeries } from '@quartermaster/db/repositories/usage-series.ts';
import type { TenantScope } from '@quartermaster/db/tenancy.ts';
import { valueError } from '../../errors.ts';
import { rangesOf, type TimeRange, timeRange } from './time-range.ts';

export type UsageQuery = {
  interval: UsageInterval;
  groupBy: readonly UsageDimension[];
  from?: string | null | undefined;
  to?: string | null | undefined;
  filter: UsageFilter;
};

/** Series and rows that one query reads at the most. */
const MAX_SERIES = 50_000;
const MAX_ROWS = 200_000;

/** Series, or sums, that a query reads for one point of the rate limits beyond the point of the request. */
const SERIES_OF_POINT = 200;
const ROWS_OF_POINT = 2000;

/** Read before the event loop gets a turn: an embedded database answers without giving it one. */
const SERIES_AT_ONCE = 1000;
const SERIES_OF_STATEMENT = 100;

type Group = { usage: Usage; key: string };

/**
 * One page of sums, by start and then by what they are grouped by. Each page adds up the whole range again; how much that
 * may be is limited.
 *
 * @param charge takes points of the rate limits for what was read
 * @throws 422 for a range that is empty or too long, and for a query that would have to read too much
 */
export async function usagePage(
  db: Database,
  scope: TenantScope,
  { interval, groupBy, filter, ...asked }: UsageQuery,
  { limit, after, charge }: PageRequest & { charge: (points: number) => Promise<void> },
  now: Date,
): Promise<Page<Usage>> {
  const position = after && positionOf(after);
  // The pages of one list have one range, though time goes on.
  const range = position?.range ?? timeRange(interval, asked, now);
  const from = position?.start && position.start > range.from ? position.start : range.from;
  const ranges = rangesOf(interval, { ...range, from });
  const groups = await groupsOf(db, scope, {
    ranges,
    each: interval === 'all' ? 'series' : 'period',
    groupBy,
    filter,
    charge,
  });
  const behind = [...groups.values()]
    .filter(({ usage: { calls, errors } }) => calls !== 0 || errors !== 0)
    .toSorted((a, b) => (isBehind(a, b) ? 1 : -1))
    .filter((group) => position === null || isBehind(group, position));
  const shown = behind.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: shown.map(({ usage }) => usage),
    next: last && behind.length > limit ? keyOf(last, range) : null,
  };
}

type Wanted = {
  ranges: readonly RollupRange[];
  each: 'period' | 'series';
  groupBy: readonly UsageDimension[];
  filter: UsageFilter;
  charge: (points: number) => Promise<void>;
};

async function groupsOf(db: Database, scope: TenantScope, wanted: Wanted): Promise<Map<string, Group>> {
  const read = { series: 0, rows: 0 };
  try {
    return await readGroups(db, scope, wanted, read);
  } finally {
    // Also for a query that is refused because it reads too much.
    await wanted.charge(Math.floor(read.series / SERIES_OF_POINT) + Math.floor(read.rows / ROWS_OF_POINT));
  }
}

/** @param read counts what was read */
async function readGroups(
  db: Database,
  scope: TenantScope,
  { ranges, each, groupBy, filter }: Wanted,
  read: { series: number; rows: number },
): Promise<Map<string, Group>> {
  const groups = new Map<string, Group>();
  let after: UsageSeries | null = null;
  for (;;) {
    const series: UsageSeries[] = await listSeries(db, scope, filter, { after, limit: SERIES_AT_ONCE });
    read.series += series.length;
    if (read.series > MAX_SERIES) throw tooMuch(`more than ${MAX_SERIES} combinations of provider, name and agent`);
    for (const [tenantId, ofTenant] of Map.groupBy(series, (one) => one.tenantId)) {
      for (let start = 0; start < ofTenant.length; start += SERIES_OF_STATEMENT) {
        const some = new Map(ofTenant.slice(start, start + SERIES_OF_STATEMENT).map((one) => [one.id, one]));
        for (const range of ranges) {
          const rows = await readRollups(db, { tenantId }, [...some.keys()], { ...range, each });
          for (const row of rows) {
            const own = some.get(row.seriesId);
            if (own) add(groups, { series: own, start: each === 'series' ? null : row.startTime, groupBy }, row);
            read.rows += row.rows;
          }
        }
        if (read.rows > MAX_ROWS) throw tooMuch(`more than ${MAX_ROWS} sums`);
        await yieldToEventLoop();
      }
    }
    after = series.at(-1) ?? null;
    if (series.length < SERIES_AT_ONCE) return groups;
  }
}

function tooMuch(what: string) {
  return valueError(['query', 'from'], `this would add up ${what}: ask for less time, or filter`);
}

function add(
  groups: Map<string, Group>,
  { series, start, groupBy }: { series: UsageSeries; start: string | null; groupBy: readonly UsageDimension[] },
  sums: UsageSums,
): void {
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
    durationMs: 0,
  };
  // Of the variants of a name always the same one is shown.
  if (usage.name !== null) usage.name = shorter(usage.name, series.name);
  usage.calls = sum(usage.calls, sums.calls);
  usage.errors = sum(usage.errors, sums.errors);
  usage.inputTokens = sum(usage.inputTokens, sums.inputTokens);
  usage.outputTokens = sum(usage.outputTokens, sums.outputTokens);
  usage.durationMs = (usage.durationMs * 1000 + sums.durationUs) / 1000;
  if (!found) groups.set(`${start} ${key}`, { usage, key });
}

function shorter(a: string, b: string): string {
  if (a.length !== b.length) return a.length < b.length ? a : b;
  return a < b ? a : b;
}

function sum(a: number, b: number): number {
  return Math.min(a + b, Number.MAX_SAFE_INTEGER);
}

type Position = { range: TimeRange; start: string | null; key: string };

function isBehind(group: Group, other: Group | Position): boolean {
  const [a, b] = [startOf(group), startOf(other)];
  return a === b ? group.key > other.key : a > b;
}

function startOf(one: Group | Position): string {
  return ('usage' in one ? one.usage.start : one.start) ?? '';
}

function keyOf({ usage, key }: Group, { from, to }: TimeRange): PageKey {
  return [`${from} ${to} ${usage.start ?? ''}`, key];
}

function positionOf([times, key]: PageKey): Position {
  const [from = '', to = '', start = ''] = times.split(' ');
  return { range: { from, to }, start: start === '' ? null : start, key };
}
