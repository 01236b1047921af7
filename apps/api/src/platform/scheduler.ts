import { runForTenant, type Turn } from '@quartermaster/db/tenant-context.ts';
import { ApiError } from './errors.ts';

/** Requests of one caller and kind that run concurrently while other callers send requests as well. */
const ACTIVE_BESIDE_OTHERS = 4;

/** The same while only one caller sends requests. SQLite commits many of them together. */
const ACTIVE_ALONE = 256;

/** How long another caller's request counts, in milliseconds. */
const BESIDE_OTHERS_MS = 10_000;

/** Requests of one caller and kind that wait. */
const MAX_WAITING = 500;

/** How long a request may wait for everything that it needs, in milliseconds. Exporters of telemetry give up after 10 s. */
const MAX_WAIT_MS = 8000;

/** How long the requests of a tenant work in one turn of the event loop, in milliseconds. */
const TURN_MS = 4;

/**
 * The same for the transaction that holds SQLite's writing connection, while other callers send requests. It is longer, because
 * other writes wait for the end of the transaction.
 */
const WRITER_TURN_MS = 20;

/**
 * A transaction on SQLite that works for longer than this noticeably delays the writes of others. In milliseconds of CPU time.
 */
const LONG_TRANSACTION_MS = 14;

/**
 * While other callers send requests too, the long transactions of a caller may take this part of the time. The unused part of
 * up to `BURST_MS` is saved up. `MAX_PAUSE_MS` is the longest pause.
 */
const LONG_TRANSACTIONS_PART = 0.02;
const BURST_MS = 10_000;
const MAX_PAUSE_MS = 1000;

/** A key in the place of a tenant: the holder of SQLite's writing connection. */
const WRITER = Symbol('writer');

/** Who makes requests, as the scheduler distinguishes them. Requests with the same `name` wait for each other. */
export type Caller = {
  /** A tenant's accounts, its users, a user or an address. */
  name: string;
  /** Callers with the same `tenant` share one turn of the event loop, and one share of the database connections. */
  tenant: string;
};

/** Requests of one kind do not wait for those of the other. */
export type Kind = 'read' | 'write';

type Waiting = { since: number; start: () => void };
type Line = {
  active: number;
  waiting: Waiting[];
  /** Until then no request of this line starts while other callers send requests. Long transactions cause the pause. */
  pausedUntil: number;
  timer: NodeJS.Timeout | undefined;
};

/**
 * Shares one process between tenants. There are four rules:
 *
 * 1. **Bounded concurrency.** A few requests of each caller run at the same time, and its other requests wait in its own line.
 *    So a caller that sends hundreds of requests at once gets a few of them done between two requests of another caller.
 * 2. **Turns of the event loop.** When the requests of a tenant have worked for {@link TURN_MS}, they go on in later turns, one
 *    after the other. So the event loop is free again after {@link TURN_MS} for each tenant that has work.
 *    The transaction that holds SQLite's writing connection has a turn of its own, and a longer one.
 * 3. **Long transactions are rare.** SQLite has one writing connection. After a transaction that held it for more than
 *    {@link LONG_TRANSACTION_MS}, the writes of its caller pause while other callers send requests, and then run one at a time.
 *    So long transactions take {@link LONG_TRANSACTIONS_PART} of the time. The first long transactions cause no pause
 *    ({@link BURST_MS}), because code is slow when it runs for the first time.
 * 4. **One deadline.** A request waits for {@link MAX_WAIT_MS} in total: for memory, in its line, and in the fair queue of the
 *    database's connections. It holds no place in its line while it waits for memory.
 */
export class Scheduler {
  readonly #lines = new Map<string, Line>();
  /** Work that goes on in a later turn, by tenant, in the order in which tenants are served. */
  readonly #later = new Map<string | null, (() => void)[]>();
  /** When each tenant began to work in this turn. */
  readonly #begun = new Map<string | symbol | null, number>();
  #turnIsScheduled = false;
  #lastCaller: string | null = null;
  #lastChangeAt = Number.NEGATIVE_INFINITY;

  /** How many requests run now. */
  get active(): number {
    return this.#lines.values().reduce((sum, { active }) => sum + active, 0);
  }

  /** Until when a request that arrives now may wait, in milliseconds of `performance.now()`. */
  deadline(): number {
    return performance.now() + MAX_WAIT_MS;
  }

  /**
   * Runs a request when there is room for it.
   *
   * @param work gets how long the request has waited, in milliseconds
   * @param deadline of a request that has already waited for something else
   * @throws ApiError 429 if too many requests of the caller wait, or if it waits too long
   */
  async run<T>(
    { name, tenant }: Caller,
    kind: Kind,
    work: (waitedMs: number) => Promise<T>,
    deadline = this.deadline(),
  ): Promise<T> {
    const since = performance.now();
    this.#note(name);
    const key = `${kind} ${name}`;
    const line: Line = this.#lines.get(key) ?? { active: 0, waiting: [], pausedUntil: -Infinity, timer: undefined };
    this.#lines.set(key, line);
    if (this.#mayStart(line)) line.active += 1;
    else await this.#wait(line, deadline);
    try {
      if (this.#isBesideOthers() && this.#isOver(tenant)) await this.#nextTurn(tenant, false);
      const turn = { tenant, deadline, hold: (cpuMs: number) => this.#pause(line, cpuMs) };
      return await this.#runWithTurn(turn, () => work(performance.now() - since));
    } finally {
      line.active -= 1;
      this.#startWaiting(line);
      this.#continue(tenant);
      this.#forget(key, line);
    }
  }

  /** Forgets a line without requests, once its long transactions no longer count. */
  #forget(key: string, line: Line): void {
    if (line.active > 0 || line.waiting.length > 0) return;
    const left = line.pausedUntil + BURST_MS - performance.now();
    clearTimeout(line.timer);
    if (left > 0) line.timer = setTimeout(() => this.#forget(key, line), left).unref();
    else this.#lines.delete(key);
  }

  /** Runs work without waiting in a line. It still takes turns with others. @param tenant null for the service itself */
  runWithoutLine<T>(tenant: string | null, work: () => Promise<T>): Promise<T> {
    return this.#runWithTurn({ tenant, deadline: Number.POSITIVE_INFINITY, hold: () => {} }, work);
  }

  #runWithTurn<T>(
    { tenant, deadline, hold }: { tenant: string | null } & Pick<Turn, 'deadline' | 'hold'>,
    work: () => Promise<T>,
  ): Promise<T> {
    const isOver = (isWriter: boolean) =>
      isWriter && this.#isBesideOthers() ? this.#isOver(WRITER, WRITER_TURN_MS) : this.#isOver(tenant);
    const next = (isUrgent: boolean) => this.#nextTurn(tenant, isUrgent);
    return runForTenant(tenant, work, { deadline, hold, isOver, next });
  }

  #note(caller: string): void {
    if (caller === this.#lastCaller) return;
    if (this.#lastCaller !== null) this.#lastChangeAt = performance.now();
    this.#lastCaller = caller;
  }

  #isBesideOthers(): boolean {
    return performance.now() - this.#lastChangeAt < BESIDE_OTHERS_MS;
  }

  #mayStart({ active, pausedUntil }: Line): boolean {
    if (!this.#isBesideOthers()) return active < ACTIVE_ALONE;
    const now = performance.now();
    if (now < pausedUntil) return false;
    return active < (now - pausedUntil < MAX_PAUSE_MS ? 1 : ACTIVE_BESIDE_OTHERS);
  }

  #startWaiting(line: Line): void {
    clearTimeout(line.timer);
    while (line.waiting.length > 0 && this.#mayStart(line)) {
      line.active += 1;
      line.waiting.shift()?.start();
    }
    if (line.waiting.length === 0) return;
    // The end of the pause, or of the time after it in which requests run one at a time.
    const left = [line.pausedUntil, line.pausedUntil + MAX_PAUSE_MS].map((time) => time - performance.now());
    const next = left.find((milliseconds) => milliseconds > 0);
    if (next !== undefined) line.timer = setTimeout(() => this.#startWaiting(line), next);
  }

  /** Notes that a transaction of a line held SQLite's writing connection. */
  #pause(line: Line, cpuMs: number): void {
    if (cpuMs <= LONG_TRANSACTION_MS || !this.#isBesideOthers()) return;
    const now = performance.now();
    const pausedUntil =
      Math.max(now - BURST_MS, line.pausedUntil) + (cpuMs - LONG_TRANSACTION_MS) / LONG_TRANSACTIONS_PART;
    line.pausedUntil = Math.min(pausedUntil, now + MAX_PAUSE_MS);
  }

  #wait(line: Line, deadline: number): Promise<void> {
    const { waiting } = line;
    const since = performance.now();
    if (waiting.length >= MAX_WAITING) throw tooMany(since - (waiting[0]?.since ?? since));
    return new Promise((resolve, reject) => {
      const entry = {
        since,
        start: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(entry), 1);
        reject(tooMany(performance.now() - since));
      }, deadline - since);
      waiting.push(entry);
      // If the line pauses, this starts the timer that ends the pause.
      this.#startWaiting(line);
    });
  }

  /** Whether a tenant has used its part of this turn. The part begins with the first call of this method in the turn. */
  #isOver(tenant: string | symbol | null, turnMs = TURN_MS): boolean {
    const now = performance.now();
    const begun = this.#begun.get(tenant) ?? now;
    this.#begun.set(tenant, begun);
    this.#scheduleTurn();
    return now - begun >= turnMs;
  }

  /** @param isUrgent others wait for what the request holds, so it does not wait for other requests of its tenant */
  #nextTurn(tenant: string | null, isUrgent: boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#scheduleTurn();
      if (isUrgent) {
        setImmediate(resolve);
        return;
      }
      const line = this.#later.get(tenant);
      if (line) line.push(resolve);
      else this.#later.set(tenant, [resolve]);
    });
  }

  #scheduleTurn(): void {
    if (this.#turnIsScheduled) return;
    this.#turnIsScheduled = true;
    setImmediate(() => this.#beginTurn());
  }

  #beginTurn(): void {
    this.#turnIsScheduled = false;
    this.#begun.clear();
    for (const tenant of this.#later.keys()) this.#continue(tenant);
  }

  /** Continues the next request of a tenant, if it may still work in this turn. */
  #continue(tenant: string | null): void {
    const line = this.#later.get(tenant);
    if (line === undefined || this.#isOver(tenant)) return;
    const next = line.shift();
    if (line.length === 0) this.#later.delete(tenant);
    next?.();
  }
}

/** @param waitMs how long requests of the caller wait at the moment: a new one would wait for longer */
function tooMany(waitMs: number): ApiError {
  const detail = 'Too many of your requests are waiting. Send fewer requests at the same time.';
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  return new ApiError('rate_limited', detail, { headers: { 'Retry-After': String(seconds) } });
}
