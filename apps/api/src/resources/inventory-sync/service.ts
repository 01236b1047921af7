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
import { auditedWrite, auditedWriteAsSystem } from '../../platform/audit/audited-write.ts';
import { ApiError, duplicateKeyAs, requireFound } from '../../platform/errors.ts';
import type { Services } from '../../platform/services.ts';
import type { CallerContext } from '../../auth/context.ts';
import { ListingFailed, type SyncableProvider } from './attempts.ts';
import type { SyncServices } from './attempts.ts';
import { leaseFrom, runSync, type Writer } from './run.ts';
import { SyncInterrupted } from '../../platform/outbound/sync-runs.ts';

/** Only this many finished sync tasks of a provider are kept, the newest ones. */
const TASKS_KEPT = 100;

const RUNNING = 'A sync of this provider is already running. See its operator task of kind sync_inventory.';

/** Syncs the inventory of a provider for a caller. */
export function syncInventory(ctx: CallerContext, providerId: string): Promise<InventorySync> {
  return sync(ctx.services, { reach: ctx.reach, providerId, writing: (work) => auditedWrite(ctx, work) });
}

/** Syncs the inventory of a provider on a schedule, without a caller. */
export function syncInventoryAsSystem(services: SyncServices, provider: Provider): Promise<InventorySync> {
  const writing: Writer = (work) => auditedWriteAsSystem(services, 'sync_provider_inventory', work);
  return sync(services, { reach: scopeOf(provider), providerId: provider.id, writing });
}

async function sync(
  services: SyncServices,
  { reach, providerId, writing }: { reach: TenantScope; providerId: string; writing: Writer },
): Promise<InventorySync> {
  const asked = requireFound(await findProvider(services.db, reach, providerId), 'provider_not_found');
  if (!services.syncs.hasRoom(asked.tenantId)) {
    throw new ApiError('rate_limited', 'Too many syncs are running. Try again in a few seconds.', {
      headers: { 'Retry-After': '5' },
    });
  }
  return services.syncs.run(asked.tenantId, async (stopping) => {
    const { provider, taskId } = await insertTask(services, reach, providerId);
    try {
      return await runSync({ services, provider, taskId, writing }, stopping);
    } catch (error) {
      if (!(error instanceof ListingFailed) && !(error instanceof SyncInterrupted)) throw error;
      throw new ApiError('sync_failed', `The sync ${taskId} failed: ${error.message}.`, { cause: error });
    }
  });
}

/**
 * Creates the operator task of a sync. Only one sync of a provider runs at a time, over all processes.
 *
 * @throws 409 `sync_running`
 */
async function insertTask(
  { db, now, databaseNow }: Pick<Services, 'db' | 'now' | 'databaseNow'>,
  reach: TenantScope,
  providerId: string,
): Promise<{ provider: SyncableProvider; taskId: string }> {
  const time = now();
  return inTransaction(db, async (trx) => {
    const found = requireFound(await findProvider(trx, reach, providerId), 'provider_not_found');
    const provider = syncable(found);
    const leaseNow = await databaseNow(trx);
    await requireNoRunningSync(trx, provider, { now: time, leaseNow });
    await pruneSyncTasks(trx, provider, { kept: TASKS_KEPT });
    return { provider, taskId: await insertSyncTask(trx, provider, { leaseExpiresAt: leaseFrom(leaseNow) }, time) };
  }).catch(duplicateKeyAs('sync_running', RUNNING));
}

/** Ends a sync whose lease has expired. @throws 409 `sync_running` if one still runs */
async function requireNoRunningSync(
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
  const lastError = 'the run stopped without a result, and another run took over';
  await endSyncTask(trx, scope, running.id, { status: 'failed', lastError }, now);
}

function syncable(provider: Provider): SyncableProvider {
  const { status, kind, baseUrl } = provider;
  if (status !== 'active') throw notSyncable(`it is ${status}, not active`);
  if (kind !== 'mcp' && kind !== 'llm')
    throw notSyncable(`its kind is ${kind}, and only the kinds mcp and llm can be synced`);
  if (baseUrl === null) throw notSyncable('it has no base URL');
  return { ...provider, baseUrl };
}

function notSyncable(why: string): ApiError {
  return new ApiError('provider_not_syncable', `The provider cannot be synced: ${why}.`);
}
