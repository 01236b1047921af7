import { z } from 'zod';
import {
  DescriptionInputSchema,
  DescriptionSchema,
  DisplayNameInputSchema,
  DisplayNameSchema,
  LookupIdSchema,
  MetadataInputSchema,
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
import { ProviderHeaderSchema, ProviderHeadersInputSchema } from './header-fields.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';

export const ProviderKindSchema = z.enum(['llm', 'mcp', 'agent_runtime', 'channel', 'other']).meta({
  id: 'ProviderKind',
  description:
    '`llm`: a model vendor. `mcp`: an MCP server. `agent_runtime`: a runtime of agents. `channel`: where people talk to agents. `other`: anything else.',
});
export type ProviderKind = z.infer<typeof ProviderKindSchema>;

export const ProviderStatusSchema = z.enum(['discovered', 'active', 'disabled', 'deleted']).meta({
  id: 'ProviderStatus',
  description:
    '`discovered`: seen in telemetry, but not declared. `active`: declared. `disabled`: declared, but turned off: it is not synced, and sessions grant nothing of it. Agents that use it are a high risk.',
});

export const BaseUrlSchema = z
  .url({ protocol: /^https?$/, error: 'base URL should be an http or https URL' })
  .max(2048)
  .refine((text) => !URL.canParse(text) || isWithoutUserAndFragment(new URL(text)), {
    error: 'base URL should have no user, password or fragment',
  })
  .refine((text) => !hidesText(text), { error: 'base URL should have no control characters or invisible characters' })
  .describe(
    'An http or https URL without user, password and fragment. Calls to its host count as calls of this provider.',
  );

const SyncIntervalSchema = z
  .int()
  .min(300)
  .max(7 * 24 * 3600)
  .describe(
    'The interval between syncs of the inventory, in seconds: 300 to 604,800. Null: syncs run only on request.',
  );

export const NewItemsSchema = z.enum(['review', 'allow']).meta({
  id: 'NewItems',
  description:
    'What happens to items that a sync adds after the first successful one. `review`: they are `pending`, and no session grants them until a person decides. `allow`: they are `available` at once.',
});

const ProviderMcpSchema = z
  .strictObject({
    headerChecks: z
      .enum(['verified', 'failed', 'unknown', 'trusted'])
      .describe(
        'Whether the server refuses a request whose headers differ from its body. `verified`: it did, when a sync tried. `failed`: it did not. `unknown`: it could not be tried. `trusted`: a person said so. Only if it is `verified` or `trusted`, forward authentication decides by headers alone.',
      ),
    checkedAt: TimestampSchema.nullable().describe('When a sync last tried. Null: never.'),
    protocolVersions: z.array(z.string()).describe('The revisions of MCP that the server announced to the last sync.'),
  })
  .meta({ id: 'ProviderMcp', description: 'What syncs found out about an MCP server.' });

const ProviderMcpInputSchema = z.strictObject({ headerChecks: z.literal('trusted') }).meta({
  id: 'ProviderMcpInput',
  description: 'Trusts an MCP server to compare headers with bodies, whatever syncs find.',
});

/** The maximum number of aliases of a provider. */
export const MAX_ALIASES = 20;

const aliasesDescription =
  'Other names that telemetry and manifests use for this provider, at most 20. Each is unique among the names and aliases of all providers in the tenant and sub-tenant, compared case-insensitively.';

const AliasesInputSchema = z
  .array(NameInputSchema)
  .max(MAX_ALIASES)
  .refine((names) => new Set(names.map((name) => name.normalize('NFKC').toLowerCase())).size === names.length, {
    error: 'aliases should differ from each other',
  })
  .describe(`${aliasesDescription} Setting it replaces all aliases.`);

export const ProviderSchema = z
  .strictObject({
    id: z.string(),
    ...tenancyFields,
    name: NameSchema.describe(
      'The name. It is unique among the names and aliases of all providers in the tenant and sub-tenant, compared case-insensitively.',
    ),
    aliases: z.array(NameSchema).describe(aliasesDescription),
    displayName: DisplayNameSchema.nullable(),
    description: DescriptionSchema.nullable(),
    kind: ProviderKindSchema,
    baseUrl: z.string().nullable(),
    status: ProviderStatusSchema,
    health: z
      .enum(['unknown', 'healthy', 'doubtful', 'failing'])
      .describe(
        'The result of the last sync. `unknown` before the first sync. `doubtful`: it found none, or less than half, of the items of a kind that were there before. These items stay as they are until a person confirms that they are gone.',
      ),
    healthReason: z
      .string()
      .nullable()
      .describe(
        'Why the last sync failed or is doubtful, or which part of the answer it could not use. Null: nothing was wrong.',
      ),
    unhealthySince: TimestampSchema.nullable().describe(
      'When the first sync failed or was doubtful since the last healthy one. Null: the health is `healthy` or `unknown`.',
    ),
    inventorySyncedAt: TimestampSchema.nullable().describe('When the inventory was last synced. Null: never.'),
    syncIntervalSeconds: SyncIntervalSchema.nullable(),
    newItems: NewItemsSchema,
    headers: z
      .array(ProviderHeaderSchema)
      .describe('Headers that syncs send to the provider. Secret headers are not among them.'),
    mcp: ProviderMcpSchema.nullable().describe(
      'What syncs found out about the MCP server. Null before the first sync, for other kinds, and after a new `baseUrl` or `kind`.',
    ),
    metadata: MetadataSchema,
    ...timeFields,
  })
  .meta({
    id: 'Provider',
    description: 'Something that agents call: a model vendor, an MCP server, an agent runtime or a channel.',
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
    newItems: NewItemsSchema.optional().describe(
      'What happens to items that a later sync adds. If it is left out: `review`.',
    ),
    headers: ProviderHeadersInputSchema.nullish(),
    metadata: MetadataInputSchema.nullish(),
    ...tenancyInputFields,
  })
  .meta({
    id: 'CreateProviderInput',
    examples: [{ name: 'openai', kind: 'llm', baseUrl: 'https://api.openai.com/v1', syncIntervalSeconds: 3600 }],
  });
export type CreateProviderInput = z.infer<typeof CreateProviderInputSchema>;

export const UpdateProviderInputSchema = z
  .strictObject({
    name: NameInputSchema.optional(),
    aliases: AliasesInputSchema.nullish(),
    displayName: DisplayNameInputSchema.nullish(),
    description: DescriptionInputSchema.nullish(),
    kind: ProviderKindSchema.optional(),
    baseUrl: BaseUrlSchema.nullish().describe(
      'The base URL. If the new one is outside the address that the credential or a secret header is bound to, all of them are revoked and their secrets erased.',
    ),
    status: z.enum(['active', 'disabled']).optional().describe('`active` also adopts a discovered provider.'),
    syncIntervalSeconds: SyncIntervalSchema.nullish(),
    newItems: NewItemsSchema.optional().describe(
      'What happens to items that a later sync adds. Items that are `pending` already stay so.',
    ),
    headers: ProviderHeadersInputSchema.nullish(),
    mcp: ProviderMcpInputSchema.nullish().describe(
      '`trusted`: forward authentication decides by headers alone, although no sync has verified that the MCP server compares them with bodies. Null: removes that, and what syncs found out.',
    ),
    metadata: MetadataInputSchema.nullish(),
  })
  .meta({
    id: 'UpdateProviderInput',
    description: 'A field that is left out keeps its value. Null clears it.',
    examples: [{ displayName: 'OpenAI', aliases: ['oai'] }],
  });
export type UpdateProviderInput = z.infer<typeof UpdateProviderInputSchema>;

export const providerRecord = { tagExcludes: ['health', 'healthReason', 'unhealthySince', 'inventorySyncedAt', 'mcp'] };

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
    'Declares something that agents may call. Calls to the host of its `baseUrl` count as calls of this provider. 409 if the name or an alias is already in use in the tenant and sub-tenant.',
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
    "Lists the providers in the caller's reach, newest first: declared providers, and those that were only seen in telemetry (`discovered`). Deleted providers are listed only with `status=deleted`.",
  query: {
    ...tenancyQueryFields,
    kind: ProviderKindSchema.nullish().describe('Only providers of this kind.'),
    status: ProviderStatusSchema.nullish().describe(
      'Only providers with this status. Deleted providers are listed only with `deleted`.',
    ),
    name: z.string().max(200).nullish().describe('Only providers with this name, compared case-insensitively.'),
    text: z
      .string()
      .min(1)
      .max(200)
      .nullish()
      .describe(
        'Only providers whose name or display name contains this text. The name is compared case-insensitively, and so are ASCII letters of the display name.',
      ),
    sort: z
      .enum(['created_at', 'name', 'kind', 'status', 'health', 'inventory_synced_at'])
      .default('created_at')
      .describe(
        '`created_at`: newest first. `name`: by the display name, or else the name. `kind`, `status`: in alphabetical order. `health`: `failing` first, then `doubtful`, `unknown` and `healthy`. `inventory_synced_at`: the last sync first. Any order but `created_at` is refused (422) if more than 20,000 providers are in reach: filter by tenant then. A provider that changes while you read page after page may come twice or be left out.',
      ),
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
  description: "Returns one provider. 404 if the provider is deleted or outside the caller's reach.",
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
    'Changes the fields that the body names and keeps the others. `status: active` adopts a discovered provider. A new `baseUrl` can revoke the credential: see the field.',
  params,
  body: UpdateProviderInputSchema,
  record: providerRecord,
  ifMatch: providerRecord,
  output: ProviderSchema,
  errors: ['tenant_limit_reached', 'provider_not_found', 'name_taken'],
});

export const deleteProvider = operation({
  method: 'DELETE',
  path: '/v1/providers/{provider_id}',
  operationId: 'delete_provider',
  scope: 'providers:write',
  tag,
  summary: 'Delete a provider',
  description:
    'Marks the provider as `deleted`, and deletes its inventory. Its observations stay. 409 while an active gateway lists the provider.',
  params,
  record: providerRecord,
  ifMatch: providerRecord,
  output: ProviderSchema,
  errors: ['provider_not_found', 'provider_in_use'],
});

function isWithoutUserAndFragment(url: URL): boolean {
  return url.username === '' && url.password === '' && url.hash === '';
}
