import { isNearPause, mustPause, noteRequest, pauseAfterDelays } from '@quartermaster/db/delay-budget.ts';
import { yieldToOtherTenants } from '@quartermaster/db/loop-turns.ts';
import { ApiError } from './errors.ts';

/** Requests of one kind of a caller that run concurrently while other callers send requests as well. */
const ACTIVE_BESIDE_OTHERS = 4;

/** Requests of the only caller that run concurrently. A high number is faster then: SQLite commits them together. */
const ACTIVE_ALONE = 256;

/** How long another caller's request counts, in milliseconds. */
const BESIDE_OTHERS_MS = 10_000;

/** Maximum number of waiting requests of one kind of a caller, and of those that pause. */
const MAX_WAITING = 500;

/** The longest time that a request waits, in milliseconds. */
const MAX_WAIT_MS = 15_000;

/** The requests of one kind of a caller. */
type Line = { active: number; waiting: (() => void)[] };

/** Who takes turns. */
export type TurnTaker = {
  /** Whose requests share turns: a tenant's accounts, its users, a user or an address. */
  name: string;
  /** The name under which the database counts the work, and for whose delays the requests pause. */
  tenant: string;
};

/**
 * `write`: it pauses if its tenant has delayed others. `read`: it does not, because reads do not delay others for long. `prompt`: a
 * write of a person that does not pause either. Requests of one kind do not wait for those of another.
 */
export type Kind = 'read' | 'write' | 'prompt';

/**
 * Fair queueing for callers that share a process. Without it, a caller who sends hundreds of requests at once would get
 * hundreds of turns between two requests of another caller. It costs nothing while a caller stays within its share.
 */
export class FairTurns {
  readonly #lines: Record<Kind, Map<string, Line>> = { read: new Map(), write: new Map(), prompt: new Map() };
  /** How many requests of each tenant pause. */
  readonly #pausing = new Map<string, number>();
  #lastCaller: string | null = null;
  #lastChangeAt = Number.NEGATIVE_INFINITY;

  /**
   * Runs a request when it is its turn.
   *
   * @throws 429 if too many requests of the caller wait, or this one waits for too long
   */
  async run<T>(taker: TurnTaker, kind: Kind, work: () => Promise<T>): Promise<T> {
    const { name, tenant } = taker;
    if (name !== this.#lastCaller) {
      if (this.#lastCaller !== null) this.#lastChangeAt = performance.now();
      this.#lastCaller = name;
    }
    noteRequest(tenant);
    const done = kind === 'write' && mustPause(tenant) ? await this.#pause(tenant) : () => {};
    try {
      return await this.#runInTurn(taker, kind, work);
    } finally {
      done();
    }
  }

  async #runInTurn<T>(taker: TurnTaker, kind: Kind, work: () => Promise<T>): Promise<T> {
    const { name, tenant } = taker;
    const lines = this.#lines[kind];
    const line = lines.get(name) ?? { active: 0, waiting: [] };
    lines.set(name, line);
    if (line.active < this.#share(tenant, kind)) line.active += 1;
    else await this.#wait(line);
    try {
      if (this.#isBesideOthers()) await yieldToOtherTenants(tenant);
      return await work();
    } finally {
      line.active -= 1;
      while (line.waiting.length > 0 && line.active < this.#share(tenant, kind)) {
        line.active += 1;
        line.waiting.shift()?.();
      }
      if (line.active === 0) lines.delete(name);
    }
  }

  /** Requests that pause here take no turn. */
  async #pause(tenant: string): Promise<() => void> {
    const pausing = this.#pausing.get(tenant) ?? 0;
    if (pausing >= MAX_WAITING) throw tooMany();
    this.#pausing.set(tenant, pausing + 1);
    try {
      return await pauseAfterDelays(tenant);
    } finally {
      const left = (this.#pausing.get(tenant) ?? 0) - 1;
      if (left > 0) this.#pausing.set(tenant, left);
      else this.#pausing.delete(tenant);
    }
  }

  /** How many requests run now. */
  get active(): number {
    let active = 0;
    for (const lines of Object.values(this.#lines)) for (const line of lines.values()) active += line.active;
    return active;
  }

  /** How many requests of one kind of a caller may run now. */
  #share(tenant: string, kind: Kind): number {
    if (!this.#isBesideOthers()) return ACTIVE_ALONE;
    return kind === 'write' && isNearPause(tenant) ? 1 : ACTIVE_BESIDE_OTHERS;
  }

  #isBesideOthers(): boolean {
    return performance.now() - this.#lastChangeAt < BESIDE_OTHERS_MS;
  }

  #wait({ waiting }: Line): Promise<void> {
    if (waiting.length >= MAX_WAITING) throw tooMany();
    return new Promise((resolve, reject) => {
      const turn = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(turn), 1);
        reject(tooMany());
      }, MAX_WAIT_MS);
      waiting.push(turn);
    });
  }
}

function tooMany(): ApiError {
  return new ApiError('rate_limited', 'Too many of your requests are waiting. Send fewer requests at the same time.', {
    headers: { 'Retry-After': '1' },
  });
}
