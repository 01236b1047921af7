import { z } from 'zod';
import {
  DescriptionInputSchema,
  DescriptionSchema,
  DisplayNameInputSchema,
  DisplayNameSchema,
  LookupIdSchema,
  MetadataSchema,
  NameInputSchema,
  NameSchema,
  TimestampSchema,
  tenancyFields,
  tenancyInputFields,
  tenancyQueryFields,
  timeFields,
} from './fields.ts';
import { hidesText } from './visible-text.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';

export const ProviderKindSchema = z
  .enum(['llm', 'mcp', 'agent_runtime', 'channel', 'other'])
  .meta({ id: 'ProviderKind' });
export type ProviderKind = z.infer<typeof ProviderKindSchema>;

export const ProviderStatusSchema = z
  .enum(['discovered', 'active', 'disabled', 'deleted'])
  .meta({ id: 'ProviderStatus', description: '`discovered`: seen in traffic, but nobody has declared it.' });

export const BaseUrlSchema = z
  .url({ protocol: /^https?$/, error: 'base URL should be an http or https URL' })
  .max(2048)
  .refine((text) => !URL.canParse(text) || plain(new URL(text)), {
    error: 'base URL should have neither user, password nor fragment',
  })
  .refine((text) => !hidesText(text), { error: 'base URL should have no control characters and no invisible ones' })
  .describe('An http or https URL without credentials. Traffic to its host counts as traffic of this provider.');

const SyncIntervalSchema = z
  .int()
  .min(300)
  .max(7 * 24 * 3600)
  .describe('How often the inventory is synced, in seconds: 300 to 604,800. null: on demand alone.');

/** Other names of one provider at the most. */
export const ALIASES_MAX = 20;

const aliasesDescription =
  'Other names that traffic and manifests use for this provider, at most 20. Each is unique in its tenant and sub-tenant among the names and aliases of all providers, without regard to case.';

const AliasesInputSchema = z
  .array(NameInputSchema)
  .max(ALIASES_MAX)
  .refine((names) => new Set(names.map((name) => name.normalize('NFKC').toLowerCase())).size === names.length, {
    error: 'aliases should differ from each other',
  })
  .describe(`${aliasesDescription} A set value replaces all of them.`);

export const ProviderSchema = z
  .strictObject({
    id: z.string(),
    ...tenancyFields,
    name: NameSchema.describe('Unique in its tenant and sub-tenant among names and aliases, without regard to case.'),
    aliases: z.array(NameSchema).describe(aliasesDescription),
    displayName: DisplayNameSchema.nullable(),
    description: DescriptionSchema.nullable(),
    kind: ProviderKindSchema,
    baseUrl: z.string().nullable(),
    status: ProviderStatusSchema,
    health: z.enum(['unknown', 'healthy', 'failing']).describe('How the last sync went; unknown before the first.'),
    inventorySyncedAt: TimestampSchema.nullable(),
    syncIntervalSeconds: SyncIntervalSchema.nullable(),
    metadata: MetadataSchema,
    ...timeFields,
  })
  .meta({
    id: 'Provider',
    description: 'Something that agents call: a model vendor, an MCP server, a runtime, a channel.',
  });
export type Provider = z.infer<typeof ProviderSchema>;

export const CreateProviderInputSchema = z
  .strictObject({
    name: NameInputSchema,
    aliases: AliasesInputSchema.nullish(),
    displayName: DisplayNameInputSchema.nullish(),
    description: DescriptionInputSchema.nullish(),
    kind: ProviderKindSchema,
    baseUrl: BaseUrlSchema.nullish(),
    status: z.enum(['active', 'disabled']).default('active'),
    syncIntervalSeconds: SyncIntervalSchema.nullish(),
    metadata: MetadataSchema.nullish(),
    ...tenancyInputFields,
  })
  .meta({ id: 'CreateProviderInput' });
export type CreateProviderInput = z.infer<typeof CreateProviderInputSchema>;

export const UpdateProviderInputSchema = z
  .strictObject({
    name: NameInputSchema.optional(),
    aliases: AliasesInputSchema.nullish(),
    displayName: DisplayNameInputSchema.nullish(),
    description: DescriptionInputSchema.nullish(),
    kind: ProviderKindSchema.optional(),
    baseUrl: BaseUrlSchema.nullish().describe(
      'A change of its origin detaches the credential: it is revoked and erased.',
    ),
    status: z.enum(['active', 'disabled']).optional().describe('`active` adopts a discovered provider.'),
    syncIntervalSeconds: SyncIntervalSchema.nullish(),
    metadata: MetadataSchema.nullish(),
  })
  .meta({ id: 'UpdateProviderInput', description: 'Left out keeps, null clears, a value sets.' });
export type UpdateProviderInput = z.infer<typeof UpdateProviderInputSchema>;

export const providerRecord = { untagged: ['health', 'inventorySyncedAt'] };

const tag = 'Providers';
const params = { provider_id: LookupIdSchema.describe("The provider's id.") };

export const createProvider = operation({
  method: 'POST',
  path: '/v1/providers',
  operationId: 'create_provider',
  scope: 'providers:write',
  tag,
  summary: 'Declare a provider',
  description:
    'Declares something that agents may call. Traffic to the host of its `baseUrl` counts as traffic of this provider. Its name must be free in its tenant and sub-tenant (409).',
  body: CreateProviderInputSchema,
  record: providerRecord,
  output: ProviderSchema,
  errors: ['tenant_limit_reached', 'name_taken'],
});

export const listProviders = operation({
  method: 'GET',
  path: '/v1/providers',
  operationId: 'list_providers',
  ignoresUnknownQuery: true,
  scope: 'providers:read',
  tag,
  summary: 'List providers',
  description:
    "Lists the providers in the caller's reach, newest first: declared ones, and those that were only seen in traffic (`discovered`). Deleted providers are listed with `status=deleted` only.",
  query: {
    ...tenancyQueryFields,
    kind: ProviderKindSchema.nullish().describe('Only providers of this kind.'),
    status: ProviderStatusSchema.nullish().describe(
      'Only providers with this status. Deleted providers are listed with `deleted` only.',
    ),
    name: z.string().max(200).nullish().describe('Only the provider of this name, in any case.'),
    ...pageFields,
  },
  output: page('ProviderPage', ProviderSchema),
});

export const getProvider = operation({
  method: 'GET',
  path: '/v1/providers/{provider_id}',
  operationId: 'get_provider',
  scope: 'providers:read',
  tag,
  summary: 'Get a provider',
  description: "Answers one provider. A provider that is deleted or out of the caller's reach is 404.",
  params,
  record: providerRecord,
  output: ProviderSchema,
  errors: ['provider_not_found'],
});

export const updateProvider = operation({
  method: 'PUT',
  path: '/v1/providers/{provider_id}',
  operationId: 'update_provider',
  ignoresUnknownQuery: true,
  scope: 'providers:write',
  tag,
  summary: 'Update a provider',
  description:
    'Changes the fields that the body names, and keeps the others. `status: active` adopts a provider that was discovered in traffic. A new `baseUrl` may detach the credential, as the field says.',
  params,
  body: UpdateProviderInputSchema,
  record: providerRecord,
  ifMatch: providerRecord,
  output: ProviderSchema,
  errors: ['provider_not_found', 'name_taken'],
});

export const deleteProvider = operation({
  method: 'DELETE',
  path: '/v1/providers/{provider_id}',
  operationId: 'delete_provider',
  scope: 'providers:write',
  tag,
  summary: 'Delete a provider',
  description: 'Its inventory goes with it; what was observed stays. Not while an active gateway lists it (409).',
  params,
  record: providerRecord,
  ifMatch: providerRecord,
  output: ProviderSchema,
  errors: ['provider_not_found', 'provider_in_use'],
});

function plain(url: URL): boolean {
  return url.username === '' && url.password === '' && url.hash === '';
}
