import type { UsageInterval } from '@quartermaster/contracts/usage.ts';
import type { RollupRange } from '@quartermaster/db/repositories/usage-rollups.ts';
import { valueError } from '../../platform/errors.ts';
import { DAY_MS, HOUR_MS } from '../periods.ts';

/** The longest range of one query, in days. */
const MAX_DAYS: Record<UsageInterval, number> = { hour: 31, day: 3660, all: 3660 };
const DEFAULT_DAYS: Record<UsageInterval, number> = { hour: 1, day: 30, all: 30 };

/** RFC 3339 has no earlier years. In milliseconds since 1970. */
const EARLIEST = Date.parse('0000-01-01T00:00:00Z');

/** RFC 3339, UTC, with milliseconds. `to` is exclusive. */
export type TimeRange = { from: string; to: string };

/**
 * The range of a query. Sums are stored for hours and days of UTC. A range that ends between two of them is refused: extended to
 * whole hours, two ranges that follow each other would both count the hour between them.
 *
 * @throws 422 if the range ends between two sums, is empty or too long, or begins before the year 0
 */
export function timeRange(
  interval: UsageInterval,
  { from, to }: { from?: string | null | undefined; to?: string | null | undefined },
  now: Date,
): TimeRange {
  const step = interval === 'day' ? DAY_MS : HOUR_MS;
  requireBoundary('from', from, step);
  requireBoundary('to', to, step);
  const end = to == null ? Math.ceil(now.getTime() / step) * step : Date.parse(to);
  const begin = from == null ? end - DEFAULT_DAYS[interval] * DAY_MS : Date.parse(from);
  if (begin < EARLIEST) throw valueError(['query', 'to'], 'the range should begin in the year 0000 or later', to);
  if (begin >= end) throw valueError(['query', 'from'], '`from` should be before `to`', from);
  if (end - begin > MAX_DAYS[interval] * DAY_MS) {
    const rule = `\`from\` should be at most ${MAX_DAYS[interval]} days before \`to\` for the interval ${interval}`;
    throw valueError(['query', 'from'], rule, from);
  }
  return { from: new Date(begin).toISOString(), to: new Date(end).toISOString() };
}

/** @throws 422 if a time is not the start of an hour or day */
function requireBoundary(part: 'from' | 'to', time: string | null | undefined, step: number): void {
  const rest = time == null ? 0 : Date.parse(time) % step;
  if (rest === 0) return;
  const what = step === DAY_MS ? 'midnight in UTC for the interval day' : 'a full hour in UTC';
  const round = part === 'from' ? Math.floor : Math.ceil;
  const example = new Date(round(Date.parse(time ?? '') / step) * step).toISOString();
  const rule = `\`${part}\` should be ${what}, such as ${example}, because usage is added up by these`;
  throw valueError(['query', part], rule, time);
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
