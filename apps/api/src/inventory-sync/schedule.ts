import type { Provider } from '@quartermaster/contracts/providers.ts';
import { findDueForSync, setNextSync } from '@quartermaster/db/repositories/providers.ts';
import { EVERYWHERE, scopeOf } from '@quartermaster/db/tenancy.ts';
import { ApiError } from '../errors.ts';
import type { Services } from '../services.ts';
import { syncInventoryAsSystem } from './service.ts';

/** Scheduled syncs that run at a time in one process. */
const AT_ONCE = 4;

/** The same of one tenant: its providers may hang, and those of others are due as well. */
const AT_ONCE_PER_TENANT = 2;

/** Providers that are looked at, those that are due the longest first. */
const DUE_LOOKED_AT = 100;

/** When a provider is looked at again whose sync another process runs, in milliseconds. */
const LATER_MS = 60_000;

/** Starts the syncs that are due, as many as there is room for, and tells when those that run have ended. */
export function syncSchedule(services: Services): { startDue: () => Promise<void>; ended: () => Promise<unknown> } {
  const { db, log, databaseNow } = services;
  const running = new Map<string, { tenantId: string; ended: Promise<void> }>();
  const hasRoom = (tenantId: string) =>
    running.size < AT_ONCE &&
    [...running.values()].filter((one) => one.tenantId === tenantId).length < AT_ONCE_PER_TENANT &&
    services.syncs.hasRoom(tenantId);

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
      if (running.size >= AT_ONCE) return;
      const due = await findDueForSync(db, EVERYWHERE, await databaseNow(db), DUE_LOOKED_AT);
      for (const provider of due) {
        const { id, tenantId } = provider;
        if (running.has(id) || !hasRoom(tenantId)) continue;
        const ended = run(provider)
          .catch((error: unknown) => log.error({ err: error, providerId: id }, 'a scheduled sync failed'))
          .finally(() => running.delete(id));
        running.set(id, { tenantId, ended });
      }
    },
    ended: () => Promise.all([...running.values()].map(({ ended }) => ended)),
  };
}
