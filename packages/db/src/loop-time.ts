import { BoundedMap } from './bounded-map.ts';
import { DecayingSum, DecayingSums } from './decaying-sums.ts';
import { noteDelay } from './delay-budget.ts';
import { currentTenant } from './tenant-context.ts';

// The time of the event loop, by tenant. A turn lasts from one check phase of the event loop to the next one.

const MAX_TENANTS = 10_000;

/** A tenant that took at least so much of the time in about the last second is heavy, in milliseconds. */
export const HEAVY_MS = 200;

/** A tenant that took at most so much is small. Between the two it counts as both in part, so that no step makes a jump. */
const SMALL_MS = 100;

/** A longer turn counts as one of so many milliseconds: what took long is over. */
const MAX_TURN_MS = 500;

/** A shorter turn counts as CPU time as a whole, because to ask for its CPU time takes half a microsecond. In milliseconds. */
const SHORT_TURN_MS = 4;

/** For how long each tenant has worked in this turn, in milliseconds. Null is the service itself. */
const inTurn = new Map<string | null, number>();

/** The CPU time of each tenant since the start, in milliseconds, without the current turn. */
const cpuTimes = new BoundedMap<string | null, number>(MAX_TENANTS);

/** For how long each tenant has worked in about the last second, without the current turn. */
const lately = new DecayingSums(MAX_TENANTS);

/** For how long all tenants together have worked in about the last second. */
const latelyByAll = new DecayingSum();

/** Elapsed time and CPU time of the turns of about the last second. */
const recentTurns = { elapsed: new DecayingSum(), cpu: new DecayingSum() };

/** The largest slowdown that counts. */
const MAX_SLOWDOWN = 10;

/** The tenants that are not small. It may contain some that are small again. */
let large: string[] = [];

/** The tenant that the running code works for, and since when. Null: unknown. */
let running: { tenant: string | null; since: number } | null = null;

/** When the turn began, and the CPU time of the thread until then. In milliseconds. Null before the first work of a turn. */
let turn: { began: number; cpu: number } | null = null;
let endIsScheduled = false;

/**
 * Counts the time from now on as that of a tenant, until the next call, or until the event loop runs its next callback. Code that
 * begins or continues a tenant's work calls it.
 *
 * @returns for how long the tenant has worked in this turn, in milliseconds
 */
export function noteLoopTime(tenant: string | null = currentTenant()): number {
  const now = performance.now();
  countUntil(now);
  running = { tenant, since: now };
  if (turn === null) {
    turn = { began: now, cpu: threadCpuTime() };
    setImmediate(endTurn);
  }
  if (!endIsScheduled) {
    endIsScheduled = true;
    // A tick that a microtask adds runs after all microtasks.
    queueMicrotask(() => process.nextTick(endCallback));
  }
  return inTurn.get(tenant) ?? 0;
}

/** The CPU time of a tenant's work since the start, in milliseconds. */
export function cpuTimeOf(tenant: string | null): number {
  const sinceThen = running?.tenant === tenant ? performance.now() - running.since : 0;
  return (cpuTimes.get(tenant) ?? 0) + ((inTurn.get(tenant) ?? 0) + sinceThen) * partThatRan(ageOfTurn());
}

/** For how long a tenant has worked in about the last second, in milliseconds, without the current turn. */
export function recentLoopTimeOf(tenant: string): number {
  return lately.of(tenant);
}

/**
 * For how long the small tenants together, and the heavy ones together, have worked in about the last second, in milliseconds, and
 * how many heavy ones there are. The number may be a fraction.
 */
export function recentLoopTimes(): { small: number; heavy: number; heavyTenants: number } {
  const times = { small: latelyByAll.value, heavy: 0, heavyTenants: 0 };
  for (const tenant of large) {
    const time = lately.of(tenant);
    const part = Math.min(1, Math.max(0, (time - SMALL_MS) / (HEAVY_MS - SMALL_MS)));
    times.small -= part * time;
    times.heavy += part * time;
    times.heavyTenants += part;
  }
  return times;
}

/** How long this turn has lasted, in milliseconds. */
export function ageOfTurn(): number {
  return turn === null ? 0 : performance.now() - turn.began;
}

/**
 * The part of this turn in which the thread ran. In the rest of it the system ran other programs, or the thread waited for the disk: no
 * tenant is to blame for that.
 */
function partThatRan(elapsed: number): number {
  if (turn === null || elapsed < SHORT_TURN_MS) return 1;
  return Math.min(1, (threadCpuTime() - turn.cpu) / elapsed);
}

/**
 * How many times as long as their CPU time the turns of about the last second took, because other programs use the machine. So much
 * longer others wait for a tenant's work.
 */
export function slowdown(): number {
  const { elapsed, cpu } = recentTurns;
  return cpu.value < 1 ? 1 : Math.min(MAX_SLOWDOWN, Math.max(1, elapsed.value / cpu.value));
}

/** The CPU time of this thread, in milliseconds. */
function threadCpuTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Begins a new turn. */
export function endTurn(): void {
  countUntil(performance.now());
  const elapsed = ageOfTurn();
  const part = partThatRan(elapsed);
  recentTurns.elapsed.add(elapsed);
  recentTurns.cpu.add(elapsed * part);
  turn = null;
  const factor = slowdown();
  for (const [tenant, milliseconds] of inTurn) {
    cpuTimes.set(tenant, (cpuTimes.get(tenant) ?? 0) + milliseconds * part);
    if (tenant === null) continue;
    noteDelay(tenant, milliseconds * part, factor);
    const counted = Math.min(milliseconds, MAX_TURN_MS);
    lately.add(tenant, counted);
    latelyByAll.add(counted);
    if (!isSmall(tenant) && !large.includes(tenant)) large = [...large.filter((other) => !isSmall(other)), tenant];
  }
  inTurn.clear();
}

function isSmall(tenant: string): boolean {
  return lately.of(tenant) <= SMALL_MS;
}

function endCallback(): void {
  endIsScheduled = false;
  countUntil(performance.now());
}

function countUntil(now: number): void {
  if (running === null) return;
  const { tenant, since } = running;
  inTurn.set(tenant, (inTurn.get(tenant) ?? 0) + now - since);
  running = null;
}
