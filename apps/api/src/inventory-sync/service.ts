import type { InventorySync } from '@quartermaster/contracts/inventory-syncs.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import {
  endSyncTask,
  findSyncTask,
  insertSyncTask,
  pruneSyncTasks,
} from '@quartermaster/db/repositories/inventory-sync.ts';
import { findProvider } from '@quartermaster/db/repositories/providers.ts';
import { scopeOf, type TenantScope } from '@quartermaster/db/tenancy.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { write, writeAsSystem } from '../audit-events/write.ts';
import { ApiError, whenTaken } from '../errors.ts';
import { notFound } from '../providers/service.ts';
import type { Services } from '../services.ts';
import type { CallerContext } from '../trpc.ts';
import { ListingFailed, type SyncableProvider } from './attempts.ts';
import { leaseFrom, runSync, type Writer } from './run.ts';
import { SyncInterrupted } from './runs.ts';

/** Finished sync tasks of a provider that are kept, the newest. */
const TASKS_KEPT = 100;

const RUNNING = 'A sync of this provider is running: see its operator task of kind sync_inventory.';

/** Syncs the inventory of a provider for a caller. */
export function syncInventory(ctx: CallerContext, providerId: string): Promise<InventorySync> {
  return sync(ctx.services, { reach: ctx.reach, providerId, writing: (work) => write(ctx, work) });
}

/** The same without a caller: on a schedule. */
export function syncInventoryAsSystem(services: Services, provider: Provider): Promise<InventorySync> {
  const writing: Writer = (work) => writeAsSystem(services, 'sync_provider_inventory', work);
  return sync(services, { reach: scopeOf(provider), providerId: provider.id, writing });
}

async function sync(
  services: Services,
  { reach, providerId, writing }: { reach: TenantScope; providerId: string; writing: Writer },
): Promise<InventorySync> {
  const asked = await findProvider(services.db, reach, providerId);
  if (!asked) throw notFound();
  if (!services.syncs.hasRoom(asked.tenantId)) {
    throw new ApiError('rate_limited', 'Too many syncs are running: ask again.', { headers: { 'Retry-After': '5' } });
  }
  return services.syncs.run(asked.tenantId, async (stopping) => {
    const { provider, taskId } = await begin(services, reach, providerId);
    try {
      return await runSync({ services, provider, taskId, writing }, stopping);
    } catch (error) {
      if (!(error instanceof ListingFailed) && !(error instanceof SyncInterrupted)) throw error;
      throw new ApiError('sync_failed', `The sync ${taskId} failed: ${error.message}.`, { cause: error });
    }
  });
}

/** Makes the task that a sync runs as: one at a time for a provider, whichever process runs it. */
async function begin(
  { db, now, databaseNow }: Services,
  reach: TenantScope,
  providerId: string,
): Promise<{ provider: SyncableProvider; taskId: string }> {
  const time = now();
  return inTransaction(db, async (trx) => {
    const found = await findProvider(trx, reach, providerId);
    if (!found) throw notFound();
    const provider = syncable(found);
    const leaseNow = await databaseNow(trx);
    await refuseOrTakeOver(trx, provider, { now: time, leaseNow });
    await pruneSyncTasks(trx, provider, { kept: TASKS_KEPT });
    return { provider, taskId: await insertSyncTask(trx, provider, { leaseExpiresAt: leaseFrom(leaseNow) }, time) };
  }).catch(whenTaken('sync_running', RUNNING));
}

async function refuseOrTakeOver(
  trx: Database,
  provider: Provider,
  { now, leaseNow }: { now: Date; leaseNow: Date },
): Promise<void> {
  const scope = scopeOf(provider);
  const running = await findSyncTask(trx, scope, provider.id);
  if (!running) return;
  if (running.leaseExpiresAt !== null && running.leaseExpiresAt > leaseNow.toISOString()) {
    throw new ApiError('sync_running', RUNNING);
  }
  const lastError = 'the run ended without saying so; another one took over';
  await endSyncTask(trx, scope, running.id, { status: 'failed', lastError }, now);
}

function syncable(provider: Provider): SyncableProvider {
  const { status, kind, baseUrl } = provider;
  if (status !== 'active') throw notSyncable(`it is ${status}, not active`);
  if (kind !== 'mcp' && kind !== 'llm') throw notSyncable(`its kind is ${kind}, and only mcp and llm can be asked`);
  if (baseUrl === null) throw notSyncable('it has no base URL');
  return { ...provider, baseUrl };
}

function notSyncable(why: string): ApiError {
  return new ApiError('provider_not_syncable', `The provider cannot be synced: ${why}.`);
}
