import { setImmediate as nextTurn } from 'node:timers/promises';
import { currentTurn, runAsWriter } from '@quartermaster/db/tenant-context.ts';
import { yieldWhenDue } from '@quartermaster/db/turns.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type Kind, Scheduler } from '../src/platform/scheduler.ts';

/** A caller that waits for no other. */
const callerOf = (name: string) => ({ name, tenant: name });

/** Starts work that goes on until it is ended. */
function startWork(scheduler: Scheduler, name: string, started: string[], kind: Kind = 'write') {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = scheduler.run(callerOf(name), kind, () => {
    started.push(name);
    return promise;
  });
  return { done, end: resolve };
}

/** Lets several turns of the event loop pass. */
async function passTurns(count = 10): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await nextTurn();
}

/** A scheduler that has seen a request of another caller. */
async function besideOthers(): Promise<Scheduler> {
  const scheduler = new Scheduler();
  for (const name of ['a', 'b']) await scheduler.run(callerOf(name), 'write', async () => {});
  return scheduler;
}

test('many requests of the only caller run at once', async () => {
  const scheduler = new Scheduler();
  const started: string[] = [];
  const works = Array.from({ length: 100 }, () => startWork(scheduler, 'a', started));
  await passTurns();
  expect(started).toHaveLength(100);
  expect(scheduler.active).toBe(100);
  for (const { end } of works) end();
  await Promise.all(works.map(({ done }) => done));
  expect(scheduler.active).toBe(0);
});

test('beside other callers, four writes of a caller run, and the rest wait in order; those of another caller do not wait', async () => {
  const scheduler = await besideOthers();
  const started: string[] = [];
  const works = Array.from({ length: 10 }, () => startWork(scheduler, 'a', started));
  const other = startWork(scheduler, 'b', started);
  await passTurns();
  expect(started.toSorted()).toEqual(['a', 'a', 'a', 'a', 'b']);
  works[0]?.end();
  await works[0]?.done;
  await passTurns();
  expect(started.filter((name) => name === 'a')).toHaveLength(5);
  for (const { end } of [...works, other]) end();
  await Promise.all([...works, other].map(({ done }) => done));
  expect(started.filter((name) => name === 'a')).toHaveLength(10);
});

test('reads do not wait for writes, and the users of a tenant do not wait for its accounts', async () => {
  const scheduler = await besideOthers();
  const works = Array.from({ length: 20 }, () => startWork(scheduler, 'acme', []));
  expect(await scheduler.run(callerOf('acme'), 'read', async () => 'read')).toBe('read');
  const users = { name: 'users of acme', tenant: 'acme' };
  expect(await scheduler.run(users, 'write', async () => 'written')).toBe('written');
  for (const { end } of works) end();
  await Promise.all(works.map(({ done }) => done));
});

test('work that fails makes room for the next', async () => {
  const scheduler = await besideOthers();
  const failing = Array.from({ length: 20 }, () =>
    scheduler.run(callerOf('a'), 'write', () => Promise.reject(new Error('no'))),
  );
  const results = await Promise.allSettled(failing);
  expect(results.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 'rejected'));
  expect(await scheduler.run(callerOf('a'), 'write', async () => 'works')).toBe('works');
});

test('a full line answers 429, with the time that its first request has waited as Retry-After', async () => {
  const scheduler = await besideOthers();
  let now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => void vi.restoreAllMocks());
  const works = Array.from({ length: 504 }, () => startWork(scheduler, 'a', []));
  now += 2500;
  await expect(scheduler.run(callerOf('a'), 'write', async () => {})).rejects.toMatchObject({
    status: 429,
    headers: { 'Retry-After': '3' },
  });
  expect(await scheduler.run(callerOf('b'), 'write', async () => 'not affected')).toBe('not affected');
  for (const { end } of works) end();
  await Promise.all(works.map(({ done }) => done));
});

test('a request that has waited until its deadline is refused with 429, and the ones behind it go on', async () => {
  const scheduler = await besideOthers();
  const works = Array.from({ length: 4 }, () => startWork(scheduler, 'a', []));
  const late = scheduler.run(callerOf('a'), 'write', async () => {}, performance.now() + 20);
  const behind = scheduler.run(callerOf('a'), 'write', async () => 'works');
  await expect(late).rejects.toMatchObject({ status: 429, headers: { 'Retry-After': '1' } });
  for (const { end } of works) end();
  expect(await behind).toBe('works');
  await Promise.all(works.map(({ done }) => done));
});

test('the deadline of a request is known to everything that it waits for', async () => {
  const scheduler = new Scheduler();
  const deadline = scheduler.deadline();
  expect(deadline - performance.now()).toBeLessThan(10_000);
  await scheduler.run(
    callerOf('a'),
    'write',
    async () => {
      expect(currentTurn()?.deadline).toBe(deadline);
    },
    deadline,
  );
});

test('in each turn of the event loop each tenant continues one request, and its transaction', async () => {
  const scheduler = await besideOthers();
  let now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => void vi.restoreAllMocks());
  const order: string[] = [];
  /** Works for 5 ms at a time. */
  const parts = async (name: string) => {
    for (let part = 0; part < 12; part += 1) {
      order.push(name);
      now += 5;
      await yieldWhenDue();
    }
  };
  const work = (tenant: string, name: string, isWriter = false) =>
    scheduler.run({ name: `${tenant} ${name}`, tenant }, 'write', () =>
      isWriter ? runAsWriter(() => parts(name)) : parts(name),
    );
  await Promise.all([
    work('heavy', 'h1'),
    work('heavy', 'h2'),
    work('heavy', 'h3'),
    work('heavy', 'transaction', true),
    work('light', 'l'),
  ]);
  expect(order).toHaveLength(5 * 12);
  // What runs between two parts of the light request: at most one part of the heavy tenant, and 20 ms of its transaction.
  const between = order.join(' ').split(/ ?l ?/).slice(1, -1);
  const count = (name: RegExp) => between.map((names) => names.match(name)?.length ?? 0);
  expect(Math.max(...count(/\bh\d/g))).toBe(1);
  expect(Math.max(...count(/transaction/g))).toBeOneOf([4, 5]);
});

test('beside other callers, the writes of a caller with a long transaction pause and then run one at a time; its reads go on', async () => {
  const scheduler = await besideOthers();
  const order: string[] = [];
  const write = (name: string, cpuMs: number) =>
    scheduler.run(callerOf('a'), 'write', async () => {
      order.push(name);
      currentTurn()?.hold(cpuMs);
      await passTurns();
      order.push(`${name} ends`);
    });
  const from = performance.now();
  // 2 ms more than is free at once: a pause of 100 ms.
  await write('long', 216);
  const later = [write('second', 1), write('third', 1)];
  await scheduler.run(callerOf('a'), 'read', async () => void order.push('read'));
  await Promise.all(later);
  expect(order).toEqual(['long', 'long ends', 'read', 'second', 'second ends', 'third', 'third ends']);
  expect(performance.now() - from).toBeGreaterThanOrEqual(100);
});

test('the writes of the only caller do not pause', async () => {
  const scheduler = new Scheduler();
  await scheduler.run(callerOf('a'), 'write', async () => currentTurn()?.hold(10_000));
  expect(await scheduler.run(callerOf('a'), 'write', async () => 'at once', performance.now() + 1000)).toBe('at once');
});
