import { recentShareOf } from './loop-time.ts';

// While a request of a light tenant is in progress, work of a heavy tenant waits for a moment. Taking turns alone is not enough: a
// request takes several steps, and between any two of them the heavy tenant would have one.

/** A tenant is heavy if it took more than this part of the event loop's time lately. */
const HEAVY_SHARE = 0.2;

/** Another tenant is light beside it if it took at most this part of that. */
const LIGHT_PART = 1 / 3;

/** For how long a request of a light tenant has precedence, in milliseconds. It may wait for a slow client for much longer. */
const PRECEDENCE_MS = 250;

/** The longest time for which one piece of a heavy tenant's work waits, in milliseconds. */
const MAX_WAIT_MS = 25;

/** How soon whoever gives way looks again, in milliseconds. */
export const LOOK_AGAIN_MS = 1;

/** How many requests of each tenant are in progress, and when the newest of them began. */
const inProgress = new Map<string, { count: number; began: number }>();

/** Notes that a request of a tenant is in progress. @returns a function to call at its end */
export function beginRequest(tenant: string): () => void {
  const requests = inProgress.get(tenant) ?? { count: 0, began: 0 };
  requests.count += 1;
  requests.began = performance.now();
  inProgress.set(tenant, requests);
  return () => {
    requests.count -= 1;
    if (requests.count === 0) inProgress.delete(tenant);
  };
}

/** Whether a tenant is heavy, and a request of a light tenant is in progress. */
export function shouldGiveWay(tenant: string | null): boolean {
  if (tenant === null) return false;
  const share = recentShareOf(tenant);
  if (share < HEAVY_SHARE) return false;
  const now = performance.now();
  for (const [other, { began }] of inProgress) {
    if (other !== tenant && now - began < PRECEDENCE_MS && recentShareOf(other) < share * LIGHT_PART) return true;
  }
  return false;
}

/** Decides who waits at one place: a line of work, or a connection. */
export class GivingWay {
  /** When each tenant that gives way here has waited long enough. */
  readonly #until = new Map<string | null, number>();

  /** Whether the next piece of work of a tenant has to wait. It is no longer the next one once this is false. */
  isWaiting(tenant: string | null): boolean {
    if (shouldGiveWay(tenant)) {
      const now = performance.now();
      const until = this.#until.get(tenant);
      if (until === undefined) this.#until.set(tenant, now + MAX_WAIT_MS);
      if (until === undefined || now < until) return true;
    }
    this.#until.delete(tenant);
    return false;
  }
}
