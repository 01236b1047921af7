import { expect, test } from 'vitest';
import { RateLimit, type TakePoints, WINDOW_MS } from '../../src/http/rate-limits/rate-limit.ts';

const START = Date.parse('2026-03-01T12:00:00Z');

type Clock = { now: () => Date; travel: (ms: number) => void };

function clock(): Clock {
  let time = START;
  return {
    now: () => new Date(time),
    travel: (ms) => {
      time += ms;
    },
  };
}

const caller = (id: string) => ({ tenantId: 'acme', id });

function limitOf(limit: number, { now }: Clock, takePoints: TakePoints | null = null) {
  return new RateLimit({ policy: 'test', limit, now, takePoints });
}

/** An in-memory counter table that several processes share. */
function table(): { take: TakePoints; asked: () => number } {
  const totals = new Map<string, number>();
  let asked = 0;
  const take: TakePoints = async (policy, { id }, windowStart, points) => {
    asked += 1;
    const name = JSON.stringify([policy, id, windowStart]);
    const total = (totals.get(name) ?? 0) + points;
    totals.set(name, total);
    return total;
  };
  return { take, asked: () => asked };
}

test('a caller has the limit in each minute, and each answer says how many points are left', async () => {
  const time = clock();
  const limit = limitOf(3, time);
  time.travel(15_000);
  const counts = [];
  for (let count = 0; count < 5; count += 1) counts.push(await limit.count(caller('a')));
  expect(counts).toEqual([
    { allowed: true, limit: 3, remaining: 2, resetSeconds: 45, refusals: 0 },
    { allowed: true, limit: 3, remaining: 1, resetSeconds: 45, refusals: 0 },
    { allowed: true, limit: 3, remaining: 0, resetSeconds: 45, refusals: 0 },
    { allowed: false, limit: 3, remaining: 0, resetSeconds: 45, refusals: 1 },
    { allowed: false, limit: 3, remaining: 0, resetSeconds: 45, refusals: 2 },
  ]);
  expect(limit.isExhausted(caller('a'))).toBe(true);
  expect(await limit.count(caller('b'))).toMatchObject({ allowed: true, remaining: 2 });
  time.travel(44_999);
  expect(await limit.count(caller('a'))).toMatchObject({ allowed: false, resetSeconds: 1 });
  time.travel(1);
  expect(limit.isExhausted(caller('a'))).toBe(false);
  expect(await limit.count(caller('a'))).toEqual({
    allowed: true,
    limit: 3,
    remaining: 2,
    resetSeconds: 60,
    refusals: 0,
  });
});

test('checking whether a limit is reached takes no points, and does not add the caller', async () => {
  const limit = limitOf(1, clock());
  for (let count = 0; count < 10; count += 1) expect(limit.isExhausted(caller('a'))).toBe(false);
  expect([limit.hasCounted(caller('a')), limit.callers]).toEqual([false, 0]);
  expect(await limit.count(caller('a'))).toMatchObject({ allowed: true });
});

test('processes that share a limit never exceed it together, and read the table rarely', async () => {
  const time = clock();
  const { take, asked } = table();
  const processes = Array.from({ length: 4 }, () => limitOf(1000, time, take));
  for (let window = 1; window <= 2; window += 1) {
    let allowed = 0;
    await Promise.all(
      processes.map(async (limit) => {
        for (let count = 0; count < 400; count += 1) {
          if ((await limit.count(caller('a'))).allowed) allowed += 1;
        }
      }),
    );
    expect(allowed).toBe(1000);
    // 50 points at a time, and one read of each process that finds none left.
    expect(asked()).toBeLessThanOrEqual(window * (1000 / 50 + processes.length));
    for (const limit of processes) expect(limit.isExhausted(caller('a'))).toBe(true);
    time.travel(WINDOW_MS);
  }
});

test('points that a request took beyond a portion are subtracted from the next ones, shared or not', async () => {
  const time = clock();
  for (const take of [null, table().take]) {
    const limit = limitOf(100, time, take);
    let points = 0;
    for (let count = 0; count < 50; count += 1) if ((await limit.count(caller('a'), 8)).allowed) points += 8;
    // The last request may take more points than are left.
    expect(points).toBe(104);
    expect(await limit.count(caller('a'))).toMatchObject({ allowed: false, remaining: 0 });
  }
});

test('regression: a limit that is lowered counts at once, although the process holds a larger portion of the former one', async () => {
  for (const take of [null, table().take]) {
    const limit = limitOf(1000, clock(), take);
    const allowedOf = async (most: number, requests: number) => {
      let allowed = 0;
      for (let count = 0; count < requests; count += 1) {
        if ((await limit.count({ ...caller('a'), limit: most })).allowed) allowed += 1;
      }
      return allowed;
    };
    expect(await allowedOf(1000, 9)).toBe(9);
    expect(await allowedOf(10, 20)).toBe(1);
    // Raised again, it is as if it had not been lowered, except for the portion that was taken.
    expect(await allowedOf(1000, 2000)).toBe(take === null ? 990 : 950);
  }
});

test('the remaining points are those of the process plus those that no process has taken', async () => {
  const time = clock();
  const { take } = table();
  const [one, other] = [limitOf(100, time, take), limitOf(100, time, take)];
  expect((await one.count(caller('a'))).remaining).toBe(99);
  expect((await other.count(caller('a'))).remaining).toBe(94);
});

test('concurrent requests that wait for points cause one read', async () => {
  const { take, asked } = table();
  const limit = limitOf(1000, clock(), take);
  const counts = await Promise.all(Array.from({ length: 50 }, async () => limit.count(caller('a'))));
  expect(counts.every(({ allowed }) => allowed)).toBe(true);
  expect(asked()).toBe(1);
});

test('if the table cannot be read, the process counts alone until the window ends', async () => {
  const time = clock();
  let away = true;
  const { take } = table();
  const limit = limitOf(10, time, async (...asked) => (away ? null : take(...asked)));
  const allowed = async (times: number) => {
    let count = 0;
    for (let turn = 0; turn < times; turn += 1) if ((await limit.count(caller('a'))).allowed) count += 1;
    return count;
  };
  expect(await allowed(30)).toBe(10);
  away = false;
  expect(await allowed(30)).toBe(0);
  time.travel(WINDOW_MS);
  expect(await allowed(30)).toBe(10);
});
