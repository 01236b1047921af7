import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '@quartermaster/db/database.ts';
import { CommitOutcomeUnknownError, DatabaseUnavailableError } from '@quartermaster/db/errors.ts';
import { type NewClaim, releaseKey } from '@quartermaster/db/repositories/idempotency-keys.ts';
import type { Services } from '../../platform/services.ts';

/** The pause between two tries, in milliseconds. */
const EVERY_MS = 500;

/** The most claims that wait for release. Further ones expire with their lease, like those of a dead process. */
const MAX_WAITING = 10_000;

/** Claims that could not be released yet, by their database. */
const waiting = new WeakMap<Database, Set<NewClaim>>();

/**
 * Releases the key of a refused request, so that the caller can use it again at once. If the database is unavailable, the
 * release happens later, and the request does not wait. A key that has an answer after all, because a commit of unknown
 * outcome succeeded, keeps it.
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
  if (claims.size >= MAX_WAITING) return;
  claims.add(claim);
  if (claims.size === 1) void releaseAll(services, claims);
}

/** Releases the claims one after the other. */
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
