import { z } from 'zod';
import {
  LookupIdSchema,
  NoteInputSchema,
  TimestampSchema,
  tenancyFields,
  tenancyQueryFields,
  timeFields,
} from './fields.ts';
import { DriftSchema, InventoryKindSchema } from './inventory.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';

export const ObservationStatusSchema = z
  .enum(['open', 'approved', 'rejected', 'ignored', 'resolved'])
  .meta({ id: 'RuntimeObservationStatus' });
export const DecisionSchema = z.enum(['approved', 'rejected', 'ignored']).meta({ id: 'ReviewDecision' });

const NoteSchema = z.string().max(2000);
const samples = z.array(z.string()).max(10);

/** What speaks against an observation. Each comes with its reason in words; the heaviest one is the level. */
export const RISK_FACTORS = {
  rejected_again: 'high: somebody rejected it, and it was seen again since',
  blocked_item: 'high: the inventory blocks it, and it is used all the same',
  drift: 'high: the provider changed its definition since it was accepted',
  unknown_provider: 'high: nobody declared its provider',
  foreign_address: "high: calls went to an address that is not the provider's",
  unknown_item: 'medium: no inventory item and no active manifest declares it',
  first_use: 'medium: an account used the provider for the first time within the last week, others did before',
  call_errors: 'low: calls ended in an error',
} as const;

export const RiskFactorSchema = z
  .enum(Object.keys(RISK_FACTORS) as [keyof typeof RISK_FACTORS, ...(keyof typeof RISK_FACTORS)[]])
  .describe(
    Object.entries(RISK_FACTORS)
      .map(([factor, meaning]) => `\`${factor}\`: ${meaning}.`)
      .join(' '),
  );
export type RiskFactor = z.infer<typeof RiskFactorSchema>;

export const DefinitionSchema = DriftSchema.omit({ detectedAt: true }).meta({
  id: 'Definition',
  description: 'What an item is shown and called by.',
});
export type Definition = z.infer<typeof DefinitionSchema>;

const ObservationEvidenceSchema = z
  .strictObject({
    serviceNames: samples.describe('Who used it: `service.name`, the first ten.'),
    serverAddresses: samples.describe('Where the calls went: `server.address`, the first ten.'),
    operations: samples.describe('What was done: `gen_ai.operation.name` or the MCP method.'),
    accounts: samples.describe('The service accounts and users that sent the spans, the last ten to come.'),
    names: samples.describe('How its name was written: variants of one model are one observation. The first ten.'),
    responseModels: z
      .array(z.string())
      .max(50)
      .describe('The models that answered under another name than the requested one, the first 50.'),
    errors: z.int().describe('How many of the spans ended in an error.'),
  })
  .meta({ id: 'ObservationEvidence', description: 'What the observation rests on.' });

const ObservationRiskFactorSchema = z
  .strictObject({ factor: RiskFactorSchema, reason: z.string() })
  .meta({ id: 'ObservationRiskFactor' });

const ObservationRiskSchema = z
  .strictObject({ level: z.enum(['low', 'medium', 'high']), factors: z.array(ObservationRiskFactorSchema) })
  .meta({ id: 'ObservationRisk', description: 'How much it matters, and why.' });

const ObservationReviewSchema = z
  .strictObject({
    decision: DecisionSchema,
    note: NoteSchema.nullable(),
    reviewedBy: z.string().describe('`user:<id>` or `service_account:<tenant>/<id>`.'),
    reviewedAt: TimestampSchema,
  })
  .meta({ id: 'ObservationReview' });

const ObservationDriftSchema = z
  .strictObject({ before: DefinitionSchema, after: DefinitionSchema, detectedAt: TimestampSchema })
  .meta({ id: 'ObservationDrift' });

export const RuntimeObservationSchema = z
  .strictObject({
    id: z.string(),
    ...tenancyFields,
    providerId: z.string(),
    kind: InventoryKindSchema,
    name: z.string(),
    unknown: z.boolean().describe('Whether no inventory item and no active manifest declares it.'),
    status: ObservationStatusSchema,
    occurrences: z.int().describe('In how many spans it was seen; 0: a sync alone reported it.'),
    firstSeenAt: TimestampSchema,
    lastSeenAt: TimestampSchema,
    lastTraceId: z.string().nullable(),
    lastSpanId: z.string().nullable(),
    evidence: ObservationEvidenceSchema,
    risk: ObservationRiskSchema,
    inventoryItemId: z.string().nullable().describe('The inventory item that declares it.'),
    review: ObservationReviewSchema.nullable(),
    drift: ObservationDriftSchema.nullable().describe(
      'How the provider changed its definition. Null once the change is accepted or undone.',
    ),
    ...timeFields,
  })
  .meta({ id: 'RuntimeObservation', description: 'A model, tool or agent that was seen in traffic at a provider.' });
export type RuntimeObservation = z.infer<typeof RuntimeObservationSchema>;

export const ReviewRuntimeObservationInputSchema = z
  .strictObject({
    decision: DecisionSchema.describe(
      'approved: its recommendation may be applied (by `{}` where the reviewer reaches all of the place where the provider stands). rejected: it must not be used; the recommendation is dismissed unless it rests on others too, and the next sighting reopens it with a `block_item`. ignored: it stays as it is, quietly.',
    ),
    note: NoteInputSchema.nullish(),
  })
  .meta({ id: 'ReviewRuntimeObservationInput' });
export type ReviewRuntimeObservationInput = z.infer<typeof ReviewRuntimeObservationInputSchema>;

export const UpdateRuntimeObservationInputSchema = z
  .strictObject({
    status: z
      .enum(['open', 'resolved'])
      .optional()
      .describe('open: takes a decision back. resolved: dealt with outside.'),
    note: NoteInputSchema.nullish().describe('The note of the review; nothing to set where there was none.'),
  })
  .meta({ id: 'UpdateRuntimeObservationInput', description: 'Left out keeps, null clears, a value sets.' });
export type UpdateRuntimeObservationInput = z.infer<typeof UpdateRuntimeObservationInputSchema>;

const observationRecord = {
  untagged: ['occurrences', 'firstSeenAt', 'lastSeenAt', 'lastTraceId', 'lastSpanId', 'evidence', 'risk'],
};

const tag = 'Runtime observations';
const params = { observation_id: LookupIdSchema.describe("The observation's id.") };
const filters = {
  ...tenancyQueryFields,
  unknown: z
    .boolean()
    .nullish()
    .meta({
      description:
        'true: only observations that no inventory item and no active manifest declares. false: only declared ones.',
      param: { id: 'UnknownFilter' },
    }),
};
const output = page('RuntimeObservationPage', RuntimeObservationSchema);

export const listProviderRuntimeObservations = operation({
  method: 'GET',
  path: '/v1/providers/{provider_id}/observations',
  operationId: 'list_provider_runtime_observations',
  ignoresUnknownQuery: true,
  scope: 'runtime_observations:read',
  tag,
  summary: 'List the runtime observations of a provider',
  description:
    'Newest first, by when they were first received: `firstSeenAt` may still move back when late spans come in.',
  params: { provider_id: LookupIdSchema.describe("The provider's id.") },
  query: {
    ...filters,
    // A string, and not an enum, in the specification of the first operations: clients rely on the empty list.
    status: z
      .string()
      .max(64)
      .nullish()
      .describe('Only observations with this status. A status that does not exist matches none.'),
    ...pageFields,
  },
  output,
  errors: ['provider_not_found'],
});

export const listRuntimeObservations = operation({
  method: 'GET',
  path: '/v1/runtime-observations',
  operationId: 'list_runtime_observations',
  scope: 'runtime_observations:read',
  tag,
  summary: 'List runtime observations',
  description:
    "Lists what agents were seen to use, at all providers in the caller's reach, newest first by when it was first received. Use `unknown=true&status=open` for what nobody has declared or reviewed.",
  query: {
    ...filters,
    status: ObservationStatusSchema.nullish().describe('Only observations with this status.'),
    provider_id: z.string().max(128).nullish().describe('Only observations at this provider.'),
    kind: InventoryKindSchema.nullish().describe('Only observations of this kind.'),
    name: z.string().max(256).nullish().describe('Only observations of exactly this name.'),
    ...pageFields,
  },
  output,
});

export const reviewRuntimeObservation = operation({
  method: 'POST',
  path: '/v1/runtime-observations/{observation_id}/review',
  operationId: 'review_runtime_observation',
  scope: 'runtime_observations:review',
  tag,
  summary: 'Review a runtime observation',
  description: 'Completes its review task. A later review replaces an earlier one.',
  params,
  body: ReviewRuntimeObservationInputSchema,
  record: observationRecord,
  ifMatch: observationRecord,
  output: RuntimeObservationSchema,
  errors: ['runtime_observation_not_found'],
});

export const updateRuntimeObservation = operation({
  method: 'PUT',
  path: '/v1/runtime-observations/{observation_id}',
  operationId: 'update_runtime_observation',
  scope: 'runtime_observations:review',
  tag,
  summary: 'Update a runtime observation',
  description:
    'Takes a decision back (`open`), marks the observation as dealt with elsewhere (`resolved`), or changes the note of its review. To decide on it, review it instead.',
  params,
  body: UpdateRuntimeObservationInputSchema,
  record: observationRecord,
  ifMatch: observationRecord,
  output: RuntimeObservationSchema,
  errors: ['runtime_observation_not_found'],
});
