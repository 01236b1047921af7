import {
  deleteDecisionBatchesBefore,
  deleteDecisionCountsBefore,
} from '@quartermaster/db/repositories/decision-counts.ts';
import { listUsageRetentions } from '@quartermaster/db/repositories/tenants.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { removeForEachTenant } from '../../platform/remove-in-batches.ts';
import type { Services } from '../../platform/services.ts';
import { DAY_MS } from '../../telemetry/periods.ts';

/** How long counts of decisions are kept, because coverage looks back that far: a month, and the day that it begins in. */
const COUNTS_KEPT_DAYS = 31;

/** Removes counts of decisions that coverage no longer shows. Returns how many. */
export async function removeOldDecisions(services: Pick<Services, 'db' | 'now' | 'stopping'>): Promise<number> {
  const { db, now } = services;
  const before = (days: number) => new Date(now().getTime() - days * DAY_MS).toISOString();
  await deleteDecisionBatchesBefore(db, before(1));
  return removeForEachTenant(services, await listUsageRetentions(db), ({ tenantId }) =>
    inTransaction(db, (trx) => deleteDecisionCountsBefore(trx, { tenantId }, before(COUNTS_KEPT_DAYS))),
  );
}
