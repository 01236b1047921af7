const NUMBER = new Intl.NumberFormat('en');
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** The largest number that is written out in full. */
const MAX_PLAIN = 9999;

export function formatNumber(value: number): string {
  return NUMBER.format(value);
}

/** `1,234`, but `1.2M`. */
export function formatCompact(value: number): string {
  return Math.abs(value) > MAX_PLAIN ? COMPACT.format(value) : NUMBER.format(value);
}

/** `1.5 GiB`. */
export function formatBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(4, Math.floor(Math.log2(bytes) / 10));
  const unit = ['B', 'KiB', 'MiB', 'GiB', 'TiB'][power];
  return `${Number((bytes / 1024 ** power).toPrecision(3))} ${unit}`;
}

const DOLLARS = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD' });
const EXACT_DOLLARS = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD', maximumFractionDigits: 6 });

/** A cost in millionths of a dollar: `$1,234.50`, but `$0.0042`. */
export function formatMicroUsd(amount: number): string {
  const dollars = amount / 1e6;
  return dollars === 0 || dollars >= 0.01
    ? DOLLARS.format(dollars)
    : EXACT_DOLLARS.format(Number(dollars.toPrecision(2)));
}

/** A price in millionths of a dollar, with all of its digits: `$0.0375`. */
export function formatPrice(amount: number): string {
  return EXACT_DOLLARS.format(amount / 1e6);
}

/** Dollars that a person writes as millionths of a dollar. Null for what is not an amount, or has more than six decimals. */
export function parseMicroUsd(text: string): number | null {
  const [, whole, decimals = ''] = /^(\d{1,6})(?:\.(\d{1,6}))?$/.exec(text.trim()) ?? [];
  return whole === undefined ? null : Number(whole) * 1e6 + Number(decimals.padEnd(6, '0'));
}

/** A duration in three significant digits: `0.4 ms`, `72 ms`, `1.35 s`, `2 min 5 s`, `24 h`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1) return `${Number(milliseconds.toPrecision(2))} ms`;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${Number(seconds.toPrecision(3))} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h${minutes % 60 === 0 ? '' : ` ${minutes % 60} min`}`;
}

const UNITS = [
  [24 * 3600, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
] as const;

/** An interval in the largest unit that divides it: `every hour`, `every 90 minutes`. */
export function formatInterval(seconds: number): string {
  const [length, unit] = UNITS.find(([one]) => seconds % one === 0) ?? [1, 'second'];
  return seconds === length ? `every ${unit}` : `every ${plural(seconds / length, unit)}`;
}

/** `1 item`, `2 items`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatNumber(count)} ${count === 1 ? one : many}`;
}

/** `register_item` as people read it. */
export function words(identifier: string): string {
  return identifier.replaceAll('_', ' ');
}
