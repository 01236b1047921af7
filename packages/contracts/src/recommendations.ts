import { z } from 'zod';
import {
  LookupIdSchema,
  NoteInputSchema,
  TimestampSchema,
  tenancyFields,
  tenancyQueryFields,
  timeFields,
} from './fields.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';
import { providerRecord } from './providers.ts';

export const RecommendationKindSchema = z
  .enum([
    'register_item',
    'retire_item',
    'block_item',
    'adopt_provider',
    'accept_drift',
    'rotate_credential',
    'confirm_removals',
    'allow_in_manifest',
  ])
  .meta({
    id: 'RecommendationKind',
    description:
      '`register_item`: declare an item that agents use. `retire_item`: retire an item that the provider no longer lists. `block_item`: block an item that was rejected and seen again. `adopt_provider`: declare a discovered provider. `accept_drift`: accept a changed definition. `rotate_credential`: use the standby credential of the provider. `confirm_removals`: confirm that most items of a provider are gone. `allow_in_manifest`: publish a new version of the manifest that denies an available item at gateways, with one entry more, for the gateways that use it.',
  });
export type RecommendationKind = z.infer<typeof RecommendationKindSchema>;

/** The most kinds that a call can name. */
const KIND_COUNT = RecommendationKindSchema.options.length;

/** The kinds that widen what agents may use. Unless a call names them by id, they are applied only after a review. */
export const WIDENING_KINDS: readonly RecommendationKind[] = [
  'register_item',
  'adopt_provider',
  'accept_drift',
  'allow_in_manifest',
];

/** The kinds that `{}` applies only after an approval. A failing provider must not retire its items by itself. */
export const REVIEWED_KINDS: readonly RecommendationKind[] = [...WIDENING_KINDS, 'confirm_removals'];

export const RecommendationStatusSchema = z.enum(['open', 'applied', 'dismissed', 'superseded']).meta({
  id: 'RecommendationStatus',
  description: '`superseded`: the recommendation is no longer needed, because the state changed.',
});

const ChangeTargetSchema = z
  .strictObject({
    type: z.enum(['inventory_item', 'provider', 'credential', 'manifest']),
    id: z.string().nullable().describe('The id of the record. Null for a record that does not exist yet.'),
  })
  .meta({ id: 'ChangeTarget', description: 'The record that a recommendation changes.' });

const RecordFieldsSchema = z
  .record(z.string(), z.unknown())
  .meta({ id: 'RecordFields', description: 'Some fields of a record, by name.' });

const RecommendedChangeSchema = z
  .strictObject({
    target: ChangeTargetSchema,
    before: RecordFieldsSchema.nullable().describe('The fields before the change. Null if the record does not exist.'),
    after: RecordFieldsSchema.nullable().describe('The fields after the change. Null if the record will not exist.'),
  })
  .meta({ id: 'RecommendedChange', description: 'The change that a recommendation makes when it is applied.' });

const RecommendationDismissalSchema = z
  .strictObject({
    reason: z.string(),
    dismissedBy: z.string().describe('Who dismissed it: `user:<id>` or `service_account:<tenant>/<id>`.'),
    dismissedAt: TimestampSchema,
  })
  .meta({ id: 'RecommendationDismissal', description: 'Who dismissed a recommendation, when and why.' });

export const RecommendationSchema = z
  .strictObject({
    id: z.string(),
    ...tenancyFields,
    providerId: z.string(),
    kind: RecommendationKindSchema,
    status: RecommendationStatusSchema,
    reason: z.string().describe('The reason, in words.'),
    observationIds: z.array(z.string()).describe('The ids of the observations that it is based on, the first 100.'),
    change: RecommendedChangeSchema,
    appliedBy: z
      .string()
      .nullable()
      .describe('Who applied it: `user:<id>` or `service_account:<tenant>/<id>`. Null if it is not applied.'),
    appliedAt: TimestampSchema.nullable(),
    applyId: z
      .string()
      .nullable()
      .describe(
        'What was applied together has the same id. `undo_recommendations` takes all of it back. Null if it is not applied.',
      ),
    dismissal: RecommendationDismissalSchema.nullable().describe(
      'Who dismissed it, when and why. Null if it is not dismissed, or if a review dismissed it.',
    ),
    ...timeFields,
  })
  .meta({
    id: 'Recommendation',
    description: 'A change that a rule proposes. It can be applied, dismissed and undone.',
  });
export type Recommendation = z.infer<typeof RecommendationSchema>;

const selectionFields = {
  recommendationIds: z
    .array(z.string().max(128))
    .max(100)
    .nullish()
    .describe('Only these recommendations. Naming one counts as the review that a widening recommendation needs.'),
  kinds: z.array(RecommendationKindSchema).max(KIND_COUNT).nullish().describe('Only recommendations of these kinds.'),
};

export const ApplyRecommendationsInputSchema = z
  .strictObject({
    ...selectionFields,
    dryRun: z.boolean().nullish().describe('If true: returns what would change, and changes nothing.'),
    applyId: z
      .string()
      .max(128)
      .nullish()
      .describe(
        'The `applyId` of a recommendation that you applied before, in the same tenant: this call then belongs to the same apply, and one undo takes both back. An apply has at most 1,000 recommendations. If left out, the call is an apply of its own.',
      ),
  })
  .meta({
    id: 'ApplyRecommendationsInput',
    description: 'Which recommendations to apply.',
    examples: [{ recommendationIds: ['rec_01k0c5v7h2m4n8q3r6t9w1x2yz'], dryRun: true }],
  });
export type ApplyRecommendationsInput = z.infer<typeof ApplyRecommendationsInputSchema>;

export const PlanRecommendationsInputSchema = z.strictObject(selectionFields).meta({
  id: 'PlanRecommendationsInput',
  description: 'Which recommendations to plan.',
  examples: [{ kinds: ['block_item'] }],
});
export type PlanRecommendationsInput = z.infer<typeof PlanRecommendationsInputSchema>;

export const SkipReasonSchema = z
  .enum(['needs_review', 'needs_successor', 'undone', 'not_found', 'not_open', 'not_of_kind'])
  .describe(
    '`needs_review`: it would widen what agents may use, but no observation that it is based on is approved; or it would block for the whole tenant what only a reviewer of a sub-tenant rejected. `needs_successor`: the provider has no standby credential (`PUT .../credential` with `standby`). `undone`: it was applied and undone before, so it is applied only by its id. `not_found`: the provider has no recommendation with this id. `not_open`: it is not open, or another recommendation of this call made it unnecessary. `not_of_kind`: it is not of one of the kinds.',
  );

const SkippedRecommendationSchema = z
  .strictObject({ id: z.string(), reason: SkipReasonSchema })
  .meta({ id: 'SkippedRecommendation', description: 'A recommendation that was not applied, and why.' });

const RevokedSessionSchema = z
  .strictObject({ id: z.string(), gatewayId: z.string(), subject: z.string() })
  .meta({ id: 'RevokedSession', description: 'A gateway session that was revoked.' });

export const AppliedRecommendationsSchema = z
  .strictObject({
    providerId: z.string(),
    dryRun: z.boolean(),
    applied: z
      .array(RecommendationSchema)
      .describe('The recommendations that were applied, or that would be applied (`dryRun`).'),
    skipped: z.array(SkippedRecommendationSchema),
    revokedSessions: z
      .array(RevokedSessionSchema)
      .describe(
        'The active sessions that were revoked because they granted an item that is blocked now, the first 1,000. Undoing the recommendation does not restore them.',
      ),
  })
  .meta({ id: 'AppliedRecommendations', description: 'What applying recommendations changed.' });
export type AppliedRecommendations = z.infer<typeof AppliedRecommendationsSchema>;

const recommendationRecord = { tagExcludes: ['reason', 'observationIds'] };

const tag = 'Recommendations';
const params = { provider_id: LookupIdSchema.describe("The provider's id.") };

const statusFilter = RecommendationStatusSchema.nullish().meta({
  description: 'Only recommendations with this status.',
  param: { id: 'RecommendationStatusFilter' },
});
const kindFilter = RecommendationKindSchema.nullish().meta({
  description: 'Only recommendations of this kind.',
  param: { id: 'RecommendationKindFilter' },
});
const recommendationPage = page('RecommendationPage', RecommendationSchema);

export const listProviderRecommendations = operation({
  method: 'GET',
  path: '/v1/providers/{provider_id}/recommendations',
  operationId: 'list_provider_recommendations',
  scope: 'recommendations:read',
  tag,
  summary: 'List the recommendations for a provider',
  description:
    'Lists the recommendations for one provider, newest first: open, applied, dismissed and superseded ones. `change` is what applying a recommendation changes.',
  params,
  query: {
    status: statusFilter,
    kind: kindFilter,
    ...pageFields,
  },
  output: recommendationPage,
  errors: ['provider_not_found'],
});

export const listRecommendations = operation({
  method: 'GET',
  path: '/v1/recommendations',
  operationId: 'list_recommendations',
  scope: 'recommendations:read',
  tag,
  summary: 'List recommendations of all providers',
  description: "Lists the recommendations for all providers in the caller's reach, newest first.",
  query: {
    ...tenancyQueryFields,
    status: statusFilter,
    kind: kindFilter,
    provider_id: z.string().max(128).nullish().describe('Only recommendations for this provider.'),
    observation_id: z.string().max(128).nullish().describe('Only recommendations that are based on this observation.'),
    needs_review: z
      .boolean()
      .nullish()
      .describe(
        'Only open recommendations, and of those only the ones that wait for a review (`true`), or only the ones that narrow what agents may use or are based on an approved observation (`false`). A review by a person whose rights are limited to a sub-tenant counts here, even if `apply` with `{}` requires another one.',
      ),
    ...pageFields,
  },
  output: recommendationPage,
});

const recommendation = { recommendation_id: LookupIdSchema.describe("The recommendation's id.") };

export const getRecommendation = operation({
  method: 'GET',
  path: '/v1/recommendations/{recommendation_id}',
  operationId: 'get_recommendation',
  scope: 'recommendations:read',
  tag,
  summary: 'Get a recommendation',
  description: 'Returns one recommendation, open or closed: why it was made, what it changes, and how it ended.',
  params: recommendation,
  record: recommendationRecord,
  output: RecommendationSchema,
  errors: ['recommendation_not_found'],
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
    'Applies recommendations in one transaction: either all of its changes are made, or none. Idempotent: repeating the call changes nothing. `{}` applies all open recommendations, at most 1,000 in one call. It skips those that would widen what agents may use (`register_item`, `adopt_provider`, `accept_drift`, `allow_in_manifest`) until a person approves an observation that they are based on, and `confirm_removals`, which is applied only by its id.',
  params,
  body: ApplyRecommendationsInputSchema,
  bodyOptional: true,
  ifMatch: providerRecord,
  output: AppliedRecommendationsSchema,
  errors: ['tenant_limit_reached', 'provider_not_found'],
});

export const planProviderRecommendations = operation({
  method: 'POST',
  path: '/v1/providers/{provider_id}/recommendations/plan',
  operationId: 'plan_provider_recommendations',
  scope: 'recommendations:read',
  readOnly: true,
  tag,
  summary: 'Show what applying recommendations would change',
  description:
    'Answers what `apply_provider_recommendations` would change, and changes nothing. It needs no right to apply. `revokedSessions` has only sessions that you may read.',
  params,
  body: PlanRecommendationsInputSchema,
  bodyOptional: true,
  output: AppliedRecommendationsSchema,
  errors: ['tenant_limit_reached', 'provider_not_found'],
});

export const DismissRecommendationInputSchema = z
  .strictObject({ reason: NoteInputSchema.min(1).describe('Why it is dismissed: 1 to 2000 characters.') })
  .meta({
    id: 'DismissRecommendationInput',
    description: 'Why a recommendation is dismissed.',
    examples: [{ reason: 'The trial is over.' }],
  });
export type DismissRecommendationInput = z.infer<typeof DismissRecommendationInputSchema>;

export const dismissRecommendation = operation({
  method: 'POST',
  path: '/v1/recommendations/{recommendation_id}/dismiss',
  operationId: 'dismiss_recommendation',
  scope: 'recommendations:apply',
  tag,
  summary: 'Dismiss a recommendation',
  description:
    'Closes an open recommendation without applying it. It is not recommended again for the same cause. A new cause, such as another changed definition, opens a new recommendation.',
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
    'Restores the state before the recommendation was applied. The recommendation is open again, but it is applied only by its id and no longer with `{}`. 409 `recommendation_built_on` if later changes depend on the change; the detail names them. Sessions that a block revoked stay revoked. The version of a manifest that it published is deleted, and its gateways use the former version again.',
  params: recommendation,
  record: recommendationRecord,
  ifMatch: recommendationRecord,
  output: RecommendationSchema,
  errors: ['recommendation_not_found', 'recommendation_not_applied', 'recommendation_built_on'],
});

export const UndoneRecommendationsSchema = z
  .strictObject({
    applyId: z.string(),
    undone: z.array(RecommendationSchema).describe('The recommendations that are open again.'),
  })
  .meta({ id: 'UndoneRecommendations', description: 'What an undo opened again.' });
export type UndoneRecommendations = z.infer<typeof UndoneRecommendationsSchema>;

export const undoRecommendations = operation({
  method: 'POST',
  path: '/v1/recommendations/applies/{apply_id}/undo',
  operationId: 'undo_recommendations',
  scope: 'recommendations:apply',
  tag,
  summary: 'Undo all that was applied together',
  description:
    'Undoes everything that was applied with an `applyId`, at all providers, in one transaction and in the reverse order: either all of it is undone, or nothing. What was undone before stays as it is. 409 `recommendation_built_on` if later changes depend on a part of it; the detail says for each part why. Otherwise as `undo_recommendation`.',
  params: { apply_id: LookupIdSchema.describe('The `applyId` of the applied recommendations.') },
  cost: 10,
  output: UndoneRecommendationsSchema,
  errors: ['apply_not_found', 'tenant_forbidden', 'recommendation_not_applied', 'recommendation_built_on'],
});
