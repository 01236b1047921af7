import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '@quartermaster/db/database.ts';
import { CommitOutcomeUnknownError, DatabaseUnavailableError } from '@quartermaster/db/errors.ts';
import { type NewClaim, releaseKey } from '@quartermaster/db/repositories/idempotency-keys.ts';
import type { Services } from '../services.ts';

/** How often it is tried again, in milliseconds. */
const EVERY_MS = 500;

/** Claims that wait at a time. What is beyond them its lease ends, as that of a process that died. */
const MOST_WAITING = 10_000;

/** Claims that could not be released yet, by the database that they stand in. */
const waiting = new WeakMap<Database, Set<NewClaim>>();

/**
 * Lets go of a key whose request was refused: it may be sent again at once. Where the database is away, that is done as soon
 * as it is back, and nobody waits for it. What was answered after all, by a commit of unknown outcome, stays.
 */
export async function release(services: Pick<Services, 'db' | 'log'>, claim: NewClaim): Promise<void> {
  try {
    await releaseKey(services.db, claim);
  } catch (error) {
    if (isAway(error)) later(services, claim);
    else services.log.warn({ err: error }, 'an idempotency key was not released; its lease ends it');
  }
}

function later(services: Pick<Services, 'db' | 'log'>, claim: NewClaim): void {
  const claims = waiting.get(services.db) ?? new Set();
  waiting.set(services.db, claims);
  if (claims.size >= MOST_WAITING) return;
  claims.add(claim);
  if (claims.size === 1) void releaseAll(services, claims);
}

/** One after the other, until none is left. */
async function releaseAll({ db, log }: Pick<Services, 'db' | 'log'>, claims: Set<NewClaim>): Promise<void> {
  while (claims.size > 0) {
    await sleep(EVERY_MS, undefined, { ref: false });
    try {
      for (const claim of claims) {
        await releaseKey(db, claim);
        claims.delete(claim);
      }
    } catch (error) {
      if (isAway(error)) continue;
      log.warn({ err: error, claims: claims.size }, 'idempotency keys were not released; their leases end them');
      claims.clear();
    }
  }
}

function isAway(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError || error instanceof CommitOutcomeUnknownError;
}
