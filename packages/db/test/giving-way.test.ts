import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { beginRequest, givesWay, runRequestForTenant } from '../src/giving-way.ts';
import { endTurn, noteLoopTime } from '../src/loop-time.ts';
import { giveWay, yieldToOtherTenants, yieldWhenDue } from '../src/loop-turns.ts';
import { runAsGateHolder, runForTenant, runInTransaction } from '../src/tenant-context.ts';

// The clock is a variable, because other processes may stop this one.
let time = 0;
let tenants = 0;
vi.spyOn(performance, 'now').mockImplementation(() => time);
beforeEach(() => {
  // What an earlier test left running ends now, and everything in it was long ago.
  endTurn();
  time += 1_000_000;
});

/** A tenant that has just worked for some milliseconds. */
function tenantAfter(milliseconds: number): string {
  const tenant = `tenant:${(tenants += 1)}`;
  noteLoopTime(tenant);
  time += milliseconds;
  endTurn();
  return tenant;
}

/** A request that is in progress until the test ends, or until the returned function is called. */
function requestOf(tenant: string): () => void {
  const end = beginRequest(tenant);
  onTestFinished(() => end());
  return end;
}

test('a heavy tenant gives way while a request of a light one is in progress', () => {
  const [heavy, light] = [tenantAfter(300), tenantAfter(10)];
  expect(givesWay(heavy)).toBe(false);
  const end = requestOf(light);
  expect(givesWay(heavy)).toBe(true);
  expect(givesWay(light)).toBe(false);
  // The service itself.
  expect(givesWay(null)).toBe(false);
  end();
  expect(givesWay(heavy)).toBe(false);
});

test('tenants that work about as much do not give way to each other, and neither does one that works little', () => {
  const [first, second, small] = [tenantAfter(300), tenantAfter(150), tenantAfter(100)];
  const idle = tenantAfter(0);
  requestOf(second);
  expect(givesWay(first)).toBe(false);
  requestOf(idle);
  expect(givesWay(small)).toBe(false);
  expect(givesWay(first)).toBe(true);
});

test('the requests of a heavy tenant itself, and what it did seconds ago, do not count', () => {
  const [heavy, light] = [tenantAfter(900), tenantAfter(0)];
  requestOf(heavy);
  expect(givesWay(heavy)).toBe(false);
  time += 3000;
  requestOf(light);
  expect(givesWay(heavy)).toBe(false);
});

test('a request has precedence for a quarter of a second, even if it takes longer', () => {
  const [heavy, light] = [tenantAfter(900), tenantAfter(0)];
  requestOf(light);
  time += 249;
  expect(givesWay(heavy)).toBe(true);
  time += 1;
  expect(givesWay(heavy)).toBe(false);
});

test('neither a slow request nor a trivial one after the other renews the precedence of the slow one', () => {
  const [heavy, light] = [tenantAfter(900), tenantAfter(0)];
  requestOf(light);
  time += 240;
  requestOf(light)();
  time += 20;
  expect(givesWay(heavy)).toBe(false);
});

test('a tenant gives way for 300 ms of a second, however many light requests follow each other', () => {
  const [heavy, light] = [tenantAfter(900), tenantAfter(0)];
  let waited = 0;
  const seconds = 10;
  for (let count = 0; count < 1000 * seconds; count += 1) {
    const end = requestOf(light);
    // It works whenever it does not wait.
    if (givesWay(heavy)) waited += 1;
    else noteLoopTime(heavy);
    time += 1;
    endTurn();
    end();
  }
  expect(waited / seconds).toBeGreaterThan(250);
  expect(waited / seconds).toBeLessThan(350);
});

test('a heavy tenant leaves ten times as much time idle as the small ones take together, whether their requests are in progress or not', () => {
  const heavy = tenantAfter(500);
  tenantAfter(30);
  tenantAfter(15);
  expect(givesWay(heavy)).toBe(false);
  const small = tenantAfter(10);
  expect(givesWay(heavy)).toBe(true);
  expect(givesWay(small)).toBe(false);
  // Later it has made up for it, although the small ones took the same part of the time.
  time += 500;
  expect(givesWay(heavy)).toBe(false);
});

test('several heavy tenants leave that time idle together, and the one that took most waits', () => {
  const [first, second] = [tenantAfter(500), tenantAfter(450)];
  expect([givesWay(first), givesWay(second)]).toEqual([false, false]);
  tenantAfter(30);
  expect([givesWay(first), givesWay(second)]).toEqual([false, true]);
});

test('a heavy tenant does not wait while all heavy ones together leave enough time idle', () => {
  tenantAfter(350);
  const heavy = tenantAfter(500);
  tenantAfter(10);
  expect(givesWay(heavy)).toBe(false);
});

test('a tenant that is almost heavy hardly counts as a small one', () => {
  const heavy = tenantAfter(500);
  tenantAfter(190);
  expect(givesWay(heavy)).toBe(false);
  tenantAfter(70);
  expect(givesWay(heavy)).toBe(true);
});

test('a tenant that is alone waits for nothing', () => {
  const alone = tenantAfter(500);
  for (let turn = 0; turn < 10; turn += 1) {
    noteLoopTime(alone);
    time += 500;
    endTurn();
    expect(givesWay(alone)).toBe(false);
  }
});

test('a tenant does not make up for all of a long turn', () => {
  const heavy = tenantAfter(5000);
  tenantAfter(20);
  tenantAfter(80);
  expect(givesWay(heavy)).toBe(true);
  time += 300;
  expect(givesWay(heavy)).toBe(false);
});

test('a heavy tenant keeps two fifths of the time, however many small requests there are', () => {
  const heavy = tenantAfter(900);
  const small = [tenantAfter(0), tenantAfter(0), tenantAfter(0)];
  let worked = 0;
  const seconds = 10;
  for (let count = 0; count < 1000 * seconds; count += 1) {
    // A fifth of the time is that of the small ones.
    if (count % 5 === 0) noteLoopTime(small[(count / 5) % 3]);
    else if (!givesWay(heavy)) {
      worked += 1;
      noteLoopTime(heavy);
    }
    time += 1;
    endTurn();
  }
  expect(worked / seconds).toBeGreaterThan(380);
  expect(worked / seconds).toBeLessThan(420);
});

test('what a request does counts for the tenant whose request is in progress', async () => {
  const own = tenantAfter(0);
  await runRequestForTenant(own, async () => {
    noteLoopTime();
    time += 500;
    endTurn();
    expect(givesWay(own)).toBe(false);
    const other = tenantAfter(0);
    requestOf(other);
    expect(givesWay(own)).toBe(true);
  });
});

test('the next request and the next connection of a heavy tenant wait for the light request', async () => {
  const starts: Record<string, (tenant: string) => Promise<void>> = {
    request: yieldToOtherTenants,
    connection: (tenant) => runForTenant(tenant, giveWay),
  };
  for (const [name, start] of Object.entries(starts)) {
    const [heavy, light] = [tenantAfter(500), tenantAfter(0)];
    const end = requestOf(light);
    let isOver = false;
    const started = start(heavy).then(() => {
      isOver = true;
    });
    await sleep(10);
    expect(isOver, name).toBe(false);
    end();
    await started;
  }
});

test('a transaction does not give way, because others may wait for what it holds', async () => {
  const [heavy, light] = [tenantAfter(500), tenantAfter(0)];
  requestOf(light);
  let isOver = false;
  void runForTenant(heavy, () =>
    runInTransaction(async () => {
      await giveWay();
      isOver = true;
    }),
  );
  await nextTurn();
  expect(isOver).toBe(true);
});

test('work goes on in a transaction, and for the holder of a write gate, while other work of the tenant gives way', async () => {
  const [heavy, light] = [tenantAfter(500), tenantAfter(0)];
  requestOf(light);
  const order: string[] = [];
  const work = async (name: string) => {
    noteLoopTime();
    time += 5;
    await yieldWhenDue();
    order.push(name);
  };
  void runForTenant(heavy, () => work('read'));
  const transaction = runForTenant(heavy, () => runInTransaction(() => work('transaction')));
  const gateHolder = runForTenant(heavy, () => runAsGateHolder(() => work('gate holder')));
  await Promise.all([transaction, gateHolder]);
  expect(order).toEqual(['transaction', 'gate holder']);
});

test('a request of a light tenant starts in a turn that a heavy one has made long, until it has taken its own part', async () => {
  const [heavy, light] = [tenantAfter(500), tenantAfter(1)];
  requestOf(heavy);
  noteLoopTime(light);
  time += 1;
  noteLoopTime(heavy);
  time += 20;
  expect(await startsInThisTurn(light)).toBe(true);
  expect(await startsInThisTurn(heavy)).toBe(false);
  noteLoopTime(light);
  time += 20;
  expect(await startsInThisTurn(light)).toBe(false);
  endTurn();
});

/** Whether a request that arrives now starts in the current turn of the event loop. */
async function startsInThisTurn(tenant: string): Promise<boolean> {
  let started = false;
  void yieldToOtherTenants(tenant).then(() => {
    started = true;
  });
  for (let tick = 0; tick < 5; tick += 1) await Promise.resolve();
  return started;
}
