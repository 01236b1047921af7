import type { TimeParts } from '@quartermaster/db/nano-time.ts';

/**
 * A time as it was read from a request: nanoseconds since 1970 as an unsigned 64-bit number, in two exact numbers. Zero means
 * absent. Null means that it is out of range.
 */
export type RequestTime = TimeParts | null;

export const NO_TIME: TimeParts = { milliseconds: 0, nanoseconds: 0 };

const NANOS_PER_MILLI = 1_000_000;
const LATEST = 2n ** 64n - 1n;

/** @param low and `high`: the halves of the number, unsigned 32-bit numbers. A bigint would take several times as long */
export function timeOfHalves(low: number, high: number): TimeParts {
  // 2 ** 32 nanoseconds are 4294 ms and 967,296 ns. The sum is below 2 ** 53, so it is exact.
  const rest = high * 967_296 + low;
  const nanoseconds = rest % NANOS_PER_MILLI;
  return { milliseconds: high * 4294 + (rest - nanoseconds) / NANOS_PER_MILLI, nanoseconds };
}

export function timeOfInteger(nanos: bigint): RequestTime {
  if (nanos < 0n || nanos > LATEST) return null;
  return timeOfHalves(Number(nanos & 0xffff_ffffn), Number(nanos >> 32n));
}

export function isAbsent({ milliseconds, nanoseconds }: TimeParts): boolean {
  return milliseconds === 0 && nanoseconds === 0;
}

/** From one time to another, in nanoseconds. Exact up to 104 days. */
export function nanosecondsBetween(start: TimeParts, end: TimeParts): number {
  return (end.milliseconds - start.milliseconds) * NANOS_PER_MILLI + end.nanoseconds - start.nanoseconds;
}
