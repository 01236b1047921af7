import {
  eraseRows,
  ERASED_TABLES,
  listTenantsToErase,
  markTenantErased,
} from '@quartermaster/db/repositories/deleted-tenants.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { auditedWriteAsSystem } from '../../platform/audit/audited-write.ts';
import { removeForEachTenant, removeInPacedBatches } from '../../platform/remove-in-batches.ts';
import type { Services } from '../../platform/services.ts';

/** Rows that one transaction deletes. SQLite deletes synchronously, so they block the event loop. */
const BATCH_SIZE = 200;

/** The same for rows with large values: a block of spans may have a MiB, and a manifest 256 KiB. */
const LARGE_BATCH_SIZE = 10;

const LARGE_ROWS: ReadonlySet<string> = new Set(['span_blocks', 'idempotency_keys', 'manifests', 'gateway_grants']);

/** How long a pass may take, in milliseconds. Other jobs wait for it, and the next pass goes on. */
const PASS_MS = 10 * 60_000;

/**
 * Other processes may accept a cached key for some seconds after the deletion, and requests may still run. A pass that begins this
 * long after it finds what they wrote, in milliseconds.
 */
const LAST_WRITES_MS = 10 * 60_000;

/**
 * Erases what deleted tenants stored, except for their audit events. A tenant counts as erased when a pass that began well after
 * the deletion has found all of its rows.
 *
 * @param passMs how long the pass may take
 * @returns how many rows
 */
export async function eraseDeletedTenants(
  services: Pick<Services, 'db' | 'now' | 'secrets' | 'stopping'>,
  passMs = PASS_MS,
): Promise<number> {
  const { db, now, stopping } = services;
  const deadline = performance.now() + passMs;
  const isOver = () => stopping.aborted || performance.now() >= deadline;
  return removeForEachTenant(services, await listTenantsToErase(db), async ({ tenantId, deletedAt }) => {
    const started = now().getTime();
    let removed = 0;
    for (const table of ERASED_TABLES) {
      const limit = LARGE_ROWS.has(table) ? LARGE_BATCH_SIZE : BATCH_SIZE;
      removed += await removeInPacedBatches(services, async () => {
        const count = await inTransaction(db, (trx) => eraseRows(trx, tenantId, { table, limit }));
        return { removed: count, more: count === limit && !isOver() };
      });
      if (isOver()) return removed;
    }
    if (started < Date.parse(deletedAt) + LAST_WRITES_MS) return removed;
    await auditedWriteAsSystem(services, 'erase_tenant', async (trx, record, time) => {
      await markTenantErased(trx, tenantId, time);
      record({ place: { tenantId, subTenantId: null }, target: { type: 'tenant', id: tenantId } });
    });
    return removed;
  });
}
