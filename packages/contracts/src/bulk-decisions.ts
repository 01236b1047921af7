import { z } from 'zod';
import { NoteInputSchema, tenancySearchFields } from './fields.ts';
import { operation } from './operation.ts';
import { RecommendationKindSchema } from './recommendations.ts';
import { DecisionSchema, observationFilters } from './runtime-observations.ts';

/** The maximum number of records that one call decides about. */
export const MAX_BULK = 500;

const ids = z.array(z.string().max(128)).min(1).max(MAX_BULK);

const expectedCount = z
  .int()
  .min(0)
  .max(MAX_BULK)
  .nullish()
  .describe(
    'How many records the filter has to match. Required without ids. With ids it is how many different ids there are. If the number differs, nothing is changed, and the answer is 409 `bulk_count_differs`.',
  );

/** Without ids, only the count protects the caller from a filter that matches more records than expected. */
function namesItsRecords(given: readonly unknown[] | null | undefined, count: number | null | undefined): boolean {
  return given != null || count != null;
}

const BulkResultSchema = z
  .strictObject({
    id: z.string(),
    outcome: z.enum(['done', 'skipped']),
    reason: z
      .enum(['not_found', 'no_longer_matches', 'not_open', 'failed'])
      .nullable()
      .describe(
        'Why it was skipped. `not_found`: no such record in your reach. `no_longer_matches`: it changed in the meantime, and the filter no longer matches it. `not_open`: it was already decided. `failed`: an error occurred for this record or an earlier one; send it again. Null if it was done.',
      ),
  })
  .meta({ id: 'BulkResult', description: 'What happened to one record.' });
export type BulkResult = z.infer<typeof BulkResultSchema>;

export const BulkResultsSchema = z
  .strictObject({
    done: z.int().describe('How many records were changed.'),
    skipped: z.int(),
    results: z.array(BulkResultSchema).max(MAX_BULK).describe('One for each record, in the order of the ids.'),
  })
  .meta({ id: 'BulkResults', description: 'What happened to each record.' });
export type BulkResults = z.infer<typeof BulkResultsSchema>;

const description = (what: string, filter: string) =>
  `${what} Select the records by their ids, by ${filter} with \`expectedCount\`, or by both. With both, ids that the filter no longer matches are skipped. At most ${MAX_BULK} records. Each record is changed in a separate transaction, with its own audit event, so some may be changed and others not. \`results\` says what happened to each.`;

export const ReviewRuntimeObservationsInputSchema = z
  .strictObject({
    decision: DecisionSchema.describe('As in `review_runtime_observation`.'),
    note: NoteInputSchema.nullish(),
    observationIds: ids.nullish().describe('Only these observations.'),
    expectedCount,
    ...tenancySearchFields,
    unknown: z
      .boolean()
      .nullish()
      .describe('Only observations that nothing declares (true), or only declared ones (false).'),
    status: observationFilters.status,
    view: observationFilters.view,
    minRisk: observationFilters.min_risk,
    providerId: observationFilters.provider_id,
    kind: observationFilters.kind,
    name: observationFilters.name,
    text: observationFilters.text,
    agent: observationFilters.agent,
    account: observationFilters.account,
    environment: observationFilters.environment,
    firstSeenAfter: observationFilters.first_seen_after,
    firstSeenBefore: observationFilters.first_seen_before,
    lastSeenAfter: observationFilters.last_seen_after,
    lastSeenBefore: observationFilters.last_seen_before,
  })
  .refine(({ observationIds, expectedCount: count }) => namesItsRecords(observationIds, count), {
    error: 'expectedCount is required without observationIds',
    path: ['expectedCount'],
  })
  .meta({
    id: 'ReviewRuntimeObservationsInput',
    description:
      'The decision, and the observations that it is about. The filters are those of `list_runtime_observations`.',
    examples: [
      { decision: 'rejected', note: 'Not in production.', observationIds: ['obs_01k0c5v7h2m4n8q3r6t9w1x2yz'] },
    ],
  });
export type ReviewRuntimeObservationsInput = z.infer<typeof ReviewRuntimeObservationsInputSchema>;

export const reviewRuntimeObservations = operation({
  method: 'POST',
  path: '/v1/runtime-observations/review',
  operationId: 'review_runtime_observations',
  scope: 'runtime_observations:review',
  tag: 'Runtime observations',
  summary: 'Review many runtime observations',
  description: description('Stores one decision about many observations.', 'the filters of the list'),
  body: ReviewRuntimeObservationsInputSchema,
  severalTransactions: true,
  cost: 10,
  output: BulkResultsSchema,
  errors: ['bulk_count_differs'],
});

export const DismissRecommendationsInputSchema = z
  .strictObject({
    reason: NoteInputSchema.min(1),
    recommendationIds: ids.nullish().describe('Only these recommendations.'),
    expectedCount,
    ...tenancySearchFields,
    kind: RecommendationKindSchema.nullish().describe('Only recommendations of this kind.'),
    providerId: z.string().max(128).nullish().describe('Only recommendations for this provider.'),
    observationId: z.string().max(128).nullish().describe('Only recommendations that are based on this observation.'),
  })
  .refine(({ recommendationIds, expectedCount: count }) => namesItsRecords(recommendationIds, count), {
    error: 'expectedCount is required without recommendationIds',
    path: ['expectedCount'],
  })
  .meta({
    id: 'DismissRecommendationsInput',
    description: 'The reason, and the recommendations that it is about. A filter matches open ones only.',
    examples: [{ reason: 'The trial is over.', recommendationIds: ['rec_01k0c5v7h2m4n8q3r6t9w1x2yz'] }],
  });
export type DismissRecommendationsInput = z.infer<typeof DismissRecommendationsInputSchema>;

export const dismissRecommendations = operation({
  method: 'POST',
  path: '/v1/recommendations/dismiss',
  operationId: 'dismiss_recommendations',
  scope: 'recommendations:apply',
  tag: 'Recommendations',
  summary: 'Dismiss many recommendations',
  description: description('Dismisses many recommendations for one reason.', 'filters'),
  body: DismissRecommendationsInputSchema,
  severalTransactions: true,
  cost: 10,
  output: BulkResultsSchema,
  errors: ['bulk_count_differs'],
});
