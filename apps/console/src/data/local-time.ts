/** The time of a local time in a zone, such as `2026-11-23T10:00`. Undefined if the text is not a time. */
export function instantOf(local: string, timeZone: string): string | undefined {
  const asUtc = Date.parse(`${local}Z`);
  if (Number.isNaN(asUtc)) return undefined;
  // The offset may differ between the first guess and the result, where summer time begins or ends.
  const guess = asUtc - offsetAt(asUtc, timeZone);
  return new Date(asUtc - offsetAt(guess, timeZone)).toISOString();
}

/** The local time in a zone, such as `2026-11-23T10:00`. Empty if the text is not a time. */
export function localTextOf(at: string | undefined, timeZone: string): string {
  const time = Date.parse(at ?? '');
  return Number.isNaN(time) ? '' : new Date(time + offsetAt(time, timeZone)).toISOString().slice(0, 16);
}

/** How far a zone is ahead of UTC at a time, in milliseconds. */
function offsetAt(time: number, timeZone: string): number {
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
  const name = format.formatToParts(time).find(({ type }) => type === 'timeZoneName')?.value ?? 'GMT';
  const [, sign = '+', hours = '0', minutes = '0'] = /GMT([+-])(\d+):(\d+)/.exec(name) ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}
