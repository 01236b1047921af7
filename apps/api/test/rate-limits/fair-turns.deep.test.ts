import { setTimeout as sleep } from 'node:timers/promises';
import { noteDelay } from '@quartermaster/db/delay-budget.ts';
import { expect, test } from 'vitest';
import { FairTurns } from '../../src/platform/fair-turns.ts';
import { READ, startWork, takerOf, WRITE } from './turns.ts';

test('after long delays of others the writes of a caller pause and then run one by one, and its reads go on', async () => {
  const turns = new FairTurns();
  const started: string[] = [];
  const name = 'tenant:slow';
  const note = async () => {
    for (let count = 0; count < 30; count += 1) {
      await turns.run(takerOf('tenant:other'), READ, async () => {});
      await sleep(100);
    }
  };
  await turns.run(takerOf(name), READ, async () => {});
  const others = note();
  await turns.run(takerOf(name), READ, async () => {});
  // A pause of a second.
  noteDelay(name, 130, 1);
  const from = performance.now();
  const writes = ['first', 'second'].map((what) =>
    turns.run(takerOf(name), WRITE, async () => {
      started.push(what);
      await sleep(200);
      started.push(`${what} ends`);
    }),
  );
  await turns.run(takerOf(name), READ, async () => {
    started.push('read');
  });
  await Promise.all(writes);
  expect(started).toEqual(['read', 'first', 'first ends', 'second', 'second ends']);
  expect(performance.now() - from).toBeGreaterThanOrEqual(1000);
  await others;
});

test('the users of a tenant have turns of their own, and pause for the delays of their tenant', async () => {
  const turns = new FairTurns();
  const tenant = 'tenant:shared';
  const users = { name: `users of ${tenant}`, tenant };
  await turns.run(takerOf('tenant:other'), READ, async () => {});
  const works = Array.from({ length: 20 }, () => startWork(turns, tenant, []));
  expect(await turns.run(users, WRITE, async () => 'does not wait')).toBe('does not wait');
  for (const { end } of works) end();
  await Promise.all(works.map(({ done }) => done));
  await turns.run(takerOf('tenant:other'), READ, async () => {});
  noteDelay(tenant, 130, 1);
  const from = performance.now();
  expect(await turns.run(users, READ, async () => 'does not pause')).toBe('does not pause');
  const others = sleep(500).then(() => turns.run(takerOf('tenant:other'), READ, async () => {}));
  expect(await turns.run(users, 'prompt', async () => 'nor does this')).toBe('nor does this');
  await turns.run(users, WRITE, async () => {});
  expect(performance.now() - from).toBeGreaterThanOrEqual(900);
  await others;
});
