import { z } from 'zod';
import {
  HIDDEN_CHARACTER,
  LookupIdSchema,
  tenancyInputFields,
  tenancyQueryFields,
  TenantIdSchema,
  timeFields,
} from './fields.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';

/** The maximum number of prices that one tenant, or the platform, sets. */
export const MAX_PRICES = 200;

/** The maximum number of prices that one cost names. */
export const MAX_MATCHED_PRICES = 20;

/** A million dollars for a million tokens. */
const MAX_PRICE = 1e12;

const MatchedPriceSchema = z
  .strictObject({
    source: z
      .enum(['list', 'platform', 'tenant'])
      .describe('`list`: the list prices that come with the service. `platform`, `tenant`: a price that was set.'),
    id: z
      .string()
      .describe('`<provider>/<model>` in the list, such as `openai/gpt-5`, or the id of a price that was set.'),
    version: z.string().nullable().describe('The version of the list. Null for a price that was set.'),
  })
  .meta({ id: 'MatchedPrice', description: 'A price that a cost was computed with.' });
export type MatchedPrice = z.infer<typeof MatchedPriceSchema>;

export const CostSchema = z
  .strictObject({
    microUsd: z
      .int()
      .nullable()
      .describe(
        'The estimate by list prices, in millionths of a US dollar, of the calls that have a price. It is rounded once, after everything is added up. Null: no call has a price.',
      ),
    unpricedCalls: z
      .int()
      .describe(
        'How many model calls are not in the estimate: their model has no price, or none of the calls that are added up with them reports tokens.',
      ),
    prices: z.array(MatchedPriceSchema).max(MAX_MATCHED_PRICES).describe('The prices that were used, the first 20.'),
  })
  .meta({
    id: 'Cost',
    description:
      'What model calls cost: an estimate by list prices, computed from the sums of tokens when it is read. Discounts, prices of long contexts, of times of day, of requests and of audio are not in it.',
  });
export type Cost = z.infer<typeof CostSchema>;

/** The cost in a record of usage. */
export const costField = CostSchema.nullable().describe('What the model calls cost. Null if there are none.');

const PriceAmountSchema = z.int().min(0).max(MAX_PRICE);
const perMillion = (tokens: string) => `The price of a million ${tokens}, in millionths of a US dollar.`;

const ModelPatternSchema = z
  .string()
  .min(1)
  .max(200)
  .refine((text) => text === text.trim() && !HIDDEN_CHARACTER.test(text), {
    error: 'a pattern should not begin or end with a space, and should have no invisible characters',
  })
  .describe(
    'The models, by their name in usage, compared case-insensitively. `*` stands for any characters: `gpt-5*`.',
  );

const amounts = {
  inputPrice: PriceAmountSchema.describe(perMillion('input tokens that are not cached')),
  outputPrice: PriceAmountSchema.describe(`${perMillion('output tokens')} Reasoning tokens are output tokens.`),
  cacheReadPrice: PriceAmountSchema.nullable().describe(
    `${perMillion('input tokens that are read from a cache')} Null: \`inputPrice\`.`,
  ),
  cacheWritePrice: PriceAmountSchema.nullable().describe(
    `${perMillion('input tokens that are written to a cache')} Null: \`inputPrice\`.`,
  ),
};

export const PriceSchema = z
  .strictObject({
    id: z.string(),
    tenantId: TenantIdSchema.nullable().describe(
      'The tenant that set the price, for itself. Null: the platform set it, for all tenants.',
    ),
    modelPattern: ModelPatternSchema,
    validFrom: z.iso.date().describe('The first day on which it is valid, in UTC.'),
    ...amounts,
    ...timeFields,
  })
  .meta({ id: 'Price', description: 'A price of models that takes precedence over the list prices.' });
export type Price = z.infer<typeof PriceSchema>;

export const SetPriceInputSchema = z
  .strictObject({
    owner: z
      .enum(['tenant', 'platform'])
      .default('tenant')
      .describe('`platform`: a price for all tenants, which only platform administrators set.'),
    tenantId: tenancyInputFields.tenantId,
    modelPattern: ModelPatternSchema,
    validFrom: z.iso.date().describe('The first day on which it is valid, in UTC. It may be in the past.'),
    inputPrice: amounts.inputPrice,
    outputPrice: amounts.outputPrice,
    cacheReadPrice: amounts.cacheReadPrice.default(null),
    cacheWritePrice: amounts.cacheWritePrice.default(null),
  })
  .meta({
    id: 'SetPriceInput',
    examples: [{ modelPattern: 'gpt-5*', validFrom: '2026-01-01', inputPrice: 1_250_000, outputPrice: 10_000_000 }],
  });
export type SetPriceInput = z.infer<typeof SetPriceInputSchema>;

const tag = 'Usage';

export const listPrices = operation({
  method: 'GET',
  path: '/v1/prices',
  operationId: 'list_prices',
  scope: 'usage:read',
  tag,
  summary: 'List prices that were set',
  description:
    'Lists the prices that the platform and the tenants in reach have set, the newest first. Prices of the list that comes with the service are not in it. A price of the tenant wins over one of the platform, and that wins over the list. Of several the more specific pattern wins, which is the one with more characters other than `*`, and then the latest `validFrom` that is not after the use.',
  query: { tenant_id: tenancyQueryFields.tenant_id, ...pageFields },
  output: page('PricePage', PriceSchema),
});

export const setPrice = operation({
  method: 'POST',
  path: '/v1/prices',
  operationId: 'set_price',
  scope: 'tenants:write',
  tag,
  summary: 'Set a price',
  description:
    'Sets the price of models from a day on, for a tenant or for the platform. It replaces the price of the same owner, pattern and day. Costs are computed when they are read, so it also applies to former usage from that day on. Each tenant sets at most 200 prices, and so does the platform.',
  body: SetPriceInputSchema,
  output: PriceSchema,
  errors: ['price_limit_reached', 'platform_administrator_required'],
});

export const deletePrice = operation({
  method: 'DELETE',
  path: '/v1/prices/{price_id}',
  operationId: 'delete_price',
  scope: 'tenants:write',
  tag,
  summary: 'Delete a price',
  description: 'Deletes a price that was set. Costs are computed without it from then on, also those of former usage.',
  params: { price_id: LookupIdSchema.describe("The price's id.") },
  output: PriceSchema,
  errors: ['price_not_found', 'platform_administrator_required'],
});
