import { assert, bigInt, property } from 'fast-check';
import { expect, test } from 'vitest';
import { isAbsent, nanosecondsBetween, timeOfHalves, timeOfInteger } from '../../../src/telemetry/otlp/time.ts';

const LATEST = 2n ** 64n - 1n;
const nanoseconds = bigInt({ min: 0n, max: LATEST });

function expected(nanos: bigint) {
  return { milliseconds: Number(nanos / 1_000_000n), nanoseconds: Number(nanos % 1_000_000n) };
}

test('every unsigned 64-bit number of nanoseconds is read exactly', () => {
  assert(
    property(nanoseconds, (nanos) => {
      expect(timeOfInteger(nanos)).toEqual(expected(nanos));
    }),
    { numRuns: 2000 },
  );
  for (const nanos of [0n, 1n, 999_999n, 1_000_000n, 2n ** 32n - 1n, 2n ** 32n, LATEST]) {
    expect(timeOfInteger(nanos)).toEqual(expected(nanos));
  }
  expect(timeOfHalves(0xffff_ffff, 0xffff_ffff)).toEqual(expected(LATEST));
});

test('other numbers are no times', () => {
  expect(timeOfInteger(-1n)).toBeNull();
  expect(timeOfInteger(LATEST + 1n)).toBeNull();
});

test('zero means absent', () => {
  expect([0n, 1n, 1_000_000n].map((nanos) => isAbsent(expected(nanos)))).toEqual([true, false, false]);
});

test('the time between two times is exact, and negative if they are in the wrong order', () => {
  const start = 1_795_512_998_977_123_456n;
  expect(nanosecondsBetween(expected(start), expected(start + 41_000_137n))).toBe(41_000_137);
  expect(nanosecondsBetween(expected(start + 1n), expected(start))).toBe(-1);
});
