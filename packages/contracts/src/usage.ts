import { z } from 'zod';
import { TimestampInputSchema, TimestampSchema, tenancyFields, tenancyQueryFields } from './fields.ts';
import { InventoryKindSchema } from './inventory.ts';
import { operation } from './operation.ts';
import { cursorField, pageShape } from './pages.ts';
import { costField } from './prices.ts';

export const USAGE_DIMENSIONS = ['provider', 'kind', 'name', 'agent', 'account', 'sub_tenant'] as const;
export type UsageDimension = (typeof USAGE_DIMENSIONS)[number];

export const UsageIntervalSchema = z
  .enum(['hour', 'day', 'all'])
  .meta({ id: 'UsageInterval', description: 'The length of time that is added up. `all`: the whole time range.' });
export type UsageInterval = z.infer<typeof UsageIntervalSchema>;

/** What usage is sorted by, the most first. Tokens are those of input and output together. */
export const USAGE_ORDERS = ['calls', 'errors', 'tokens', 'cost'] as const;
export type UsageOrder = (typeof USAGE_ORDERS)[number];

const dimension = (description: string) => `${description} Null if the query does not group by it.`;

export const UsageSchema = z
  .strictObject({
    ...tenancyFields,
    start: TimestampSchema.nullable().describe('The start of the hour or day, in UTC. Null for the interval `all`.'),
    providerId: z
      .string()
      .nullable()
      .describe(
        dimension(
          'The id of the provider. Empty for providers that were not stored because of the limits of the tenant.',
        ),
      ),
    kind: InventoryKindSchema.nullable().describe(dimension('The kind of the called items.')),
    name: z
      .string()
      .nullable()
      .describe(dimension('The name of the called item, or `other` for names beyond the limit of the tenant.')),
    agent: z
      .string()
      .nullable()
      .describe(
        dimension(
          'The agent that made the calls, or their service if no agent is known, or `other` for agents beyond the limit of the tenant.',
        ),
      ),
    account: z
      .string()
      .nullable()
      .describe(dimension('The account that reported the calls: `user:<id>` or `service_account:<tenant>/<id>`.')),
    calls: z.int().describe('The number of calls. A call that several spans or log records report counts once.'),
    errors: z.int().describe('How many of the calls failed.'),
    inputTokens: z.int().describe('The input tokens of the model calls that report them.'),
    outputTokens: z.int().describe('The output tokens of the model calls that report them.'),
    cacheReadTokens: z.int().describe('The input tokens that were read from a cache. `inputTokens` includes them.'),
    cacheWriteTokens: z.int().describe('The input tokens that were written to a cache. `inputTokens` includes them.'),
    reasoningTokens: z.int().describe('The output tokens of reasoning. `outputTokens` includes them.'),
    durationMs: z.number().describe('The total duration of the calls, in milliseconds.'),
    cost: costField,
  })
  .meta({ id: 'Usage', description: 'The calls of one combination of place, time and dimensions, added up.' });
export type Usage = z.infer<typeof UsageSchema>;

/** The time range that was added up. */
export const rangeFields = {
  from: TimestampSchema.describe('The start of the time range that was added up.'),
  to: TimestampSchema.describe('The end of the time range. Calls at this time are not included.'),
};

export const listUsage = operation({
  method: 'GET',
  path: '/v1/usage',
  operationId: 'list_usage',
  scope: 'usage:read',
  tag: 'Usage',
  summary: 'List usage',
  description:
    'Adds up calls of models, tools, agents, prompts and resources by hour, by day or over the whole time range, for each combination of the dimensions in `group_by`. Calls of different tenants are never added together. The list is sorted by `start`, then by these dimensions, unless `sort` says otherwise. A query takes one more point of the rate limit for every 200 combinations of sub-tenant, provider, kind, name, agent and account that it reads, and for every 2,000 sums. 422 if it would have to read too much: use a shorter time range or a filter.',
  query: {
    ...tenancyQueryFields,
    from: TimestampInputSchema.nullish().describe(
      'Only calls from this time on: a full hour in UTC, or midnight in UTC for the interval `day`, because these are the sums that are stored. 422 for another time. If it is left out: 1 day before `to` for the interval `hour`, otherwise 30 days before `to`.',
    ),
    to: TimestampInputSchema.nullish().describe(
      'Only calls before this time, which is a full hour or midnight like `from`. If it is left out: the next of them. At most 31 days after `from` for the interval `hour`, otherwise 3,660 days.',
    ),
    interval: UsageIntervalSchema.default('all').describe(
      'Whether calls are added up by `hour`, by `day`, or over the whole time range (`all`).',
    ),
    group_by: z
      .array(z.enum(USAGE_DIMENSIONS))
      .max(USAGE_DIMENSIONS.length)
      .default([])
      .describe(
        'The dimensions to group by. Repeat the parameter for several. If it is left out, all calls of a tenant are added up.',
      ),
    provider_id: z.string().max(128).nullish().describe('Only calls at this provider.'),
    kind: InventoryKindSchema.nullish().describe('Only calls of this kind.'),
    name: z
      .string()
      .max(256)
      .nullish()
      .describe('Only calls of items with this name. Model names are compared case-insensitively.'),
    agent: z.string().max(256).nullish().describe('Only calls by this agent or service.'),
    account: z.string().max(300).nullish().describe('Only calls that this account reported.'),
    sort: z
      .enum(USAGE_ORDERS)
      .nullish()
      .describe(
        'The record with the most calls, errors or tokens, or with the highest cost, comes first. Tokens are those of input and output together. By cost, model calls without a price come after all that have one, and records without model calls come last. A record whose usage changes while you read page after page may come twice or be left out.',
      ),
    limit: z.int().min(1).max(1000).default(100).describe('The maximum number of records on a page: 1 to 1,000.'),
    cursor: cursorField,
  },
  output: z
    .strictObject({ ...pageShape(UsageSchema), ...rangeFields })
    .meta({ id: 'UsagePage', description: 'One page of usage, and the time range that was added up.' }),
});
