import { z } from 'zod';
import {
  LookupIdSchema,
  NoteInputSchema,
  TimestampInputSchema,
  TimestampSchema,
  tenancyFields,
  tenancyQueryFields,
  timeFields,
} from './fields.ts';
import { DenialSchema } from './denials.ts';
import { DriftSchema, InventoryKindSchema } from './inventory.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';

export const ObservationStatusSchema = z.enum(['open', 'approved', 'rejected', 'ignored', 'resolved']).meta({
  id: 'RuntimeObservationStatus',
  description:
    '`open`: a decision is needed. `approved`, `rejected`, `ignored`: the decision of a review. `resolved`: it is declared now, or it was dealt with elsewhere.',
});
export const DecisionSchema = z
  .enum(['approved', 'rejected', 'ignored'])
  .meta({ id: 'ReviewDecision', description: 'The decision of a review.' });

const NoteSchema = z.string().max(2000);
const samples = z.array(z.string()).max(10);

/** The risk factors, each with its level and meaning. The risk of an observation is the highest level of its factors. */
export const RISK_FACTORS = {
  rejected_again: 'high: a person rejected it, and it was seen again after that',
  blocked_item: 'high: the inventory blocks it, or a model that answered its calls, but agents use it',
  drift: 'high: the provider changed its definition after it was accepted',
  unknown_provider: 'high: its provider is not declared',
  disabled_provider: 'high: its provider is disabled, but agents use it',
  foreign_address: "high: calls went to an address that is not the provider's",
  unknown_item: 'medium: no inventory item and no active manifest declares it',
  first_use: 'medium: an account first used the provider within the last 7 days, and other accounts used it before',
  denied_use: 'medium: gateways denied it, or would have denied it in the mode `enforce`',
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
  description: 'The definition of an item: what people and models are shown, and what it is called with.',
});
export type Definition = z.infer<typeof DefinitionSchema>;

const CallSourceSchema = z
  .enum(['telemetry', 'proxy'])
  .meta({ id: 'CallSource' })
  .describe(
    'What told of calls. `telemetry`: spans or log records. `proxy`: the MCP proxy of a gateway, for an account whose telemetry reported no call in the last 24 hours.',
  );
export type CallSource = z.infer<typeof CallSourceSchema>;

const ObservationEvidenceSchema = z
  .strictObject({
    serviceNames: samples.describe('The services that used it (`service.name`), the first 10.'),
    agents: samples.describe(
      'The agents that used it, where telemetry names them, the first 10. `list_usage` with `group_by=agent` lists all of them.',
    ),
    serverAddresses: samples.describe('The addresses that the calls went to (`server.address`), the first 10.'),
    operations: samples.describe('The operations: `gen_ai.operation.name` or the MCP method, the first 10.'),
    accounts: samples.describe('The service accounts and users that reported the calls, the last 10.'),
    names: samples.describe('The spellings of its name, the first 10. Variants of one model are one observation.'),
    responseModels: z
      .array(z.string())
      .max(50)
      .describe('Names of models in responses that differ from the requested model, the first 50.'),
    environments: z
      .array(z.string())
      .max(9)
      .describe(
        'The environments of the services that used it (`deployment.environment.name` of their resources, in lower case), the first 8. `other`: there were more, or one has no plain name.',
      ),
    errors: z.int().describe('How many calls ended in an error.'),
    deniedReasons: z
      .array(DenialSchema)
      .max(DenialSchema.options.length)
      .describe('Why gateways denied it, or would have denied it.'),
    sources: z
      .array(CallSourceSchema)
      .max(CallSourceSchema.options.length)
      .describe('What told of the calls. Empty: there were no calls.'),
  })
  .meta({ id: 'ObservationEvidence', description: 'What was seen in the calls that the observation is based on.' });

export const ObservationRiskFactorSchema = z
  .strictObject({ factor: RiskFactorSchema, reason: z.string() })
  .meta({ id: 'ObservationRiskFactor', description: 'A risk factor, with its reason in words.' });

/** From the lowest to the highest. */
export const RiskLevelSchema = z.enum(['low', 'medium', 'high']);
export type RiskLevel = z.infer<typeof RiskLevelSchema>;

/** The highest of some levels. Undefined if there is none. */
export function highestRisk(levels: readonly RiskLevel[]): RiskLevel | undefined {
  return RiskLevelSchema.options.findLast((level) => levels.includes(level));
}

export const ObservationRiskSchema = z
  .strictObject({ level: RiskLevelSchema, factors: z.array(ObservationRiskFactorSchema) })
  .meta({ id: 'ObservationRisk', description: 'The risk: the highest level of its factors, and the factors.' });

const ObservationReviewSchema = z
  .strictObject({
    decision: DecisionSchema,
    note: NoteSchema.nullable(),
    reviewedBy: z.string().describe('Who reviewed it: `user:<id>` or `service_account:<tenant>/<id>`.'),
    reviewedAt: TimestampSchema,
  })
  .meta({ id: 'ObservationReview', description: 'The last review of an observation.' });

const ObservationDriftSchema = z
  .strictObject({ before: DefinitionSchema, after: DefinitionSchema, detectedAt: TimestampSchema })
  .meta({ id: 'ObservationDrift', description: 'A changed definition, before and after.' });

export const RuntimeObservationSchema = z
  .strictObject({
    id: z.string(),
    ...tenancyFields,
    providerId: z.string(),
    kind: InventoryKindSchema,
    name: z.string(),
    unknown: z.boolean().describe('Whether neither an inventory item nor an active manifest declares it.'),
    status: ObservationStatusSchema,
    occurrences: z
      .int()
      .describe(
        'How many calls were counted. 0 if only a sync reported it, or if its calls turned out to be of another subject.',
      ),
    firstSeenAt: TimestampSchema.describe('The earliest time at which it was seen. Late spans can move it back.'),
    lastSeenAt: TimestampSchema.describe('The latest time at which it was seen.'),
    lastTraceId: z.string().nullable(),
    lastSpanId: z.string().nullable(),
    denials: z
      .int()
      .describe(
        'How often a gateway denied it: those in the mode `observe` too, which only counts what `enforce` denies. Denials are not calls.',
      ),
    lastDeniedAt: TimestampSchema.nullable().describe('When it was last denied. Null: never.'),
    evidence: ObservationEvidenceSchema,
    risk: ObservationRiskSchema,
    inventoryItemId: z
      .string()
      .nullable()
      .describe('The id of the inventory item that covers it. Null if there is none.'),
    review: ObservationReviewSchema.nullable(),
    drift: ObservationDriftSchema.nullable().describe(
      'How the provider changed the definition. Null if there is no change, or once it is accepted or the provider took it back.',
    ),
    ...timeFields,
  })
  .meta({
    id: 'RuntimeObservation',
    description:
      'What was seen of one model, tool, agent, prompt or resource at a provider: counts, times, evidence and risk.',
  });
export type RuntimeObservation = z.infer<typeof RuntimeObservationSchema>;

export const ReviewRuntimeObservationInputSchema = z
  .strictObject({
    decision: DecisionSchema.describe(
      '`approved`: agents may use it, and the recommendation to declare it may be applied. To be applied without its id, the reviewer must reach the whole place of the provider. `rejected`: agents must not use it. Its recommendation is dismissed unless it is also based on other observations. If it is seen again, the observation is open again and `block_item` is recommended. `ignored`: nothing changes, and further calls do not open it again.',
    ),
    note: NoteInputSchema.nullish().describe('The reason for the decision, at most 2000 characters.'),
  })
  .meta({
    id: 'ReviewRuntimeObservationInput',
    description: 'A decision about an observation, and its reason.',
    examples: [{ decision: 'approved', note: 'Agreed with the owner of the agent.' }],
  });
export type ReviewRuntimeObservationInput = z.infer<typeof ReviewRuntimeObservationInputSchema>;

export const UpdateRuntimeObservationInputSchema = z
  .strictObject({
    status: z
      .enum(['open', 'resolved'])
      .optional()
      .describe(
        '`open`: withdraws the decision. The status is then `resolved` if it is declared. `resolved`: it was dealt with elsewhere.',
      ),
    note: NoteInputSchema.nullish().describe('The note of the review. 422 if there is no review.'),
  })
  .meta({
    id: 'UpdateRuntimeObservationInput',
    description: 'A field that is left out keeps its value. Null clears it.',
    examples: [{ status: 'open' }],
  });
export type UpdateRuntimeObservationInput = z.infer<typeof UpdateRuntimeObservationInputSchema>;

const observationRecord = {
  tagExcludes: [
    'occurrences',
    'firstSeenAt',
    'lastSeenAt',
    'lastTraceId',
    'lastSpanId',
    'denials',
    'lastDeniedAt',
    'evidence',
    'risk',
  ],
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
        'true: only observations of what neither an inventory item nor an active manifest declares. false: only observations of what is declared.',
      param: { id: 'UnknownFilter' },
    }),
};
const output = page('RuntimeObservationPage', RuntimeObservationSchema);

export const ObservationViewSchema = z
  .enum(['open', 'new', 'seen_again', 'changed_definition', 'blocked', 'denied'])
  .meta({
    id: 'ObservationView',
    description:
      'Observations that need attention. `open`: all that need a decision. `new`: no person has decided about them yet, and no definition changed. `seen_again`: a person rejected them, and they were seen again after that. `changed_definition`: the provider changed their definition. `blocked`: of any status, they have the risk `blocked_item` or `disabled_provider`: agents used what the inventory blocks, or what is at a disabled provider. `lastSeenAt` says when. `denied`: of any status, gateways denied them, or would have denied them in the mode `enforce`. `lastDeniedAt` says when.',
  });
export type ObservationView = z.infer<typeof ObservationViewSchema>;

const timeFilter = (what: string) => TimestampInputSchema.nullish().describe(what);

/** The filters that select observations across providers: of lists and counts in the query, of bulk reviews in the body. */
export const observationFilters = {
  unknown: filters.unknown,
  status: ObservationStatusSchema.nullish()
    .describe('Only observations with this status.')
    .meta({ param: { id: 'ObservationStatusFilter' } }),
  view: ObservationViewSchema.nullish()
    .describe('Only observations of this view.')
    .meta({ param: { id: 'ObservationViewFilter' } }),
  min_risk: z
    .enum(['low', 'medium', 'high'])
    .nullish()
    .describe('Only observations with at least this risk level. `low` gives all of them.')
    .meta({ param: { id: 'MinRiskFilter' } }),
  provider_id: z
    .string()
    .max(128)
    .nullish()
    .describe('Only observations at this provider.')
    .meta({ param: { id: 'ObservationProviderFilter' } }),
  kind: InventoryKindSchema.nullish()
    .describe('Only observations of this kind.')
    .meta({ param: { id: 'ObservationKindFilter' } }),
  name: z
    .string()
    .max(256)
    .nullish()
    .describe('Only observations with exactly this name.')
    .meta({ param: { id: 'ObservationNameFilter' } }),
  text: z
    .string()
    .min(1)
    .max(200)
    .nullish()
    .describe('Only observations whose name contains this text. ASCII letters are compared case-insensitively.')
    .meta({ param: { id: 'ObservationTextFilter' } }),
  agent: z
    .string()
    .max(256)
    .nullish()
    .describe('Only observations of what this agent or service called, by its usage.')
    .meta({ param: { id: 'ObservationAgentFilter' } }),
  account: z
    .string()
    .max(300)
    .nullish()
    .describe(
      'Only observations of calls that this account reported, by its usage: `user:<id>` or `service_account:<tenant>/<id>`.',
    )
    .meta({ param: { id: 'ObservationAccountFilter' } }),
  environment: z
    .string()
    .regex(/^[\w.-]{1,64}$/)
    .nullish()
    .describe('Only observations that were seen in this environment, in any case: `production`.')
    .meta({ param: { id: 'ObservationEnvironmentFilter' } }),
  first_seen_after: timeFilter('Only observations that were first seen after this time.').meta({
    param: { id: 'FirstSeenAfter' },
  }),
  first_seen_before: timeFilter('Only observations that were first seen before this time.').meta({
    param: { id: 'FirstSeenBefore' },
  }),
  last_seen_after: timeFilter('Only observations that were last seen after this time.').meta({
    param: { id: 'LastSeenAfter' },
  }),
  last_seen_before: timeFilter('Only observations that were last seen before this time.').meta({
    param: { id: 'LastSeenBefore' },
  }),
};

export const listProviderRuntimeObservations = operation({
  method: 'GET',
  path: '/v1/providers/{provider_id}/observations',
  operationId: 'list_provider_runtime_observations',
  ignoresUnknownQuery: true,
  scope: 'runtime_observations:read',
  tag,
  summary: 'List the runtime observations of a provider',
  description:
    'Lists the observations at one provider, newest first by when they were first received. Late spans can move `firstSeenAt` back, but do not change this order.',
  params: { provider_id: LookupIdSchema.describe("The provider's id.") },
  query: {
    ...filters,
    // The specification of the first 18 operations has a string here, and clients rely on the empty list for unknown values.
    status: z
      .string()
      .max(64)
      .nullish()
      .describe('Only observations with this status. An unknown status gives an empty list.'),
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
    "Lists the observations at all providers in the caller's reach. `view=open` lists what needs a decision. With any `sort` but `created_at`, an observation that changes while you read the pages is repeated on the last pages, so that none is missed. Remove duplicates by `id`. These orders are refused (422) if more than 20,000 observations are in reach; filter by tenant then.",
  query: {
    ...tenancyQueryFields,
    ...observationFilters,
    sort: z
      .enum([
        'created_at',
        'last_seen_at',
        'first_seen_at',
        'risk',
        'calls',
        'name',
        'provider',
        'status',
        'reviewed_at',
      ])
      .default('created_at')
      .describe(
        '`created_at`: newest first, by when they were first received. `last_seen_at`, `first_seen_at`: the latest first. `risk`: high risk first, and among the same risk what was last seen. `calls`: the most calls first. `name`: by name, ASCII letters in any case. `provider`: by the display name of the provider, or else its name. `status`: open first, then `rejected`, `ignored`, `approved` and `resolved`, and among the same status what was last seen. `reviewed_at`: the last decision first.',
      ),
    ...pageFields,
  },
  output,
});

const RiskCountsSchema = z
  .strictObject({ low: z.int(), medium: z.int(), high: z.int() })
  .meta({ id: 'RiskCounts', description: 'How many observations have each risk level.' });

export const RuntimeObservationCountsSchema = z
  .strictObject({
    open: z.int().describe('All that need a decision.'),
    new: z.int().describe('No person has decided about them yet, and no definition changed.'),
    seenAgain: z.int().describe('A person rejected them, and they were seen again after that.'),
    changedDefinition: z.int().describe('The provider changed their definition.'),
    byRisk: RiskCountsSchema.describe('Those that need a decision, by their risk level.'),
  })
  .meta({
    id: 'RuntimeObservationCounts',
    description: 'How many observations need a decision, for each view. An observation may count in several views.',
  });
export type RuntimeObservationCounts = z.infer<typeof RuntimeObservationCountsSchema>;

const { status: _status, view: _view, ...countFilters } = observationFilters;

export const countRuntimeObservations = operation({
  method: 'GET',
  path: '/v1/runtime-observations/counts',
  operationId: 'count_runtime_observations',
  scope: 'runtime_observations:read',
  tag,
  summary: 'Count runtime observations that need a decision',
  description:
    'Counts the observations of each view and of each risk level. Takes the filters of `list_runtime_observations`, apart from `status` and `view`. 422 if more than 50,000 observations are in reach; filter by tenant then.',
  query: { ...tenancyQueryFields, ...countFilters },
  output: RuntimeObservationCountsSchema,
});

/** The most groups in an answer. */
export const MAX_GROUPS = 100;

const ObservationGroupSchema = z
  .strictObject({
    key: z
      .string()
      .describe(
        'The id of the provider, or the name of the agent. The filter `provider_id` or `agent` selects the group.',
      ),
    count: z.int().describe('How many observations of the group the filters match.'),
    byRisk: RiskCountsSchema.describe('The same by risk level.'),
    lastSeenAt: TimestampSchema.describe('The latest time at which one of them was seen.'),
  })
  .meta({ id: 'ObservationGroup', description: 'Observations at one provider, or of what one agent called.' });

export const ObservationGroupsSchema = z
  .strictObject({
    items: z
      .array(ObservationGroupSchema)
      .max(MAX_GROUPS)
      .describe('Those with the most observations of high risk first, then of medium risk, then of any.'),
    total: z.int().describe(`How many groups there are. The answer has the first ${MAX_GROUPS}.`),
  })
  .meta({ id: 'ObservationGroups', description: 'Groups of observations, each with its size.' });
export type ObservationGroups = z.infer<typeof ObservationGroupsSchema>;

export const groupRuntimeObservations = operation({
  method: 'GET',
  path: '/v1/runtime-observations/groups',
  operationId: 'group_runtime_observations',
  scope: 'runtime_observations:read',
  tag,
  summary: 'Group runtime observations by provider or agent',
  description:
    'Counts the observations of each provider, or of each agent. Takes the filters of `list_runtime_observations`; `view=new` groups what needs a first decision. To decide about a whole group, use `review_runtime_observations` with the same filters and that of the group. An observation is in the group of each agent that called it, and in none if only a sync reported it. 422 if more than 50,000 observations are in reach; filter by tenant then.',
  query: {
    ...tenancyQueryFields,
    ...observationFilters,
    by: z.enum(['provider', 'agent']).describe('What the groups are.'),
  },
  output: ObservationGroupsSchema,
});

export const getRuntimeObservation = operation({
  method: 'GET',
  path: '/v1/runtime-observations/{observation_id}',
  operationId: 'get_runtime_observation',
  scope: 'runtime_observations:read',
  tag,
  summary: 'Get a runtime observation',
  description: 'Returns one observation, with its evidence, risk and review.',
  params,
  record: observationRecord,
  output: RuntimeObservationSchema,
  errors: ['runtime_observation_not_found'],
});

export const reviewRuntimeObservation = operation({
  method: 'POST',
  path: '/v1/runtime-observations/{observation_id}/review',
  operationId: 'review_runtime_observation',
  scope: 'runtime_observations:review',
  tag,
  summary: 'Review a runtime observation',
  description:
    'Stores a decision about the observation and completes its review task. A later review replaces an earlier one.',
  params,
  body: ReviewRuntimeObservationInputSchema,
  record: observationRecord,
  ifMatch: observationRecord,
  output: RuntimeObservationSchema,
  errors: ['tenant_limit_reached', 'runtime_observation_not_found'],
});

export const updateRuntimeObservation = operation({
  method: 'PUT',
  path: '/v1/runtime-observations/{observation_id}',
  operationId: 'update_runtime_observation',
  scope: 'runtime_observations:review',
  tag,
  summary: 'Update a runtime observation',
  description:
    'Withdraws a decision (`open`), marks the observation as dealt with elsewhere (`resolved`), or changes the note of its review. To decide about it, use `review_runtime_observation`.',
  params,
  body: UpdateRuntimeObservationInputSchema,
  record: observationRecord,
  ifMatch: observationRecord,
  output: RuntimeObservationSchema,
  errors: ['tenant_limit_reached', 'runtime_observation_not_found'],
});
