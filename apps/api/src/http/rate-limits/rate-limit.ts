/** The length of a window. All windows of all limits begin at each full minute, in every process. */
export const WINDOW_MS = 60_000;

/** The most callers that are counted at a time. Beyond that the oldest is forgotten, so that a flood cannot fill the memory. */
const CALLERS_COUNTED = 100_000;

/** The part of a shared limit that a process takes at a time. */
const SHARE_TAKEN = 0.05;

/** Who is limited. `id` is unique within the limit. `limit`: the caller's own limit, if it differs. */
export type Caller = { tenantId: string; id: string; limit?: number };

/** The result of counting one request. */
export type Counted = {
  allowed: boolean;
  /** Points of a window. */
  limit: number;
  /** Points left in this window, as far as this process knows. Most requests cost one. */
  remaining: number;
  /** Seconds until all of them are back. */
  resetSeconds: number;
  /** Requests of the caller that this process has refused in this window. */
  refusals: number;
};

/**
 * Takes points of a limit that all processes share.
 *
 * @returns the points that all processes have taken in this window; null if the database cannot tell
 */
export type TakePoints = (policy: string, caller: Caller, windowStart: Date, points: number) => Promise<number | null>;

type Options = {
  /** The limit's name in the headers of answers. */
  policy: string;
  /** Points in a window. */
  limit: number;
  now: () => Date;
  /** Null: this process counts alone. */
  takePoints: TakePoints | null;
};

type Count = {
  limit: number;
  used: number;
  /** Points that this process has taken, and may use. */
  granted: number;
  /** Points that no process had taken when the table was last read. */
  untaken: number;
  /** Points are being taken from the table. */
  taking: Promise<void> | null;
  refusals: number;
};

/**
 * Counts requests in fixed windows. A single process keeps its counts in memory. Processes that share a limit take points from
 * a table in portions before they use them: a request seldom asks the database, and together they never exceed the limit. If
 * the database is unavailable, the process counts alone until the window ends.
 */
export class RateLimit {
  readonly policy: string;
  readonly limit: number;
  readonly #now: () => Date;
  readonly #takePoints: TakePoints | null;
  #window = 0;
  #counts = new Map<string, Count>();

  constructor({ policy, limit, now, takePoints }: Options) {
    this.policy = policy;
    this.limit = limit;
    this.#now = now;
    this.#takePoints = takePoints;
  }

  /**
   * Counts a request. Synchronous, unless points must be taken from the shared table first.
   *
   * @param cost points that it takes. A request is allowed while any point is left, and may take more than that: so a
   *   limit below the cost of a request does not refuse it forever
   */
  count(caller: Caller, cost = 1): Counted | Promise<Counted> {
    const time = this.#roll();
    const count = this.#countOf(caller);
    if (count.used < count.granted) {
      count.used += cost;
      return this.#resultOf(count, true, time);
    }
    return count.untaken === 0 ? this.#resultOf(count, false, time) : this.#takeThenCount(caller, count, cost);
  }

  /** Whether the next request would be refused, as far as this process knows. Counts nothing. */
  isExhausted(caller: Caller): boolean {
    this.#roll();
    const count = this.#counts.get(caller.id);
    return count !== undefined && count.used >= count.granted && count.untaken === 0;
  }

  /** Whether anything was counted in this window. */
  hasCounted(caller: Caller): boolean {
    this.#roll();
    return this.#counts.has(caller.id);
  }

  /** How many callers are counted now. */
  get callers(): number {
    return this.#counts.size;
  }

  /** Begins a new window if the last one is over. @returns the time, in milliseconds */
  #roll(): number {
    const time = this.#now().getTime();
    const window = Math.floor(time / WINDOW_MS);
    if (window !== this.#window) {
      this.#window = window;
      this.#counts = new Map();
    }
    return time;
  }

  /** The points that a caller has used in this window, as far as this process knows. */
  usedBy({ id }: Pick<Caller, 'id'>): number {
    this.#roll();
    return this.#counts.get(id)?.used ?? 0;
  }

  #countOf({ id, limit = this.limit }: Caller): Count {
    const known = this.#counts.get(id);
    if (known) {
      if (known.limit !== limit) this.#changeLimit(known, limit);
      return known;
    }
    if (this.#counts.size >= CALLERS_COUNTED) {
      const [first] = this.#counts.keys();
      if (first !== undefined) this.#counts.delete(first);
    }
    const alone = this.#takePoints === null;
    const count = {
      limit,
      used: 0,
      granted: alone ? limit : 0,
      untaken: alone ? 0 : limit,
      taking: null,
      refusals: 0,
    };
    this.#counts.set(id, count);
    return count;
  }

  /** The limit of a caller was changed within the window. */
  #changeLimit(count: Count, limit: number): void {
    if (this.#takePoints === null) count.granted = limit;
    else {
      count.untaken = Math.max(0, count.untaken + limit - count.limit);
      // A portion of the former limit may be more than the new one.
      count.granted = Math.min(count.granted, limit);
    }
    count.limit = limit;
  }

  async #takeThenCount(caller: Caller, count: Count, cost: number): Promise<Counted> {
    count.taking ??= this.#take(caller, count).finally(() => {
      count.taking = null;
    });
    await count.taking;
    // Meanwhile a new window may have begun, or other requests may have used the points.
    return this.count(caller, cost);
  }

  async #take(caller: Caller, count: Count): Promise<void> {
    const windowStart = new Date(this.#window * WINDOW_MS);
    const { limit } = count;
    const portion = Math.max(1, Math.floor(limit * SHARE_TAKEN));
    const taken = (await this.#takePoints?.(this.policy, caller, windowStart, portion)) ?? null;
    if (taken === null) {
      count.granted = limit;
      count.untaken = 0;
      return;
    }
    const before = Math.min(limit, taken - portion);
    const after = Math.min(limit, taken);
    count.granted += after - before;
    count.untaken = limit - after;
  }

  #resultOf(count: Count, allowed: boolean, time: number): Counted {
    if (!allowed) count.refusals += 1;
    return {
      allowed,
      limit: count.limit,
      remaining: Math.max(0, count.granted - count.used + count.untaken),
      resetSeconds: Math.ceil((WINDOW_MS - (time % WINDOW_MS)) / 1000),
      refusals: count.refusals,
    };
  }
}
