import { expect, test } from 'vitest';
import { lowestIdAt, newAuditEventId, newId, newSelfServiceTenantId, newUserId } from '../src/ids.ts';
import { NOW } from './temporary-database.ts';

const PREFIXES = ['prov', 'inv', 'gw', 'obs', 'rec', 'task', 'man', 'key', 'ses', 'ten', 'sa', 'sig'] as const;

test.each(PREFIXES)('an id of %s has its prefix and 26 unambiguous characters', (prefix) => {
  expect(newId(prefix, NOW)).toMatch(new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`));
});

test('ids sort by time as text', () => {
  const times = [0, 1, 999, 1000, Date.parse('2026-03-01'), NOW.getTime(), NOW.getTime() + 1, Date.parse('2500-01-01')];
  const ids = times.map((time) => newId('prov', new Date(time)));
  expect(ids.toSorted()).toEqual(ids);
});

test('the lowest id of a time is a lower bound for ids of its millisecond and later', () => {
  const since = lowestIdAt('ses', NOW);
  const ids = [-1, 0, 1, 1000].map((shift) => newId('ses', new Date(NOW.getTime() + shift)));
  expect(ids.map((id) => id > since)).toEqual([false, true, true, true]);
});

test('ids of one millisecond share the time part and nothing else', () => {
  const ids = Array.from({ length: 10_000 }, () => newId('obs', NOW));
  expect(new Set(ids).size).toBe(10_000);
  expect(new Set(ids.map((id) => id.slice(0, 'obs_'.length + 10))).size).toBe(1);
  for (let at = 14; at < 30; at += 1) expect(new Set(ids.map((id) => id[at])).size).toBe(32);
});

test("a user's id does not reveal its time", () => {
  const ids = Array.from({ length: 10_000 }, newUserId);
  expect(new Set(ids).size).toBe(10_000);
  for (const id of ids) expect(id).toMatch(/^usr_[0-9a-hjkmnp-tv-z]{26}$/);
  // Every character takes every value, so none depends on a clock.
  for (let at = 4; at < 30; at += 1) expect(new Set(ids.map((id) => id[at])).size).toBe(32);
});

test('the id of a self-service tenant ends in random characters', () => {
  const ids = Array.from({ length: 10_000 }, () => newSelfServiceTenantId('acme'));
  expect(new Set(ids).size).toBe(10_000);
  for (const id of ids) expect(id).toMatch(/^acme-[0-9a-hjkmnp-tv-z]{10}$/);
  for (let at = 5; at < 15; at += 1) expect(new Set(ids.map((id) => id[at])).size).toBe(32);
});

test('ids of audit events increase within a millisecond, and when the clock goes back', () => {
  const clocks = [0, 0, 0, 5, 5, -60_000, -60_000, 6];
  const ids = clocks.map((shift) => newAuditEventId(new Date(NOW.getTime() + shift)));
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^aud_[0-9a-hjkmnp-tv-z]{26}$/);
});
