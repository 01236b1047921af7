import type { UsageInterval } from '@quartermaster/contracts/usage.ts';
import type { RollupRange } from '@quartermaster/db/repositories/usage-rollups.ts';
import { valueError } from '../../platform/errors.ts';
import { DAY_MS, HOUR_MS } from '../periods.ts';

/** The longest range of one query, in days. */
const MAX_DAYS: Record<UsageInterval, number> = { hour: 31, day: 3660, all: 3660 };
const DEFAULT_DAYS: Record<UsageInterval, number> = { hour: 1, day: 30, all: 30 };

/** RFC 3339 has no other years. In milliseconds since 1970. */
const EARLIEST = Date.parse('0000-01-01T00:00:00Z');
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

/** RFC 3339, UTC, with milliseconds. `to` is exclusive. */
export type TimeRange = { from: string; to: string };

/**
 * The range of a query, extended to whole hours or whole days.
 *
 * @throws 422 if the range is empty or too long, or ends after the year 9999
 */
export function timeRange(
  interval: UsageInterval,
  { from, to }: { from?: string | null | undefined; to?: string | null | undefined },
  now: Date,
): TimeRange {
  const step = interval === 'day' ? DAY_MS : HOUR_MS;
  const end = Math.ceil((to == null ? now.getTime() : Date.parse(to)) / step) * step;
  const begin = from == null ? end - DEFAULT_DAYS[interval] * DAY_MS : Math.floor(Date.parse(from) / step) * step;
  if (begin < EARLIEST || end > LATEST) {
    const part = from == null || end > LATEST ? 'to' : 'from';
    throw valueError(['query', part], 'the range should be within the years 0000 to 9999', part === 'to' ? to : from);
  }
  if (begin >= end) throw valueError(['query', 'from'], '`from` should be before `to`', from);
  if (end - begin > MAX_DAYS[interval] * DAY_MS) {
    const rule = `\`from\` should be at most ${MAX_DAYS[interval]} days before \`to\` for the interval ${interval}`;
    throw valueError(['query', 'from'], rule, from);
  }
  return { from: new Date(begin).toISOString(), to: new Date(end).toISOString() };
}

/** The rows to add up for a range: the sums of whole days, and of the hours before and after them. */
export function rangesOf(interval: UsageInterval, { from, to }: TimeRange): RollupRange[] {
  if (interval !== 'all') return [{ period: interval, from, to }];
  const [firstDay, lastDay] = [
    Math.ceil(Date.parse(from) / DAY_MS) * DAY_MS,
    Math.floor(Date.parse(to) / DAY_MS) * DAY_MS,
  ];
  if (firstDay >= lastDay) return [{ period: 'hour', from, to }];
  const [days, end] = [new Date(firstDay).toISOString(), new Date(lastDay).toISOString()];
  const ranges: RollupRange[] = [
    { period: 'hour', from, to: days },
    { period: 'day', from: days, to: end },
    { period: 'hour', from: end, to },
  ];
  return ranges.filter((range) => range.from < range.to);
}
