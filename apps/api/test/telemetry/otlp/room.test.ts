import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Place, Room } from '../../../src/telemetry/ingest/room.ts';

/** A room, and the order in which requests entered it. */
function roomOf(options: { total: number; ofTenant: number; maxWaitMs?: number }) {
  const room = new Room({ maxWaitMs: 60_000, ...options });
  const entered: string[] = [];
  const enter = async (tenant: string, amount: number): Promise<Place> => {
    const place = await room.enter(tenant, amount);
    entered.push(tenant);
    return place;
  };
  return { room, entered, enter };
}

test('a request that does not fit waits until another one leaves or shrinks', async () => {
  const { room, entered, enter } = roomOf({ total: 10, ofTenant: 10 });
  const first = await enter('a', 8);
  const second = enter('b', 6);
  await nextTurn();
  expect(entered).toEqual(['a']);
  first.shrink(4);
  const place = await second;
  expect(room.taken).toBe(10);
  first.leave();
  first.leave();
  place.leave();
  expect(room.taken).toBe(0);
});

test('tenants enter by turns, however long the line of one is', async () => {
  const { entered, enter } = roomOf({ total: 1, ofTenant: 1 });
  const first = await enter('a', 1);
  const waiting = ['a', 'a', 'a', 'b', 'b', 'c'].map(async (tenant) => (await enter(tenant, 1)).leave());
  first.leave();
  await Promise.all(waiting);
  expect(entered).toEqual(['a', 'a', 'b', 'c', 'a', 'b', 'a']);
});

test('a tenant that has its share waits without delaying others', async () => {
  const { entered, enter } = roomOf({ total: 10, ofTenant: 5 });
  const own = await enter('a', 5);
  const next = enter('a', 1);
  const other = await enter('b', 5);
  expect(entered).toEqual(['a', 'b']);
  own.leave();
  (await next).leave();
  other.leave();
});

test('small requests do not pass a large one that waits', async () => {
  const { entered, enter } = roomOf({ total: 10, ofTenant: 8 });
  const first = await enter('a', 6);
  const large = enter('b', 8);
  const small = enter('c', 1);
  const late = enter('c', 1);
  await nextTurn();
  first.leave();
  for (const place of await Promise.all([large, small, late])) place.leave();
  expect(entered).toEqual(['a', 'b', 'c', 'c']);
});

test('more than a tenant may take counts as all that it may take', async () => {
  const { room, enter } = roomOf({ total: 10, ofTenant: 5 });
  const place = await enter('a', 1000);
  expect(room.taken).toBe(5);
  place.leave();
  expect(room.taken).toBe(0);
});

test('a wait that is too long is refused with 429, and lets the next one in', async () => {
  const { room, enter } = roomOf({ total: 10, ofTenant: 10, maxWaitMs: 20 });
  const first = await enter('a', 6);
  await expect(enter('b', 8)).rejects.toMatchObject({ status: 429, headers: { 'Retry-After': '1' } });
  const second = await enter('b', 4);
  first.leave();
  second.leave();
  expect(room.taken).toBe(0);
});
