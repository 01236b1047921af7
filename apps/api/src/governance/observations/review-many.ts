import type { BulkResults, ReviewRuntimeObservationsInput } from '@quartermaster/contracts/bulk-decisions.ts';
import { isSelected, selectObservations } from '@quartermaster/db/repositories/observation-lists.ts';
import { findObservation } from '@quartermaster/db/repositories/runtime-observations.ts';
import type { TenantScope } from '@quartermaster/db/tenancy.ts';
import type { CallerContext } from '../../auth/context.ts';
import { auditedWrite } from '../../platform/audit/audited-write.ts';
import { bulkIds, decideEach } from '../bulk.ts';
import { applyReview } from './service.ts';

/**
 * Stores one decision about many observations, each in a separate transaction.
 *
 * @throws 409 if the number of matches differs from the expected one
 */
export async function reviewObservations(
  ctx: CallerContext,
  scope: TenantScope,
  body: ReviewRuntimeObservationsInput,
): Promise<BulkResults> {
  const { db } = ctx.services;
  const { decision, note, observationIds, expectedCount, ...selection } = body;
  const ids = await bulkIds(observationIds, expectedCount, (page) => selectObservations(db, scope, selection, page));
  return decideEach(ctx, ids, (id) =>
    auditedWrite(ctx, async (trx, record, now) => {
      if (!(await findObservation(trx, scope, id))) return 'not_found';
      // Another person may have decided about it since the caller read it.
      if (!(await isSelected(trx, scope, selection, id))) return 'no_longer_matches';
      await applyReview(ctx, trx, record, id, { decision, note }, now);
      return null;
    }),
  );
}
