import type { BulkResults, DismissRecommendationsInput } from '@quartermaster/contracts/bulk-decisions.ts';
import {
  findRecommendation,
  isRecommendationSelected,
  listRecommendationsOfAll,
} from '@quartermaster/db/repositories/recommendations.ts';
import type { TenantScope } from '@quartermaster/db/tenancy.ts';
import { principalName } from '../../auth/principal.ts';
import type { CallerContext } from '../../auth/context.ts';
import { auditedWrite } from '../../platform/audit/audited-write.ts';
import { bulkIds, decideEach } from '../bulk.ts';
import { dismissOpenRecommendation } from './dismiss.ts';

/** Dismisses many recommendations, each in a separate transaction. @throws 409 if the number of matches differs from the expected one */
export async function dismissMany(
  ctx: CallerContext,
  scope: TenantScope,
  body: DismissRecommendationsInput,
): Promise<BulkResults> {
  const { db } = ctx.services;
  const { reason, recommendationIds, expectedCount, kind, providerId, observationId } = body;
  const selection = { kind, providerId, observationId };
  const ids = await bulkIds(recommendationIds, expectedCount, (page) =>
    listRecommendationsOfAll(db, scope, { ...selection, status: 'open' }, page),
  );
  const dismissedBy = principalName(ctx.principal);
  return decideEach(ctx, ids, (id) =>
    auditedWrite(ctx, async (trx, record, now) => {
      const recommendation = await findRecommendation(trx, scope, id);
      if (!recommendation) return 'not_found';
      if (!(await isRecommendationSelected(trx, scope, selection, id))) return 'no_longer_matches';
      if (recommendation.status !== 'open') return 'not_open';
      await dismissOpenRecommendation(trx, record, { recommendation, reason, dismissedBy, now });
      return null;
    }),
  );
}
