import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { othersWork, isNearPause, noteDelay, noteRequest, pauseAfterDelays } from '../src/delay-budget.ts';

let began = 0;
let tenants = 0;
/** A tenant that no other test has used. */
const newTenant = () => `tenant:${(tenants += 1)}`;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
  // Later than everything in earlier tests.
  began += 1_000_000;
  vi.advanceTimersByTime(began);
});
afterEach(() => {
  vi.useRealTimers();
});

/** Several tenants work until the test ends. */
function workBeside(tenant: string): void {
  const other = newTenant();
  const note = () => {
    noteRequest(other);
    noteRequest(tenant);
    setTimeout(note, 500);
  };
  note();
  note();
}

/** How long a tenant pauses, in seconds, rounded. */
async function secondsOfPause(tenant: string): Promise<number> {
  const from = performance.now();
  const pause = { isOver: false };
  const paused = pauseAfterDelays(tenant).then((endOfWork) => {
    endOfWork();
    pause.isOver = true;
  });
  await vi.advanceTimersByTimeAsync(0);
  while (!pause.isOver) await vi.advanceTimersByTimeAsync(100);
  await paused;
  return Math.round((performance.now() - from) / 1000);
}

test('a tenant pauses a hundred times as long as it has delayed others beyond 100 ms, less 20 ms of each delay', async () => {
  const tenant = newTenant();
  workBeside(tenant);
  noteDelay(tenant, 20, 1);
  noteDelay(tenant, 120, 1);
  expect(await secondsOfPause(tenant)).toBe(0);
  noteDelay(tenant, 50, 1);
  expect(await secondsOfPause(tenant)).toBe(3);
  expect(await secondsOfPause(tenant)).toBe(0);
});

test('short delays are not counted, however many', async () => {
  const tenant = newTenant();
  workBeside(tenant);
  for (let i = 0; i < 1000; i += 1) noteDelay(tenant, 20, 1);
  expect(isNearPause(tenant)).toBe(false);
  expect(await secondsOfPause(tenant)).toBe(0);
});

test('a tenant that works alone does not pause, and what it does then is not counted', async () => {
  const tenant = newTenant();
  await vi.advanceTimersByTimeAsync(5000);
  noteRequest(tenant);
  noteDelay(tenant, 5000, 1);
  expect(othersWork(tenant)).toBe(false);
  expect(await secondsOfPause(tenant)).toBe(0);
  workBeside(tenant);
  expect(await secondsOfPause(tenant)).toBe(0);
});

test('a pause ends within a second once the others no longer work', async () => {
  const tenant = newTenant();
  noteRequest(newTenant());
  noteRequest(tenant);
  noteDelay(tenant, 5000, 1);
  // Others count as working for two seconds after their last request.
  expect(await secondsOfPause(tenant)).toBe(2);
});

test('a pause lasts five seconds, however long the delay was', async () => {
  const tenant = newTenant();
  workBeside(tenant);
  noteDelay(tenant, 100_000, 1);
  expect(await secondsOfPause(tenant)).toBe(5);
  expect(await secondsOfPause(tenant)).toBe(0);
});

test('a tenant whose requests all pause still counts as one beside others', async () => {
  const [tenant, other] = [newTenant(), newTenant()];
  noteRequest(tenant);
  noteRequest(other);
  noteDelay(tenant, 100_000, 1);
  const noting = setInterval(() => noteRequest(other), 500);
  expect(await secondsOfPause(tenant)).toBe(5);
  clearInterval(noting);
});

test('requests that wait go on one after the other, because each is charged in advance', async () => {
  const tenant = newTenant();
  workBeside(tenant);
  noteDelay(tenant, 140, 1);
  const from = performance.now();
  const ended: number[] = [];
  const requests = Array.from({ length: 3 }, async () => {
    const done = await pauseAfterDelays(tenant);
    ended.push(Math.round((performance.now() - from) / 1000));
    // The work takes a second, and does not delay others.
    setTimeout(done, 1000);
  });
  await vi.advanceTimersByTimeAsync(20_000);
  await Promise.all(requests);
  expect(ended).toEqual([2, 3, 4]);
});

/** Requests of a tenant whose work takes no time, and the order in which they went on. */
function ordered(tenant: string): { order: string[]; request: (name: string) => Promise<void> } {
  const order: string[] = [];
  const request = async (name: string) => {
    const done = await pauseAfterDelays(tenant);
    order.push(name);
    done();
  };
  return { order, request };
}

test('requests go on in the order of their arrival, also when the pauses of several end at the same time', async () => {
  const tenant = newTenant();
  workBeside(tenant);
  noteDelay(tenant, 135, 1);
  const { order, request } = ordered(tenant);
  // Looks again after a second, and then after half of one. The other looks again at that time as well, and decided so earlier.
  const first = request('first');
  await vi.advanceTimersByTimeAsync(600);
  const second = request('second');
  await vi.advanceTimersByTimeAsync(5000);
  await Promise.all([first, second]);
  expect(order).toEqual(['first', 'second']);
});

test('a request that arrives later does not overtake those that pause', async () => {
  const tenant = newTenant();
  noteRequest(newTenant());
  noteRequest(tenant);
  noteDelay(tenant, 5000, 1);
  const { order, request } = ordered(tenant);
  await vi.advanceTimersByTimeAsync(500);
  const first = request('first');
  // The others no longer work since 2 s. The first one sees that half a second later.
  await vi.advanceTimersByTimeAsync(1600);
  const late = request('late');
  expect(order).toEqual([]);
  await vi.advanceTimersByTimeAsync(400);
  await Promise.all([first, late]);
  expect(order).toEqual(['first', 'late']);
});

test('once the others no longer work, everything that pauses goes on within a second', async () => {
  const tenant = newTenant();
  noteRequest(newTenant());
  noteRequest(tenant);
  noteDelay(tenant, 5000, 1);
  const from = performance.now();
  const ended: number[] = [];
  const requests: Promise<void>[] = [];
  for (let count = 0; count < 3; count += 1) {
    requests.push(
      pauseAfterDelays(tenant).then(() => {
        ended.push(Math.round((performance.now() - from) / 100) * 100);
      }),
    );
    await vi.advanceTimersByTimeAsync(600);
  }
  await vi.advanceTimersByTimeAsync(5000);
  await Promise.all(requests);
  // Others count as working for two seconds after their last request.
  expect(ended).toEqual([2000, 2000, 2000]);
});

test('a signal ends a pause with its reason', async () => {
  const tenant = newTenant();
  workBeside(tenant);
  noteDelay(tenant, 5000, 1);
  const stopping = new AbortController();
  const paused = Promise.allSettled([pauseAfterDelays(tenant, stopping.signal)]);
  await vi.advanceTimersByTimeAsync(300);
  stopping.abort(new Error('the service stops'));
  await vi.advanceTimersByTimeAsync(1000);
  expect(await paused).toEqual([{ status: 'rejected', reason: new Error('the service stops') }]);
});
