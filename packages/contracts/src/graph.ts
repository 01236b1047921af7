import { z } from 'zod';
import { TenantIdSchema, TimestampInputSchema, tenancyQueryFields } from './fields.ts';
import { InventoryKindSchema } from './inventory.ts';
import { operation } from './operation.ts';
import { costField } from './prices.ts';
import { ProviderKindSchema, ProviderStatusSchema } from './providers.ts';
import { rangeFields } from './usage.ts';

export const UseStateSchema = z.enum(['declared', 'unknown', 'blocked']).meta({
  id: 'UseState',
  description:
    '`declared`: an inventory item or an active manifest declares it. `unknown`: nothing declares it. `blocked`: the inventory blocks it, or its provider is disabled. If it differs between the places of a tenant, the worst one counts: blocked before unknown before declared.',
});
export type UseState = z.infer<typeof UseStateSchema>;

const sums = {
  calls: z.int().describe('The number of calls in the time range.'),
  errors: z.int().describe('How many of them failed.'),
  cost: costField,
};

const GraphAgentSchema = z
  .strictObject({
    tenantId: TenantIdSchema,
    name: z.string().describe('The name of the agent. If its calls name no agent: the name of the service.'),
    ...sums,
  })
  .meta({ id: 'GraphAgent', description: 'An agent or a service. It is identified by tenant and name.' });

const GraphProviderSchema = z
  .strictObject({
    tenantId: TenantIdSchema,
    id: z.string().describe('Empty for providers that are not stored, because the tenant has reached its limit.'),
    name: z.string().nullable().describe('Null if the provider no longer exists, or if you may not read it.'),
    displayName: z.string().nullable(),
    kind: ProviderKindSchema.nullable(),
    status: ProviderStatusSchema.nullable(),
    ...sums,
  })
  .meta({ id: 'GraphProvider', description: 'A provider that agents called. It is identified by tenant and id.' });

const GraphItemSchema = z
  .strictObject({
    tenantId: TenantIdSchema,
    providerId: z.string(),
    kind: InventoryKindSchema,
    name: z.string(),
    state: UseStateSchema,
    observationIds: z
      .array(z.string())
      .max(100)
      .describe(
        'The ids of its runtime observations, the first 100. Empty if you may not read them; `state` is then `unknown`.',
      ),
    ...sums,
  })
  .meta({
    id: 'GraphItem',
    description: 'A model, tool or other item. It is identified by tenant, provider, kind and name.',
  });

const GraphEdgeSchema = z
  .strictObject({
    tenantId: TenantIdSchema,
    agent: z.string(),
    providerId: z.string(),
    kind: InventoryKindSchema,
    name: z.string(),
    ...sums,
    inputTokens: z.int(),
    outputTokens: z.int(),
  })
  .meta({ id: 'GraphEdge', description: 'The calls that one agent made of one item.' });

export const GraphSchema = z
  .strictObject({
    ...rangeFields,
    agents: z.array(GraphAgentSchema),
    providers: z.array(GraphProviderSchema),
    items: z.array(GraphItemSchema),
    edges: z.array(GraphEdgeSchema).describe('The edges, those with the most calls first.'),
    omittedEdges: z.int().describe('How many edges with fewer calls were left out because of `max_edges`.'),
    omittedCalls: z.int().describe('How many calls the omitted edges have.'),
  })
  .meta({ id: 'Graph', description: 'Which agents use which items of which providers, and how often.' });
export type Graph = z.infer<typeof GraphSchema>;

export const getGraph = operation({
  method: 'GET',
  path: '/v1/graph',
  operationId: 'get_graph',
  scope: 'usage:read',
  tag: 'Usage',
  summary: 'Get the graph of agents and what they use',
  description:
    'Returns the usage of the time range as a graph: agents, providers and items are nodes, and the calls that an agent made of an item are an edge. The answer has the edges with the most calls, at most `max_edges`, and only the nodes of these edges. The sums of a node are the sums of its edges in this answer. The query takes points of the rate limit like `list_usage`. 422 if it would have to read too much.',
  query: {
    ...tenancyQueryFields,
    from: TimestampInputSchema.nullish().describe(
      'Only calls from this time on: a full hour in UTC. 422 for another time. If it is left out: 30 days before `to`.',
    ),
    to: TimestampInputSchema.nullish().describe(
      'Only calls before this time: a full hour in UTC. If it is left out: the next full hour.',
    ),
    agent: z.string().max(256).nullish().describe('Only edges from this agent or service.'),
    provider_id: z.string().max(128).nullish().describe('Only edges to items of this provider.'),
    kind: InventoryKindSchema.nullish().describe('Only edges to items of this kind.'),
    max_edges: z.int().min(1).max(2000).default(500).describe('The maximum number of edges: 1 to 2,000.'),
  },
  output: GraphSchema,
});
