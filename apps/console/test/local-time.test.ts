import { expect, test } from 'vitest';
import { instantOf, localTextOf } from '../src/data/local-time.ts';

test.each([
  ['Asia/Kolkata', '2026-11-28T00:00', '2026-11-27T18:30:00.000Z'],
  ['Asia/Kathmandu', '2026-11-28T10:15', '2026-11-28T04:30:00.000Z'],
  ['Pacific/Marquesas', '2026-03-10T00:00', '2026-03-10T09:30:00.000Z'],
  ['Europe/Paris', '2026-03-29T01:59', '2026-03-29T00:59:00.000Z'],
  ['Europe/Paris', '2026-03-29T03:00', '2026-03-29T01:00:00.000Z'],
  ['America/New_York', '2026-11-01T12:00', '2026-11-01T17:00:00.000Z'],
  ['UTC', '2026-11-28T00:00', '2026-11-28T00:00:00.000Z'],
])('in %s, %s is %s', (timeZone, local, instant) => {
  expect(instantOf(local, timeZone)).toBe(instant);
  expect(localTextOf(instant, timeZone)).toBe(local);
});

test('a text that is no time has no time, and no time has no text', () => {
  expect(instantOf('soon', 'UTC')).toBeUndefined();
  expect(instantOf('', 'UTC')).toBeUndefined();
  expect(localTextOf('soon', 'UTC')).toBe('');
  expect(localTextOf(undefined, 'UTC')).toBe('');
});
