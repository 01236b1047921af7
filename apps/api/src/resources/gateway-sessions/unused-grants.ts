import { deleteUnusedGrants } from '@quartermaster/db/repositories/gateway-grants.ts';
import { EVERYWHERE } from '@quartermaster/db/tenancy.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { removeInPacedBatches } from '../../platform/remove-in-batches.ts';
import type { Services } from '../../platform/services.ts';

/** Sets of granted items that one transaction removes. Each may have 10,000 index rows. */
const BATCH_SIZE = 5;

/** Removes the sets of granted items that no session refers to any more. Returns how many sets. */
export function removeUnusedGrants(services: Pick<Services, 'db' | 'now' | 'stopping'>): Promise<number> {
  const { db, now } = services;
  return removeInPacedBatches(services, async () => {
    const removed = await inTransaction(db, (trx) => deleteUnusedGrants(trx, EVERYWHERE, BATCH_SIZE, now()));
    return { removed, more: removed === BATCH_SIZE };
  });
}
