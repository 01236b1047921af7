import { inTransaction } from '@quartermaster/db/transaction.ts';
import type { OnboardingLimit, Services } from './services.ts';

/**
 * Runs a whole operation in one transaction. Everything that `work` writes through `inside` becomes part of it. If `work`
 * throws, all of it is rolled back.
 *
 * `work` may run more than once ({@link inTransaction}), so the rate limits of `inside` count only the first run.
 */
export function inOneTransaction<T>(services: Services, work: (inside: Services) => Promise<T>): Promise<T> {
  const { registrations, organizations } = services.onboarding;
  const limits = { registrations: countedOnce(registrations), organizations: countedOnce(organizations) };
  const onboarding = { ...services.onboarding, ...limits };
  return inTransaction(services.db, (db) => work({ ...services, onboarding, db }));
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
