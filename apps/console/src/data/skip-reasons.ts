import type { SkippedRecommendation } from '@quartermaster/client';

/** Why a recommendation was not applied, after `it`. */
export const SKIP_REASONS: Record<SkippedRecommendation['reason'], string> = {
  needs_review: 'needs a decision first',
  needs_successor: 'needs a new credential first',
  undone: 'was undone before, and is only applied by itself',
  not_found: 'is gone',
  not_open: 'is not open any more',
  not_of_kind: 'is of another kind',
};
