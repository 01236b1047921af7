import { RateLimit } from './rate-limit.ts';

/** Prompt writes of all users of a tenant in a minute. */
const MOST_IN_A_MINUTE = 60;

/**
 * Counts the writes of people that are carried out promptly: they neither pause for the delays of their tenant nor take turns with
 * its programs. So a person can stop a program of the tenant at once, however much it sends. Few are enough for that, and the limit
 * is for all users of a tenant together, because anyone can be several users.
 */
export class PromptWrites {
  readonly #limit: RateLimit;

  constructor(now: () => Date) {
    this.#limit = new RateLimit({ policy: 'prompt_writes', limit: MOST_IN_A_MINUTE, now, takePoints: null });
  }

  /** Counts a write. @returns whether it is among the first of its tenant's users in this minute */
  take(tenantId: string): boolean {
    const users = { tenantId, id: tenantId };
    if (this.#limit.isExhausted(users)) return false;
    // Not a promise: no other process shares these points.
    void this.#limit.count(users);
    return true;
  }
}
