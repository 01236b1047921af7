import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, expect, test, vi } from 'vitest';
import { endTurn } from '../src/loop-time.ts';
import { yieldToOtherTenants, yieldWhenDue } from '../src/loop-turns.ts';
import { runAsWriter, runForTenant } from '../src/tenant-context.ts';

// The clock is a variable, because other processes may stop this one for longer than a turn.
let time = 0;
vi.spyOn(performance, 'now').mockImplementation(() => time);
beforeEach(() => {
  // What an earlier test left running ends now, and everything in it was long ago.
  endTurn();
  time += 1_000_000;
});

function workFor(milliseconds: number): void {
  time += milliseconds;
}

/** Works through a loop on behalf of a tenant, and notes each piece. */
function longWork(tenant: string, pieces: string[], count: number): Promise<void> {
  return runForTenant(tenant, async () => {
    for (let i = 0; i < count; i += 1) {
      await yieldWhenDue();
      pieces.push(tenant);
      workFor(11);
    }
  });
}

test('a request of another tenant starts before the second one of a busy tenant', async () => {
  await nextTurn();
  const started: string[] = [];
  const request = async (tenant: string) => {
    await yieldToOtherTenants(tenant);
    started.push(tenant);
    workFor(6);
  };
  const requests: Promise<void>[] = [];
  for (const tenant of ['a', 'a', 'a', 'b', 'a']) {
    requests.push(request(tenant));
    // Requests arrive one after the other within a turn: the microtasks of one run before the next one arrives.
    for (let i = 0; i < 5; i += 1) await Promise.resolve();
  }
  await Promise.all(requests);
  expect(started).toEqual(['a', 'b', 'a', 'a', 'a']);
});

test('requests of a tenant start in one turn while the turn is short', async () => {
  await nextTurn();
  let turns = 0;
  setImmediate(() => {
    turns += 1;
  });
  await Promise.all(Array.from({ length: 50 }, () => yieldToOtherTenants('a')));
  expect(turns).toBe(0);
});

test('tenants take turns, however much work one of them has', async () => {
  const pieces: string[] = [];
  const busy = Array.from({ length: 5 }, () => longWork('a', pieces, 4));
  await nextTurn();
  const from = pieces.length;
  await longWork('b', pieces, 4);
  expect(pieces.slice(from).filter((tenant) => tenant === 'a').length).toBeLessThanOrEqual(6);
  await Promise.all(busy);
});

test('in each turn one piece of waiting work goes on', async () => {
  const pieces: string[] = [];
  const busy = Array.from({ length: 5 }, () => longWork('a', pieces, 3));
  // Each begins with a piece.
  await nextTurn();
  let before = pieces.length;
  while (pieces.length < 15) {
    await nextTurn();
    expect(pieces.length - before).toBeLessThanOrEqual(1);
    before = pieces.length;
  }
  await Promise.all(busy);
});

test('a transaction on the writing connection goes first, and other tenants go on beside it', async () => {
  const pieces: string[] = [];
  const own = Array.from({ length: 3 }, () => longWork('a', pieces, 4));
  const other = longWork('b', pieces, 4);
  await runForTenant('a', () =>
    runAsWriter(async () => {
      for (let i = 0; i < 3; i += 1) {
        await yieldWhenDue();
        pieces.push('writer');
        workFor(11);
      }
    }),
  );
  const last = pieces.lastIndexOf('writer');
  const between = pieces.slice(pieces.indexOf('writer'), last);
  // In the first turn each loop had its first piece.
  expect(between.filter((piece) => piece === 'a')).toEqual([]);
  expect(between).toContain('b');
  await Promise.all([...own, other]);
});

test('transactions on two databases of one process both go on', async () => {
  const pieces: string[] = [];
  const transaction = (name: string) =>
    runAsWriter(async () => {
      for (let i = 0; i < 3; i += 1) {
        await yieldWhenDue();
        pieces.push(name);
        workFor(11);
      }
    });
  await Promise.all([transaction('first'), transaction('second')]);
  expect(pieces.toSorted()).toEqual(['first', 'first', 'first', 'second', 'second', 'second']);
});
