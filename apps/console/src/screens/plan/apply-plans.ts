import { type AppliedRecommendations, applyProviderRecommendations } from '@quartermaster/client';
import { idempotencyKey } from '../../data/client.ts';
import { problemOf } from '../../data/problem.ts';
import type { AppliedPlan } from './receipt.tsx';

/** The API applies so many by their ids in one call. */
const MAX_IDS = 100;

/** The calls that apply what is planned at a provider. */
function callsOf({ providerId, applied }: AppliedRecommendations) {
  const calls = Math.ceil(applied.length / MAX_IDS);
  return Array.from({ length: calls }, (_, call) => {
    const planned = applied.slice(call * MAX_IDS, (call + 1) * MAX_IDS);
    return { providerId, tenantId: applied[0]?.tenantId, recommendationIds: planned.map(({ id }) => id) };
  });
}

type Result = AppliedPlan & { skipped: number; failure: string | null };

/** Applies the plans one after the other, those of one tenant with one apply id. After a failure it stops, and says what it did. */
export async function applyPlans(plans: readonly AppliedRecommendations[]): Promise<Result> {
  const result: Result = { applied: [], revokedSessions: [], skipped: 0, failure: null };
  for (const { providerId, tenantId, recommendationIds } of plans.flatMap(callsOf)) {
    try {
      const applyId = result.applied.find((recommendation) => recommendation.tenantId === tenantId)?.applyId;
      const { data } = await applyProviderRecommendations({
        path: { provider_id: providerId },
        body: { recommendationIds, ...(applyId != null && { applyId }) },
        headers: idempotencyKey(),
        throwOnError: true,
      });
      result.applied.push(...data.applied);
      result.revokedSessions.push(...data.revokedSessions);
      result.skipped += data.skipped.length;
    } catch (error) {
      if (result.applied.length === 0) throw error;
      return { ...result, failure: `Not everything was applied. ${problemOf(error).message}` };
    }
  }
  return result;
}
