import { z } from 'zod';
import { TimestampInputSchema, TimestampSchema, tenancyFields, tenancyQueryFields } from './fields.ts';
import { InventoryKindSchema } from './inventory.ts';
import { operation } from './operation.ts';
import { cursorField, page } from './pages.ts';

export const USAGE_DIMENSIONS = ['provider', 'kind', 'name', 'agent', 'account', 'sub_tenant'] as const;
export type UsageDimension = (typeof USAGE_DIMENSIONS)[number];

export const UsageIntervalSchema = z.enum(['hour', 'day', 'all']).meta({ id: 'UsageInterval' });
export type UsageInterval = z.infer<typeof UsageIntervalSchema>;

const grouped = (what: string) => `${what} Null where the query does not group by it.`;

export const UsageSchema = z
  .strictObject({
    ...tenancyFields,
    start: TimestampSchema.nullable().describe('When the hour or the day begins, in UTC. Null for the interval `all`.'),
    providerId: z
      .string()
      .nullable()
      .describe(
        grouped(
          'The id of the provider; empty for providers that were not stored because the tenant has as many as it may.',
        ),
      ),
    kind: InventoryKindSchema.nullable().describe(grouped('The kind of what was called.')),
    name: z
      .string()
      .nullable()
      .describe(grouped('The name of what was called; `other` for names beyond the limit of the tenant.')),
    agent: z
      .string()
      .nullable()
      .describe(
        grouped(
          'The nearest agent around the calls, else the name of their service; `other` for agents beyond the limit of the tenant.',
        ),
      ),
    account: z
      .string()
      .nullable()
      .describe(grouped('The account that reported the calls: `user:<id>` or `service_account:<tenant>/<id>`.')),
    calls: z.int().describe('How many calls there were. A call that several spans tell of counts once.'),
    errors: z.int().describe('How many of them failed.'),
    inputTokens: z.int().describe('Of the calls of models that say it.'),
    outputTokens: z.int().describe('Of the calls of models that say it.'),
    durationMs: z.number().describe('How long the calls took in all, in milliseconds.'),
  })
  .meta({ id: 'Usage', description: 'The sums of some calls of one tenant.' });
export type Usage = z.infer<typeof UsageSchema>;

export const listUsage = operation({
  method: 'GET',
  path: '/v1/usage',
  operationId: 'list_usage',
  scope: 'usage:read',
  tag: 'Usage',
  summary: 'List usage',
  description:
    'Adds up the calls of models, tools, agents, prompts and resources that spans and log records tell of: by hour, by day or in all, for each combination of what it is grouped by. Different tenants are never added up together. Sorted by start, then by what it is grouped by. A query takes a further point of the rate limit for every 200 combinations of sub-tenant, provider, kind, name, agent and account that it reads, and for every 2,000 sums. One that would have to add up too much is 422: narrow the time or filter.',
  query: {
    ...tenancyQueryFields,
    from: TimestampInputSchema.nullish().describe(
      'Only calls since this time, which is rounded down to the hour, for the interval `day` to the day. Left out: a day before `to` for the interval `hour`, else 30 days.',
    ),
    to: TimestampInputSchema.nullish().describe(
      'Only calls before this time, which is rounded up. Left out: now. At most 31 days after `from` for the interval `hour`, else 3660 days.',
    ),
    interval: UsageIntervalSchema.default('all').describe('`all`: one sum for the whole time.'),
    group_by: z
      .array(z.enum(USAGE_DIMENSIONS))
      .max(USAGE_DIMENSIONS.length)
      .default([])
      .describe('What to tell apart. Repeat the parameter for several. Left out: everything is added up.'),
    provider_id: z.string().max(128).nullish().describe('Only calls at this provider.'),
    kind: InventoryKindSchema.nullish().describe('Only calls of this kind.'),
    name: z.string().max(256).nullish().describe('Only calls of this name; a model in any case.'),
    agent: z.string().max(256).nullish().describe('Only calls by this agent or service.'),
    account: z.string().max(300).nullish().describe('Only calls that this account reported.'),
    limit: z.int().min(1).max(1000).default(100).describe('How many at the most: 1 to 1,000.'),
    cursor: cursorField,
  },
  output: page('UsagePage', UsageSchema),
});
