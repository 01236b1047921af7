import type { Operation } from '@quartermaster/contracts/operation.ts';
import { ApiError } from '../errors.ts';
import type { Context } from '../trpc.ts';
import { callerAt, callerOf } from './limits.ts';

/** Requests of one caller that are worked on at once while others ask as well. */
const ACTIVE_BESIDE_OTHERS = 4;

/** The same while nobody else asks. Many at once are an advantage then: SQLite commits them together. */
const ACTIVE_ALONE = 256;

/** Others count as asking for so long after their last request, in milliseconds. */
const BESIDE_OTHERS_MS = 10_000;

/** Requests of one caller that wait. */
const MAX_WAITING = 500;

/** The longest wait, in milliseconds. */
const MAX_WAIT_MS = 15_000;

type Caller = { active: number; waiting: (() => void)[] };

/**
 * Fair turns for callers that share a process. A caller who sends hundreds of requests at once would otherwise have
 * hundreds of them between each two of another caller. Turns cost nothing while a caller stays within its share.
 */
export class FairTurns {
  readonly #callers = new Map<string, Caller>();
  #lastCaller: string | null = null;
  #lastChangeAt = Number.NEGATIVE_INFINITY;

  /**
   * Works on a request when it is its turn.
   *
   * @param name of who shares its turns: a tenant, a user, an address
   * @throws 429 where too many requests of the caller wait, or one waits for too long
   */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    if (name !== this.#lastCaller) {
      if (this.#lastCaller !== null) this.#lastChangeAt = performance.now();
      this.#lastCaller = name;
    }
    const caller = this.#of(name);
    if (caller.active < this.#share()) caller.active += 1;
    else await this.#wait(caller);
    try {
      return await work();
    } finally {
      caller.active -= 1;
      while (caller.waiting.length > 0 && caller.active < this.#share()) {
        caller.active += 1;
        caller.waiting.shift()?.();
      }
      if (caller.active === 0) this.#callers.delete(name);
    }
  }

  /** How many requests are worked on now. */
  get active(): number {
    let active = 0;
    for (const caller of this.#callers.values()) active += caller.active;
    return active;
  }

  /** How many requests one caller may have active now. */
  #share(): number {
    return performance.now() - this.#lastChangeAt < BESIDE_OTHERS_MS ? ACTIVE_BESIDE_OTHERS : ACTIVE_ALONE;
  }

  #of(name: string): Caller {
    const known = this.#callers.get(name);
    if (known) return known;
    const fresh: Caller = { active: 0, waiting: [] };
    this.#callers.set(name, fresh);
    return fresh;
  }

  #wait({ waiting }: Caller): Promise<void> {
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

/**
 * Works on a request when it is its turn. The accounts of a tenant share its turns; users and addresses have their own.
 * Who waits for another server takes no turn: that may last a minute, and costs little.
 */
export function inFairTurn<T>(
  { services, principal, address }: Pick<Context, 'services' | 'principal' | 'address'>,
  operation: Pick<Operation, 'idempotency'>,
  work: () => Promise<T>,
): Promise<T> {
  if (operation.idempotency === 'lease') return work();
  const { id, tenantId } = principal === null ? callerAt(address) : callerOf(principal);
  return services.turns.run(tenantId === '' ? id : `tenant:${tenantId}`, work);
}

function tooMany(): ApiError {
  return new ApiError('rate_limited', 'Too many of your requests are waiting. Send fewer at once.', {
    headers: { 'Retry-After': '1' },
  });
}
