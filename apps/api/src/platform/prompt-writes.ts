import { BoundedMap } from '@quartermaster/db/bounded-map.ts';

/** Prompt writes of all users of a tenant in a minute. */
const MOST_IN_A_MINUTE = 60;

const MINUTE_MS = 60_000;

const MAX_TENANTS = 10_000;

/**
 * Counts the writes of people that are carried out promptly: they neither pause for the delays of their tenant nor take turns with
 * its programs. So a person can stop a program of the tenant at once, however much it sends. Few are enough for that, and the limit
 * is for all users of a tenant together, because anyone can be several users.
 */
export class PromptWrites {
  readonly #counts = new BoundedMap<string, { minute: number; writes: number }>(MAX_TENANTS);
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  /** Counts a write. @returns whether it is among the first of its tenant's users in this minute */
  take(tenantId: string): boolean {
    const minute = Math.floor(this.#now().getTime() / MINUTE_MS);
    const count = this.#counts.get(tenantId);
    const writes = count?.minute === minute ? count.writes + 1 : 1;
    this.#counts.set(tenantId, { minute, writes });
    return writes <= MOST_IN_A_MINUTE;
  }
}
