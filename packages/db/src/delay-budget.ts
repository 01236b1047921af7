import { BoundedMap } from './bounded-map.ts';

// How long each tenant has delayed others: it held SQLite's writing connection while others waited for it, or occupied a turn of the
// event loop. A tenant that has done so for too long pauses, but only while others work.

/** A delay up to this length is not counted, in milliseconds. Work that is in proportion causes no longer ones. */
const FREE_MS = 20;

/** The part of the time for which a tenant may delay others in the long run. */
const SHARE = 0.01;

/** For how long a tenant may delay others before it pauses, in milliseconds. */
const BURST_MS = 100;

/** The longest pause, in milliseconds: half of the time for which exporters of telemetry wait by default. */
const MAX_PAUSE_MS = 5000;

/** The most delay that is remembered: that of the longest pause of a request. */
const MAX_DELAY_MS = BURST_MS + MAX_PAUSE_MS * SHARE;

/** What work is charged in advance after a pause, in milliseconds, so that not everything that waits goes on at once. */
const ADVANCE_MS = 50;

/** How often a pause looks whether it can end early, in milliseconds. */
const LOOK_MS = 1000;

/** How long a tenant counts as working after it began a request, in milliseconds. */
const WORKING_MS = 2000;

const MAX_TENANTS = 10_000;

/** For how long a tenant has delayed others, less its share of the time since then, in milliseconds. As of the time `at`. */
type Delay = { ms: number; at: number };

const delays = new BoundedMap<string, Delay>(MAX_TENANTS);

/** Something that pauses. `look` has it look at once whether it can go on. */
type Pausing = { look: () => void };

/** What of each tenant pauses, in the order of its arrival. */
const pausing = new Map<string, Set<Pausing>>();

/** The tenant that began a request last, when that was, and when another one did. */
let lastTenant: string | null = null;
let lastAt = Number.NEGATIVE_INFINITY;
let otherAt = Number.NEGATIVE_INFINITY;

/** Notes that a tenant begins a request. */
export function noteRequest(tenant: string): void {
  if (tenant !== lastTenant) otherAt = lastAt;
  lastTenant = tenant;
  lastAt = performance.now();
}

/** Whether a tenant other than this one has begun a request lately. */
export function othersWork(tenant: string): boolean {
  return performance.now() - (tenant === lastTenant ? otherAt : lastAt) < WORKING_MS;
}

/**
 * Counts that a tenant has delayed whatever else there was to do.
 *
 * @param cpuMs the CPU time of its work in milliseconds: it is not to blame if the system runs other programs in the middle of it
 * @param slowdown how many times as long others wait for CPU time, on average
 */
export function noteDelay(tenant: string, cpuMs: number, slowdown: number): void {
  if (cpuMs > FREE_MS && othersWork(tenant)) charge(tenant, (cpuMs - FREE_MS) * slowdown);
}

/** Whether a tenant will soon have to pause. Its requests run one after the other then. */
export function isNearPause(tenant: string): boolean {
  return othersWork(tenant) && delayOf(tenant) > BURST_MS / 2;
}

/** Whether {@link pauseAfterDelays} would wait: for the end of the pause, or for what of the tenant pauses already. */
export function mustPause(tenant: string): boolean {
  return pausing.has(tenant) || pauseOf(tenant) > 0;
}

/**
 * Waits while a tenant has delayed others for too long, for {@link MAX_PAUSE_MS} at most. What waits goes on one after the other, in
 * the order of its arrival.
 *
 * @param signal ends the pause within a second; its reason is thrown then
 * @returns a function to call when the work that follows is done
 */
export async function pauseAfterDelays(tenant: string, signal?: AbortSignal): Promise<() => void> {
  if (!mustPause(tenant)) return () => {};
  const line = pausing.get(tenant) ?? new Set();
  pausing.set(tenant, line);
  const mine: Pausing = { look: () => {} };
  line.add(mine);
  try {
    await pauseInLine(tenant, { line, mine, signal });
    charge(tenant, ADVANCE_MS);
  } finally {
    line.delete(mine);
    if (line.size === 0) pausing.delete(tenant);
    haveFirstLook(tenant);
  }
  return () => {
    charge(tenant, -ADVANCE_MS);
    haveFirstLook(tenant);
  };
}

async function pauseInLine(
  tenant: string,
  { line, mine, signal }: { line: Set<Pausing>; mine: Pausing; signal: AbortSignal | undefined },
): Promise<void> {
  const deadline = performance.now() + MAX_PAUSE_MS;
  for (;;) {
    const isFirst = line.values().next().value === mine;
    const pause = isFirst ? pauseOf(tenant) : LOOK_MS;
    const left = deadline - performance.now();
    if (pause <= 0 || left <= 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.min(pause, left, LOOK_MS));
      mine.look = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    signal?.throwIfAborted();
  }
}

function haveFirstLook(tenant: string): void {
  pausing.get(tenant)?.values().next().value?.look();
}

/** How long a tenant has to pause now, in milliseconds. */
function pauseOf(tenant: string): number {
  const excess = othersWork(tenant) ? delayOf(tenant) - BURST_MS : 0;
  return excess <= 0 ? 0 : Math.ceil(excess / SHARE);
}

function delayOf(tenant: string): number {
  const delay = delays.get(tenant);
  return delay === undefined ? 0 : Math.max(0, delay.ms - (performance.now() - delay.at) * SHARE);
}

function charge(tenant: string, milliseconds: number): void {
  const ms = Math.min(MAX_DELAY_MS, Math.max(0, delayOf(tenant) + milliseconds));
  delays.set(tenant, { ms, at: performance.now() });
}
