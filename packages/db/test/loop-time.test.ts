import { beforeEach, expect, test, vi } from 'vitest';
import { isNearPause, noteRequest } from '../src/delay-budget.ts';
import { cpuTimeOf, endTurn, noteLoopTime, recentLoopTimeOf, slowdown } from '../src/loop-time.ts';

// Both clocks are variables, because other processes may stop this one.
let time = 0;
let cpuTime = 0;
vi.spyOn(performance, 'now').mockImplementation(() => time);
vi.spyOn(process, 'threadCpuUsage').mockImplementation(() => ({ user: cpuTime * 600, system: cpuTime * 400 }));
beforeEach(() => {
  // What an earlier test left running ends now, and everything in it was long ago.
  endTurn();
  time += 1_000_000;
});

/** A tenant has a turn beside another one. The thread runs for a part of it. */
function turnOf(tenant: string, { elapsed, ran }: { elapsed: number; ran: number }): void {
  noteRequest('other');
  noteRequest(tenant);
  noteLoopTime(tenant);
  time += elapsed;
  cpuTime += ran;
  endTurn();
}

test('a long turn counts as a delay of the tenant that worked in it', () => {
  turnOf('slow', { elapsed: 100, ran: 100 });
  expect(isNearPause('slow')).toBe(true);
});

test('regression: a tenant had to pause because the system ran other programs in its turns', () => {
  for (let turns = 0; turns < 20; turns += 1) turnOf('stopped', { elapsed: 100, ran: 5 });
  expect(isNearPause('stopped')).toBe(false);
  expect(cpuTimeOf('stopped')).toBeCloseTo(100);
  // The event loop was still occupied.
  expect(recentLoopTimeOf('stopped')).toBeGreaterThan(500);
});

test('a delay counts for as long as others wait for it, on average, while the system runs other programs as well', () => {
  turnOf('alone on the machine', { elapsed: 40, ran: 40 });
  expect(isNearPause('alone on the machine')).toBe(false);
  for (let turns = 0; turns < 20; turns += 1) turnOf('slowed', { elapsed: 100, ran: 20 });
  expect(slowdown()).toBeCloseTo(5, 0);
  turnOf('beside other programs', { elapsed: 40, ran: 40 });
  expect(isNearPause('beside other programs')).toBe(true);
  expect(isNearPause('slowed')).toBe(false);
});

test('the CPU time of a tenant contains its part of the turn that has not ended', () => {
  turnOf('tenant', { elapsed: 10, ran: 10 });
  noteLoopTime('tenant');
  time += 20;
  cpuTime += 10;
  expect(cpuTimeOf('tenant')).toBeCloseTo(20);
  noteLoopTime('beside');
  time += 20;
  cpuTime += 20;
  expect(cpuTimeOf('tenant')).toBeCloseTo(25);
  expect(cpuTimeOf('beside')).toBeCloseTo(15);
});
