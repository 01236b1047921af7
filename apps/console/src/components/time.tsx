import { type ReactNode, useSyncExternalStore } from 'react';
import { useTimeZone } from '../data/time-zone.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const ABSOLUTE = {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'short',
} as const;

const MINUTES = { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' } as const;

const DATE = { year: 'numeric', month: 'short', day: 'numeric' } as const;

const OPTIONS = { absolute: ABSOLUTE, minute: MINUTES, date: DATE };

/** Making a format takes some milliseconds, and a table needs it for each row. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(name: keyof typeof OPTIONS, timeZone: string): Intl.DateTimeFormat {
  const key = `${name} ${timeZone}`;
  const known = formats.get(key);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat('en-GB', { ...OPTIONS[name], timeZone });
  formats.set(key, made);
  return made;
}

/** A time as people say it, with the exact one and its zone on hover. */
export function Time({ at, fallback = 'never' }: { at: string | null | undefined; fallback?: string }): ReactNode {
  const now = useNow();
  const timeZone = useTimeZone();
  if (at === null || at === undefined) return <span className="dim">{fallback}</span>;
  return (
    <time dateTime={at} title={absoluteTime(at, timeZone)}>
      {relativeTime(Date.parse(at), now, timeZone)}
    </time>
  );
}

/** `23 Nov 2026, 14:05:09 CET (Europe/Paris)`. */
function absoluteTime(at: string, timeZone: string): string {
  return `${formatOf('absolute', timeZone).format(new Date(at))} (${timeZone})`;
}

/** `23 Nov, 14:05`. */
export function formatMinute(at: string, timeZone: string): string {
  return formatOf('minute', timeZone).format(new Date(at));
}

/** `5 min ago`, `in 3 days`; after a month the date. */
function relativeTime(time: number, now: number, timeZone: string): string {
  const distance = Math.abs(now - time);
  // The clock of the page may be a tick behind.
  if (distance < MINUTE) return now >= time - TICK_MS ? 'just now' : 'in a moment';
  if (distance > 31 * DAY) return formatOf('date', timeZone).format(time);
  const duration = spanOf(distance);
  return now >= time ? `${duration} ago` : `in ${duration}`;
}

function spanOf(distance: number): string {
  if (distance < HOUR) return `${Math.floor(distance / MINUTE)} min`;
  if (distance < DAY) return `${Math.floor(distance / HOUR)} h`;
  const days = Math.floor(distance / DAY);
  return days === 1 ? '1 day' : `${days} days`;
}

/** One clock for the whole page, so that hundreds of times do not need hundreds of timers. */
const TICK_MS = 15_000;
const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (timer === undefined) {
    // Nothing has ticked since the last time was shown. React reads the clock again after it subscribes.
    now = Date.now();
    timer = setInterval(() => {
      now = Date.now();
      for (const each of listeners) each();
    }, TICK_MS);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}
