import { BoundedMap } from './bounded-map.ts';
import { DecayingSums } from './decaying-sums.ts';
import { HEAVY_MS, recentLoopTimeOf, recentLoopTimes } from './loop-time.ts';
import { runForTenant } from './tenant-context.ts';

// While a request of a light tenant is in progress, work of a heavy tenant waits for a moment. Taking turns alone is not enough: a
// request takes several steps, and between any two of them the heavy tenant would have one. And a part of the time stays idle:
// the fuller the event loop is, the more often a request arrives in the middle of a piece of heavy work.

/** A tenant is light beside a heavy one if it took less than this part of that one's time. */
const LIGHT_PART = 1 / 3;

/** For how long a request of a light tenant has precedence, in milliseconds. */
const PRECEDENCE_MS = 250;

/**
 * For how long a tenant gives way to requests in progress in about a second, in milliseconds. So a large tenant keeps most of its
 * speed, however many of them there are, and whatever they wait for.
 */
const MAX_WAIT_MS = 300;

/** How many milliseconds the heavy tenants leave idle for each millisecond that small tenants take. */
const IDLE_FOR_SMALL = 10;

/** What the heavy tenants together may take of about a second in any case, in milliseconds. */
const MIN_SHARE_MS = 400;

/** How soon something that gives way looks whether it can go on, in milliseconds. */
export const LOOK_AGAIN_MS = 1;

/** Two looks with a longer time between them are not one wait, in milliseconds. */
const SAME_WAIT_MS = 5;

const MAX_TENANTS = 10_000;

/** When each request of a tenant began that is in progress. */
const inProgress = new Map<string, Set<{ began: number }>>();

/** For how long each tenant gave way in about the last second, and when it did so last. */
const waits = new DecayingSums(MAX_TENANTS);
const lastLooks = new BoundedMap<string, number>(MAX_TENANTS);

/** Runs the work of a request on behalf of a tenant: see {@link runForTenant}. Until its end, the request is in progress. */
export async function runRequestForTenant<T>(tenant: string, work: () => Promise<T>): Promise<T> {
  const end = beginRequest(tenant);
  try {
    return await runForTenant(tenant, work);
  } finally {
    end();
  }
}

/** Notes that a request of a tenant is in progress. @returns a function to call at its end. It may be called again */
export function beginRequest(tenant: string): () => void {
  const requests = inProgress.get(tenant) ?? new Set();
  inProgress.set(tenant, requests);
  const request = { began: performance.now() };
  requests.add(request);
  return () => {
    requests.delete(request);
    if (requests.size === 0 && inProgress.get(tenant) === requests) inProgress.delete(tenant);
  };
}

/**
 * Whether a tenant's next piece of work has to wait, because the tenant is heavy. What waits looks again after
 * {@link LOOK_AGAIN_MS}. What a tenant has begun does not wait, since others may wait for what it holds.
 */
export function givesWay(tenant: string | null): boolean {
  return tenant !== null && (exceedsShare(tenant) || waitsForLightOnes(tenant));
}

/** Whether the heavy tenants took more than the small ones leave them, and this one more than its part of that. */
function exceedsShare(tenant: string): boolean {
  const time = recentLoopTimeOf(tenant);
  if (time < HEAVY_MS) return false;
  const { small, heavy, heavyTenants } = recentLoopTimes();
  // Work that is alone waits for nothing.
  if (small < 1) return false;
  const share = Math.max(MIN_SHARE_MS, 1000 - IDLE_FOR_SMALL * small);
  return heavy > share && time > share / heavyTenants;
}

/** Whether a request of a light tenant is in progress, and the tenant has not waited for {@link MAX_WAIT_MS} for such ones. */
function waitsForLightOnes(tenant: string): boolean {
  if (!isHeavyBesideLight(tenant)) return false;
  const now = performance.now();
  if (waits.of(tenant) >= MAX_WAIT_MS) return false;
  const sinceLastLook = now - (lastLooks.get(tenant) ?? Number.NEGATIVE_INFINITY);
  if (sinceLastLook <= SAME_WAIT_MS) waits.add(tenant, sinceLastLook);
  lastLooks.set(tenant, now);
  return true;
}

/** Whether a tenant is heavy, and a request of a light one is in progress and has precedence. */
function isHeavyBesideLight(tenant: string): boolean {
  const now = performance.now();
  for (const [other, requests] of inProgress) {
    if (!isLightBeside(other, tenant)) continue;
    for (const { began } of requests) if (now - began < PRECEDENCE_MS) return true;
  }
  return false;
}

/** Whether a tenant is light, and a request of a heavy one is in progress. */
export function isLightBesideHeavy(tenant: string): boolean {
  for (const other of inProgress.keys()) if (isLightBeside(tenant, other)) return true;
  return false;
}

/** Whether a tenant is light, and the other one is heavy. The service itself is neither. */
export function isLightBeside(tenant: string | null, other: string | null): boolean {
  if (tenant === null || other === null || tenant === other) return false;
  const time = recentLoopTimeOf(other);
  return time >= HEAVY_MS && recentLoopTimeOf(tenant) < time * LIGHT_PART;
}
