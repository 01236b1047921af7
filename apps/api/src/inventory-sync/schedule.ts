import type { Provider } from '@quartermaster/contracts/providers.ts';
import { findDueForSync, setNextSync } from '@quartermaster/db/repositories/providers.ts';
import { EVERYWHERE, scopeOf } from '@quartermaster/db/tenancy.ts';
import { ApiError } from '../errors.ts';
import type { Services } from '../services.ts';
import { syncInventoryAsSystem } from './service.ts';

/** Scheduled syncs that run at a time in one process. */
const AT_ONCE = 4;

/** When a provider is looked at again whose sync another process runs, in milliseconds. */
const LATER_MS = 60_000;

/** Starts the syncs that are due, as many as there is room for, and tells when those that run have ended. */
export function syncSchedule(services: Services): { startDue: () => Promise<void>; ended: () => Promise<unknown> } {
  const { db, log, databaseNow } = services;
  const running = new Map<string, Promise<void>>();

  const run = async (provider: Provider) => {
    try {
      await syncInventoryAsSystem(services, provider);
    } catch (error) {
      // Its task says why it failed, and its next time is set; elsewhere it may just be running.
      const code = error instanceof ApiError ? error.reason : null;
      if (code === 'sync_failed') return;
      if (code === null) log.error({ err: error, providerId: provider.id }, 'a scheduled sync failed');
      await setNextSync(db, scopeOf(provider), provider.id, new Date((await databaseNow(db)).getTime() + LATER_MS));
    }
  };

  return {
    async startDue() {
      const room = AT_ONCE - running.size;
      if (room <= 0 || !services.syncs.hasRoom()) return;
      const due = await findDueForSync(db, EVERYWHERE, await databaseNow(db), AT_ONCE);
      for (const provider of due.filter(({ id }) => !running.has(id)).slice(0, room)) {
        const ended = run(provider)
          .catch((error: unknown) => log.error({ err: error, providerId: provider.id }, 'a scheduled sync failed'))
          .finally(() => running.delete(provider.id));
        running.set(provider.id, ended);
      }
    },
    ended: () => Promise.all(running.values()),
  };
}
