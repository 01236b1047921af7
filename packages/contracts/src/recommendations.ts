import { z } from 'zod';
import { LookupIdSchema, NoteInputSchema, TimestampSchema, tenancyFields, timeFields } from './fields.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';
import { providerRecord } from './providers.ts';

export const RecommendationKindSchema = z
  .enum(['register_item', 'retire_item', 'block_item', 'adopt_provider', 'accept_drift', 'rotate_credential'])
  .meta({ id: 'RecommendationKind' });
export type RecommendationKind = z.infer<typeof RecommendationKindSchema>;

/** These widen what agents may use: they are applied only where somebody reviewed what they rest on. */
export const WIDENING_KINDS: readonly RecommendationKind[] = ['register_item', 'adopt_provider', 'accept_drift'];

export const RecommendationStatusSchema = z
  .enum(['open', 'applied', 'dismissed', 'superseded'])
  .meta({ id: 'RecommendationStatus' });

const ChangeTargetSchema = z
  .strictObject({
    type: z.enum(['inventory_item', 'provider', 'credential']),
    id: z.string().nullable().describe('Null for a record that does not exist yet.'),
  })
  .meta({ id: 'ChangeTarget', description: 'The record that a recommendation changes.' });

const RecordFieldsSchema = z
  .record(z.string(), z.unknown())
  .meta({ id: 'RecordFields', description: 'Some fields of a record, by name.' });

const RecommendedChangeSchema = z
  .strictObject({
    target: ChangeTargetSchema,
    before: RecordFieldsSchema.nullable().describe('The fields as they are; null: nothing there yet.'),
    after: RecordFieldsSchema.nullable().describe('The fields as they will be; null: nothing left.'),
  })
  .meta({ id: 'RecommendedChange', description: 'What applying a recommendation changes.' });

const RecommendationDismissalSchema = z
  .strictObject({
    reason: z.string(),
    dismissedBy: z.string().describe('`user:<id>` or `service_account:<tenant>/<id>`.'),
    dismissedAt: TimestampSchema,
  })
  .meta({ id: 'RecommendationDismissal' });

export const RecommendationSchema = z
  .strictObject({
    id: z.string(),
    ...tenancyFields,
    providerId: z.string(),
    kind: RecommendationKindSchema,
    status: RecommendationStatusSchema,
    reason: z.string().describe('Why, in words.'),
    observationIds: z.array(z.string()).describe('The observations that it rests on, the first hundred.'),
    change: RecommendedChangeSchema,
    appliedBy: z.string().nullable().describe('`user:<id>` or `service_account:<tenant>/<id>`.'),
    appliedAt: TimestampSchema.nullable(),
    dismissal: RecommendationDismissalSchema.nullable().describe(
      'Who dismissed it, and why. Also null if a review dismissed it.',
    ),
    ...timeFields,
  })
  .meta({ id: 'Recommendation', description: 'A repair that a rule derived from what was observed.' });
export type Recommendation = z.infer<typeof RecommendationSchema>;

export const ApplyRecommendationsInputSchema = z
  .strictObject({
    recommendationIds: z
      .array(z.string().max(128))
      .max(100)
      .nullish()
      .describe('Only these. Naming one is the review that a widening recommendation needs.'),
    kinds: z.array(RecommendationKindSchema).max(6).nullish().describe('Only recommendations of these kinds.'),
    dryRun: z.boolean().nullish().describe('Show what would change, and change nothing.'),
  })
  .meta({ id: 'ApplyRecommendationsInput' });
export type ApplyRecommendationsInput = z.infer<typeof ApplyRecommendationsInputSchema>;

export const SkipReasonSchema = z
  .enum(['needs_review', 'needs_successor', 'undone', 'not_found', 'not_open', 'not_of_kind'])
  .describe(
    'needs_review: it would widen what agents may use, and nobody reviewed what it rests on; or it would block for a whole tenant what a reviewer of one sub-tenant rejected. needs_successor: no secret is stored that could follow (`PUT .../credential` with `standby`). undone: somebody applied and undid it; it is applied by name alone from then on. not_open: also where another one of this call settled it.',
  );

const SkippedRecommendationSchema = z
  .strictObject({ id: z.string(), reason: SkipReasonSchema })
  .meta({ id: 'SkippedRecommendation' });

const RevokedSessionSchema = z
  .strictObject({ id: z.string(), gatewayId: z.string(), subject: z.string() })
  .meta({ id: 'RevokedSession' });

export const AppliedRecommendationsSchema = z
  .strictObject({
    providerId: z.string(),
    dryRun: z.boolean(),
    applied: z.array(RecommendationSchema).describe('What was changed, or under `dryRun` would be.'),
    skipped: z.array(SkippedRecommendationSchema),
    revokedSessions: z
      .array(RevokedSessionSchema)
      .describe(
        'The running sessions that held what is blocked now: they are revoked, and stay so. The first thousand.',
      ),
  })
  .meta({ id: 'AppliedRecommendations' });
export type AppliedRecommendations = z.infer<typeof AppliedRecommendationsSchema>;

const recommendationRecord = { untagged: ['reason', 'observationIds'] };

const tag = 'Recommendations';
const params = { provider_id: LookupIdSchema.describe("The provider's id.") };

export const listProviderRecommendations = operation({
  method: 'GET',
  path: '/v1/providers/{provider_id}/recommendations',
  operationId: 'list_provider_recommendations',
  scope: 'recommendations:read',
  tag,
  summary: 'List the recommendations for a provider',
  description:
    'Lists the recommendations for one provider, newest first: open, applied, dismissed and superseded ones. Read it before you apply them, to see what would change.',
  params,
  query: {
    status: RecommendationStatusSchema.nullish().describe('Only recommendations with this status.'),
    kind: RecommendationKindSchema.nullish().describe('Only recommendations of this kind.'),
    ...pageFields,
  },
  output: page('RecommendationPage', RecommendationSchema),
  errors: ['provider_not_found'],
});

export const applyProviderRecommendations = operation({
  method: 'POST',
  path: '/v1/providers/{provider_id}/recommendations/apply',
  operationId: 'apply_provider_recommendations',
  ignoresUnknownQuery: true,
  scope: 'recommendations:apply',
  tag,
  summary: 'Apply recommendations for a provider',
  description:
    'All of it or nothing, in one transaction; again changes nothing. `{}` means every open one, at most 1,000 at a time, except those that widen what agents may use (`register_item`, `adopt_provider`, `accept_drift`) while nobody has approved what they rest on.',
  params,
  body: ApplyRecommendationsInputSchema,
  bodyOptional: true,
  ifMatch: providerRecord,
  output: AppliedRecommendationsSchema,
  errors: ['tenant_limit_reached', 'provider_not_found'],
});

const recommendation = { recommendation_id: LookupIdSchema.describe("The recommendation's id.") };

export const DismissRecommendationInputSchema = z
  .strictObject({ reason: NoteInputSchema.min(1) })
  .meta({ id: 'DismissRecommendationInput' });
export type DismissRecommendationInput = z.infer<typeof DismissRecommendationInputSchema>;

export const dismissRecommendation = operation({
  method: 'POST',
  path: '/v1/recommendations/{recommendation_id}/dismiss',
  operationId: 'dismiss_recommendation',
  scope: 'recommendations:apply',
  tag,
  summary: 'Dismiss a recommendation',
  description: 'It is not made again for the same cause; a new cause, such as another drift, makes a new one.',
  params: recommendation,
  body: DismissRecommendationInputSchema,
  record: recommendationRecord,
  ifMatch: recommendationRecord,
  output: RecommendationSchema,
  errors: ['recommendation_not_found', 'recommendation_not_open'],
});

export const undoRecommendation = operation({
  method: 'POST',
  path: '/v1/recommendations/{recommendation_id}/undo',
  operationId: 'undo_recommendation',
  scope: 'recommendations:apply',
  tag,
  summary: 'Undo an applied recommendation',
  description:
    'Restores what was before, and the recommendation is open again, to be applied by its id alone: what somebody took back does not come again with `{}`. 409 `recommendation_built_on` says what was built on the change since. Sessions that a block revoked stay revoked.',
  params: recommendation,
  record: recommendationRecord,
  ifMatch: recommendationRecord,
  output: RecommendationSchema,
  errors: ['recommendation_not_found', 'recommendation_not_applied', 'recommendation_built_on'],
});
