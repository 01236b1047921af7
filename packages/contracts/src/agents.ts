import { z } from 'zod';
import { ChannelOfAgentSchema } from './channels.ts';
import { TimestampInputSchema, TimestampSchema, tenancyFields, tenancyQueryFields } from './fields.ts';
import { UseStateSchema } from './graph.ts';
import { InventoryKindSchema } from './inventory.ts';
import { operation } from './operation.ts';
import { pageFields, pageShape } from './pages.ts';
import { costField } from './prices.ts';
import {
  ObservationRiskFactorSchema,
  ObservationRiskSchema,
  ObservationStatusSchema,
  RiskLevelSchema,
} from './runtime-observations.ts';
import { rangeFields } from './usage.ts';

/** The maximum number of accounts and of used items in the record of an agent. */
export const MAX_AGENT_ACCOUNTS = 20;
export const MAX_AGENT_USES = 1000;

/** The maximum number of observations that explain the risk of an agent. */
export const MAX_RISK_CAUSES = 5;

const usageFields = {
  calls: z.int().describe('The number of calls in the time range.'),
  errors: z.int().describe('How many of them failed.'),
  inputTokens: z.int(),
  outputTokens: z.int(),
  cost: costField,
};

const AgentUsageSchema = z
  .strictObject(usageFields)
  .meta({ id: 'AgentUsage', description: 'What an agent called in the time range.' });

const AgentObservationSchema = z
  .strictObject({
    id: z.string(),
    providerId: z.string(),
    unknown: z.boolean(),
    status: ObservationStatusSchema,
    risk: ObservationRiskSchema,
  })
  .meta({ id: 'AgentObservation', description: 'A runtime observation of the agent itself.' });

const AgentRiskCauseSchema = z
  .strictObject({
    observationId: z.string(),
    providerId: z.string(),
    kind: InventoryKindSchema,
    name: z.string(),
    factors: z.array(ObservationRiskFactorSchema),
  })
  .meta({ id: 'AgentRiskCause', description: 'An observation that makes the risk of an agent as high as it is.' });

const AgentRiskSchema = z
  .strictObject({
    level: RiskLevelSchema,
    causes: z
      .array(AgentRiskCauseSchema)
      .max(MAX_RISK_CAUSES)
      .describe('The observations with this level, sorted by name, the first 5. Empty for `low`.'),
  })
  .meta({ id: 'AgentRisk', description: 'The highest risk of an agent itself and of everything that it uses.' });
export type AgentRisk = z.infer<typeof AgentRiskSchema>;

const agentFields = {
  id: z
    .string()
    .describe('The id, which is derived from the place and the name. It never changes, and it is not secret.'),
  ...tenancyFields,
  name: z.string().describe('The name of the agent. If its calls name no agent: the name of the service.'),
  declared: z
    .boolean()
    .describe(
      'Whether an active agent manifest of its place or of the whole tenant has this name, or an item declares it.',
    ),
  manifestId: z
    .string()
    .nullable()
    .describe('The id of the active agent manifest with this name. Null if there is none, or if you may not read it.'),
  observations: z
    .array(AgentObservationSchema)
    .max(20)
    .describe('The runtime observations of the agent itself, the first 20.'),
  risk: AgentRiskSchema.nullable().describe(
    'The risk of its worst use, or of the agent itself. All uses count that usage remembers, also those outside of the time range. Null if neither the agent nor a use of it was observed.',
  ),
  accounts: z
    .array(z.string())
    .max(MAX_AGENT_ACCOUNTS)
    .describe('The accounts that reported its calls: `user:<id>` or `service_account:<tenant>/<id>`, the first 20.'),
  firstSeenAt: TimestampSchema.nullable().describe(
    'When its first call began, or when it was first observed. Null if it is only declared.',
  ),
  lastSeenAt: TimestampSchema.nullable().describe(
    'When its last call began, or when it was last observed. Null if it is only declared.',
  ),
  usage: AgentUsageSchema,
};

export const AgentSchema = z
  .strictObject(agentFields)
  .meta({ id: 'Agent', description: 'An agent, or a service whose calls name no agent.' });
export type Agent = z.infer<typeof AgentSchema>;

const AgentUseSchema = z
  .strictObject({
    providerId: z.string(),
    providerName: z.string().nullable().describe('Null if the provider no longer exists, or if you may not read it.'),
    kind: InventoryKindSchema,
    name: z.string(),
    state: UseStateSchema,
    observationId: z.string().nullable().describe('The runtime observation of it at the place of the agent.'),
    firstSeenAt: TimestampSchema.nullable().describe('When any agent of the place was first seen using it.'),
    lastSeenAt: TimestampSchema.nullable().describe('When any agent of the place was last seen using it.'),
    accounts: z.array(z.string()).max(MAX_AGENT_ACCOUNTS).describe('The accounts that reported these calls.'),
    ...usageFields,
  })
  .meta({ id: 'AgentUse', description: 'An item that an agent used in the time range.' });
export type AgentUse = z.infer<typeof AgentUseSchema>;

const AgentDeclarationSchema = z
  .strictObject({
    provider: z.string().describe('The id or name of the provider, as the manifest has it.'),
    kind: InventoryKindSchema,
    name: z.string(),
  })
  .meta({ id: 'AgentDeclaration', description: 'An item that the manifest of an agent declares.' });

export const AgentDetailSchema = z
  .strictObject({
    ...agentFields,
    ...rangeFields,
    uses: z
      .array(AgentUseSchema)
      .max(MAX_AGENT_USES)
      .describe('The items that it used in the time range, those with the most calls first.'),
    omittedUses: z.int().describe('How many used items were left out because there are more than 1,000.'),
    declares: z
      .array(AgentDeclarationSchema)
      .describe('What its active manifest declares. Empty without `manifestId`.'),
    channels: z
      .array(ChannelOfAgentSchema)
      .describe(
        'Where people talk to it: declared by its manifest, seen, or both, by name. Empty if nothing is declared, and no run said where it came from.',
      ),
  })
  .meta({ id: 'AgentDetail', description: 'An agent, with what it uses.' });
export type AgentDetail = z.infer<typeof AgentDetailSchema>;

const timeRange = {
  from: TimestampInputSchema.nullish().meta({
    description:
      'Only calls from this time on count for the usage: a full hour in UTC. 422 for another time. If it is left out: 30 days before `to`.',
    param: { id: 'AgentUsageFrom' },
  }),
  to: TimestampInputSchema.nullish().meta({
    description:
      'Only calls before this time count for the usage: a full hour in UTC. If it is left out: the next full hour.',
    param: { id: 'AgentUsageTo' },
  }),
};

const tag = 'Agents';

export const listAgents = operation({
  method: 'GET',
  path: '/v1/agents',
  operationId: 'list_agents',
  scope: 'runtime_observations:read',
  tag,
  summary: 'List agents',
  description:
    'Lists all agents: those that a manifest declares, those that were observed, and the agents and services that usage names. An agent is identified by its place and name. The list is sorted by tenant, sub-tenant and name, unless `sort` says otherwise. The query takes points of the rate limit like `list_usage`, and one more for every 1,000 usage series, observations and manifests that it reads to find the agents. 422 if it would have to read more than 50,000 usage series, observations or manifests; filter by tenant then.',
  query: {
    ...tenancyQueryFields,
    declared: z.boolean().nullish().describe('true: only declared agents. false: only agents that nothing declares.'),
    text: z
      .string()
      .min(1)
      .max(200)
      .nullish()
      .describe('Only agents whose name contains this text, compared case-insensitively.'),
    ...timeRange,
    sort: z
      .enum(['name', 'last_seen_at', 'calls', 'errors', 'tokens', 'cost'])
      .nullish()
      .describe(
        '`name`: by tenant, sub-tenant and name. `last_seen_at`: the agent that was seen last comes first. `calls`, `errors`, `tokens`: the agent with the most in the time range comes first; tokens are those of input and output together. `cost`: the agent with the highest cost in the time range comes first; agents whose calls have no price come after all that have one, and agents without model calls come last. Every order but `name` reads the usage of all agents that match, and takes points of the rate limit for it. It is 422 if these agents have more than 10,000 usage series: filter by tenant or text. An agent whose usage changes while you read page after page may come twice or be left out.',
      ),
    ...pageFields,
  },
  output: z
    .strictObject({ ...pageShape(AgentSchema), ...rangeFields })
    .meta({ id: 'AgentPage', description: 'One page of agents, and the time range of their usage.' }),
});

export const getAgent = operation({
  method: 'GET',
  path: '/v1/agents/{agent_id}',
  operationId: 'get_agent',
  scope: 'runtime_observations:read',
  tag,
  summary: 'Get an agent',
  description: 'Returns one agent, with the items that it used in the time range and those that its manifest declares.',
  params: { agent_id: z.string().min(1).max(2000).describe("The agent's id.") },
  query: timeRange,
  output: AgentDetailSchema,
  errors: ['agent_not_found'],
});
