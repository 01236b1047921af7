import { setImmediate as nextTurn } from 'node:timers/promises';
import { noteDelay } from '@quartermaster/db/delay-budget.ts';
import { expect, test } from 'vitest';
import { FairTurns } from '../../src/platform/fair-turns.ts';
import { PromptWrites } from '../../src/http/rate-limits/prompt-writes.ts';
import { READ, startWork, takerOf, WRITE } from './turns.ts';

test('many requests of a single caller run at once', async () => {
  const turns = new FairTurns();
  const started: string[] = [];
  const works = Array.from({ length: 100 }, () => startWork(turns, 'a', started));
  await nextTurn();
  expect(started).toHaveLength(100);
  for (const { end } of works) end();
  await Promise.all(works.map(({ done }) => done));
});

test('with other callers present, four writes of a caller run, the rest wait in order, and another caller’s start at once', async () => {
  const turns = new FairTurns();
  const started: string[] = [];
  await turns.run(takerOf('b'), WRITE, async () => {});
  const works = Array.from({ length: 10 }, () => startWork(turns, 'a', started));
  const other = startWork(turns, 'b', started);
  await nextTurn();
  expect(started).toEqual(['a', 'a', 'a', 'a', 'b']);
  works[0]?.end();
  await works[0]?.done;
  await nextTurn();
  expect(started).toEqual(['a', 'a', 'a', 'a', 'b', 'a']);
  for (const { end } of [...works, other]) end();
  await Promise.all([...works, other].map(({ done }) => done));
  expect(started.filter((caller) => caller === 'a')).toHaveLength(10);
});

test('work that fails releases its turn', async () => {
  const turns = new FairTurns();
  await turns.run(takerOf('b'), WRITE, async () => {});
  const failing = Array.from({ length: 20 }, () =>
    turns.run(takerOf('a'), WRITE, () => Promise.reject(new Error('no'))),
  );
  const results = await Promise.allSettled(failing);
  expect(results.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 'rejected'));
  expect(await turns.run(takerOf('a'), WRITE, async () => 'works')).toBe('works');
});

test('more waiting requests than a caller may have are refused with 429', async () => {
  const turns = new FairTurns();
  await turns.run(takerOf('b'), WRITE, async () => {});
  const works = Array.from({ length: 504 }, () => startWork(turns, 'a', []));
  await expect(turns.run(takerOf('a'), WRITE, async () => {})).rejects.toMatchObject({ status: 429 });
  expect(await turns.run(takerOf('b'), WRITE, async () => 'not affected')).toBe('not affected');
  for (const { end } of works) end();
  await Promise.all(works.map(({ done }) => done));
});

test('prompt writes do not wait for the reads and writes of their caller', async () => {
  const turns = new FairTurns();
  await turns.run(takerOf('b'), READ, async () => {});
  const waiting = Promise.withResolvers<void>();
  const works = ([READ, WRITE] as const).flatMap((kind) =>
    Array.from({ length: 20 }, () => turns.run(takerOf('a'), kind, () => waiting.promise)),
  );
  expect(await turns.run(takerOf('a'), 'prompt', async () => 'done')).toBe('done');
  waiting.resolve();
  await Promise.all(works);
});

test('sixty writes in a minute of the users of a tenant are prompt', () => {
  let time = Date.parse('2026-03-01T12:00:30Z');
  const writes = new PromptWrites(() => new Date(time));
  const taken = (tenantId: string, count: number) => Array.from({ length: count }, () => writes.take(tenantId));
  expect(taken('acme', 60)).not.toContain(false);
  expect(taken('acme', 3)).not.toContain(true);
  expect(taken('globex', 60)).not.toContain(false);
  time += 30_000;
  expect(taken('acme', 61)).toEqual([...Array.from({ length: 60 }, () => true), false]);
});

test('a write that pauses while it runs does not delay the reads of its caller', async () => {
  const turns = new FairTurns();
  const name = 'tenant:pauses';
  await turns.run(takerOf('tenant:other'), READ, async () => {});
  const works = Array.from({ length: 5 }, () => startWork(turns, name, []));
  // Near its pause a caller has one turn for its writes.
  noteDelay(name, 100, 1);
  await turns.run(takerOf(name), READ, async () => {});
  works[0]?.end();
  await works[0]?.done;
  await turns.run(takerOf(name), READ, async () => {});
  for (const { end } of works) end();
  await Promise.all(works.map(({ done }) => done));
});
