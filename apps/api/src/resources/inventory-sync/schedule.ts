import type { Provider } from '@quartermaster/contracts/providers.ts';
import { BoundedMap } from '@quartermaster/db/bounded-map.ts';
import { findProvidersDueForSync, setNextSync } from '@quartermaster/db/repositories/providers.ts';
import { EVERYWHERE, scopeOf } from '@quartermaster/db/tenancy.ts';
import { ApiError } from '../../platform/errors.ts';
import type { SyncServices } from './attempts.ts';
import { syncInventoryAsSystem } from './service.ts';

/** Scheduled syncs that run concurrently in one process. */
const MAX_CONCURRENT = 4;

/** Scheduled syncs of one tenant that run concurrently, so that its hanging providers do not block other tenants. */
const MAX_CONCURRENT_PER_TENANT = 2;

/** Tenants whose last turn is remembered. */
const MAX_TENANTS = 10_000;

/** Due providers that are read at a time, the longest overdue first. */
const DUE = { limit: 100, perTenant: MAX_CONCURRENT_PER_TENANT };

/** When to try again if another process is syncing the provider, in milliseconds. */
const RETRY_MS = 60_000;

/**
 * `startDue` starts as many due syncs as there is room for. Tenants take turns (round robin): those whose last sync began the
 * longest ago come first, because a tenant with more providers than it can sync in time is always the longest overdue. `ended`
 * resolves when the running syncs have ended.
 */
export function syncSchedule(services: SyncServices): { startDue: () => Promise<void>; ended: () => Promise<unknown> } {
  const { db, log, databaseNow } = services;
  const running = new Map<string, { tenantId: string; ended: Promise<void> }>();
  // The number of the last sync that each tenant started. Also of tenants without due providers: they may have some again soon.
  const turns = new BoundedMap<string, number>(MAX_TENANTS);
  let started = 0;
  const hasRoom = (tenantId: string) =>
    running.size < MAX_CONCURRENT &&
    [...running.values()].filter((one) => one.tenantId === tenantId).length < MAX_CONCURRENT_PER_TENANT &&
    services.syncs.hasRoom(tenantId);

  const run = async (provider: Provider) => {
    try {
      await syncInventoryAsSystem(services, provider);
    } catch (error) {
      // For `sync_failed` the task has the reason and the next sync is scheduled. `sync_running`: another process syncs it.
      const code = error instanceof ApiError ? error.reason : null;
      if (code === 'sync_failed') return;
      if (code === null) log.error({ err: error, providerId: provider.id }, 'a scheduled sync failed');
      await setNextSync(db, scopeOf(provider), provider.id, new Date((await databaseNow(db)).getTime() + RETRY_MS));
    }
  };

  return {
    async startDue() {
      if (running.size >= MAX_CONCURRENT) return;
      const due = await findProvidersDueForSync(db, EVERYWHERE, await databaseNow(db), DUE);
      const turnOf = ({ tenantId }: Provider) => turns.get(tenantId) ?? 0;
      for (const provider of due.toSorted((a, b) => turnOf(a) - turnOf(b))) {
        const { id, tenantId } = provider;
        if (running.has(id) || !hasRoom(tenantId)) continue;
        const ended = run(provider)
          .catch((error: unknown) => log.error({ err: error, providerId: id }, 'a scheduled sync failed'))
          .finally(() => running.delete(id));
        running.set(id, { tenantId, ended });
        started += 1;
        // Removed first, so that the map forgets the tenant whose last sync began the longest ago.
        turns.delete(tenantId);
        turns.set(tenantId, started);
      }
    },
    ended: () => Promise.all([...running.values()].map(({ ended }) => ended)),
  };
}
