import { useMemo, useState } from 'react';
import { useUrlState, wholeNumber } from './url-state.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;

/** Periods that end now, in hours. */
export const PERIODS = [
  { value: '1', label: 'Last hour' },
  { value: '24', label: 'Last 24 hours' },
  { value: '168', label: 'Last 7 days' },
  { value: '720', label: 'Last 30 days' },
];

/** Periods of usage beside the usual 30 days. */
export const USAGE_PERIODS = [
  { value: '24', label: 'Last 24 hours' },
  { value: '168', label: 'Last 7 days' },
];

export type TimeRange = { from?: string; to?: string };

/**
 * The time range that the address says: `hours` before now, or `from` and `to`. The address has these in UTC, so that a link shows
 * the same range in every time zone.
 *
 * @param step what the ends are multiples of, in milliseconds. Both ends are rounded up, so that two ranges that follow each other
 *   have nothing in common. A range has at least one of them: while a person types, its end may be before its start
 */
export function useTimeRange(step: number): TimeRange {
  const [{ hours, from, to }] = useUrlState();
  const since = useStartOfPeriod(hours, step);
  const start = roundedUp(from, step) ?? (to === undefined ? since : undefined);
  const end = endAfter(start, roundedUp(to, step), step);
  return useMemo(
    () => ({ ...(start !== undefined && { from: start }), ...(end !== undefined && { to: end }) }),
    [start, end],
  );
}

function endAfter(start: string | undefined, end: string | undefined, step: number): string | undefined {
  if (start === undefined || end === undefined || end > start) return end;
  return new Date(Date.parse(start) + step).toISOString();
}

function roundedUp(text: string | undefined, step: number): string | undefined {
  if (text === undefined || !/^\d{4}-/.test(text)) return undefined;
  const time = Math.ceil(Date.parse(text) / step) * step;
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

/**
 * The start of a period that ends now, in whole hours. It stays the same while the screen is shown: a list continues only with the
 * filter that it began with.
 */
function useStartOfPeriod(hours: string | undefined, step: number): string | undefined {
  const [period, setPeriod] = useState(() => ({ hours, start: hoursAgo(hours, step) }));
  if (period.hours === hours) return period.start;
  const next = { hours, start: hoursAgo(hours, step) };
  setPeriod(next);
  return next.start;
}

/** From the end of this minute or hour, so that a list that was shown a moment ago is still known, and a day has 24 hours. */
function hoursAgo(text: string | undefined, step: number): string | undefined {
  const hours = wholeNumber(text);
  if (hours === undefined) return undefined;
  return new Date(Math.ceil(Date.now() / step) * step - hours * HOUR_MS).toISOString();
}
