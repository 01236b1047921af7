import { deleteUnusedGrants } from '@quartermaster/db/repositories/gateway-grants.ts';
import { EVERYWHERE } from '@quartermaster/db/tenancy.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { removeInBatches } from '../remove-in-batches.ts';
import type { Services } from '../services.ts';

/** Sets of items removed in one transaction: each may have 10,000 index rows. */
const BATCH_SIZE = 5;

/** Removes the items that sessions granted and that no session refers to any more. Answers how many sets there were. */
export function removeUnusedGrants({ db, now }: Pick<Services, 'db' | 'now'>): Promise<number> {
  const remove = (most: number) => inTransaction(db, (trx) => deleteUnusedGrants(trx, EVERYWHERE, most, now()));
  return removeInBatches(BATCH_SIZE, remove);
}
