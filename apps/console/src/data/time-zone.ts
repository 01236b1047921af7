import { useMe } from './me.ts';

/** Used unless the user chose another one in the profile. */
export const BROWSER_TIME_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The zone of every time on every screen. */
export function useTimeZone(): string {
  return useMe().timeZone ?? BROWSER_TIME_ZONE;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Midnight in a zone, some days after a day such as `2026-11-23`. Undefined if the text is not a day. */
export function startOfDay(day: string, { timeZone, daysLater }: { timeZone: string; daysLater: number }) {
  const asUtc = Date.parse(`${day}T00:00:00Z`) + daysLater * DAY_MS;
  if (Number.isNaN(asUtc)) return undefined;
  // The offset may differ between the first guess and the result, where summer time begins or ends.
  const guess = asUtc - offsetAt(asUtc, timeZone);
  return new Date(asUtc - offsetAt(guess, timeZone)).toISOString();
}

/** How far a zone is ahead of UTC at a time, in milliseconds. */
function offsetAt(time: number, timeZone: string): number {
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
  const name = format.formatToParts(time).find(({ type }) => type === 'timeZoneName')?.value ?? 'GMT';
  const [, sign = '+', hours = '0', minutes = '0'] = /GMT([+-])(\d+):(\d+)/.exec(name) ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}
