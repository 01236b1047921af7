import { inTransaction } from '@quartermaster/db/transaction.ts';
import { TRPCError } from '@trpc/server';
import { ApiError, ValidationFailure } from './errors.ts';
import type { OnboardingLimit } from './rate-limits/limits.ts';
import type { Services } from './services.ts';

/**
 * Runs a whole procedure in one transaction: whatever it writes through the services that it is given becomes part of
 * that, with what else `work` writes there. What throws undoes all of it.
 *
 * The work may run more than once ({@link inTransaction}), so it is given limits that count it once.
 */
export function inOneTransaction<T>(services: Services, work: (inside: Services) => Promise<T>): Promise<T> {
  const { registrations, organizations } = services;
  const limits = { registrations: countedOnce(registrations), organizations: countedOnce(organizations) };
  return inTransaction(services.db, (db) => work({ ...services, ...limits, db }).catch(rethrowCause));
}

/** tRPC wraps what a procedure throws; what tells whether the transaction may be tried again is inside. */
function rethrowCause(error: unknown): never {
  const isOurs = error instanceof ApiError || error instanceof ValidationFailure;
  throw error instanceof TRPCError && !isOurs && error.cause !== undefined ? error.cause : error;
}

function countedOnce(limit: OnboardingLimit): OnboardingLimit {
  const counted = new Map<string, Promise<void>>();
  return {
    consume(caller) {
      const count = counted.get(caller) ?? limit.consume(caller);
      counted.set(caller, count);
      return count;
    },
  };
}
