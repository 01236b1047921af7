import { z } from 'zod';
import {
  accountPlaceFields,
  DescriptionInputSchema,
  DescriptionSchema,
  DisplayNameInputSchema,
  DisplayNameSchema,
  IdentifierSchema,
  LookupIdSchema,
  MetadataInputSchema,
  MetadataSchema,
  NameInputSchema,
  NameSchema,
  TimestampInputSchema,
  TimestampSchema,
  tenancyFields,
  tenancyInputFields,
  tenancySearchFields,
  timeFields,
} from './fields.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';

export const ServiceAccountStatusSchema = z.enum(['active', 'disabled', 'deleted']).meta({
  id: 'ServiceAccountStatus',
  description: 'The API keys and gateway sessions of an account work only while it is `active`.',
});

export const UnreadScopeSchema = z
  .strictObject({
    scope: z.string().describe('The name of the instrumentation scope, cut to 256 characters.'),
    spans: z.int(),
    logRecords: z.int(),
    since: TimestampSchema.describe('When the first of these spans or log records was received.'),
  })
  .meta({
    id: 'UnreadScope',
    description: 'An instrumentation scope in which no model, tool or agent was found.',
  });

const AccountTelemetrySchema = z
  .strictObject({
    lastReceivedAt: TimestampSchema.describe('When telemetry was last received, accurate to the minute.'),
    spans: z.int().describe('How many spans were received, including retries.'),
    logRecords: z.int().describe('How many log records were received, including retries.'),
    unread: z
      .array(UnreadScopeSchema)
      .max(10)
      .describe(
        'The instrumentation scopes in which no model, tool or agent was found, busiest first, at most 10. Instrumentations of HTTP or databases are expected here, but the framework of an agent is not.',
      ),
  })
  .meta({
    id: 'AccountTelemetry',
    description:
      'The telemetry that the account sent. It is written once a minute, so a process that is killed loses the counts of its last minute.',
  });

export const ServiceAccountSchema = z
  .strictObject({
    id: IdentifierSchema.describe('The id. It is unique in the tenant.'),
    ...tenancyFields,
    name: NameSchema.describe('The name. Several accounts may have the same name.'),
    displayName: DisplayNameSchema.nullable(),
    description: DescriptionSchema.nullable(),
    status: ServiceAccountStatusSchema,
    platformAdministrator: z.boolean().describe('Whether the scopes of its API keys hold in every tenant.'),
    metadata: MetadataSchema,
    lastUsedAt: TimestampSchema.nullable().describe(
      'When one of its API keys was last used, accurate to the minute. Null: never.',
    ),
    keyCount: z.int().describe('How many API keys it has, including expired and revoked ones.'),
    activeKeyCount: z.int().describe('How many of its API keys work now.'),
    soonestKeyExpiryAt: TimestampSchema.nullable().describe(
      'When the first of its working API keys expires. Null if none of them expires.',
    ),
    telemetry: AccountTelemetrySchema.nullable().describe(
      'The telemetry that the account sent. Null if it never sent any.',
    ),
    ...timeFields,
  })
  .meta({ id: 'ServiceAccount', description: 'An account for a program. It authenticates with API keys.' });
export type ServiceAccount = z.infer<typeof ServiceAccountSchema>;

export const CreatedServiceAccountSchema = ServiceAccountSchema.extend({
  alsoCreated: z
    .array(z.enum(['tenant', 'sub_tenant']))
    .describe('Whether the tenant and sub-tenant were created with the account. Empty if they existed before.'),
}).meta({ id: 'CreatedServiceAccount', description: 'A new service account, and what was created with it.' });
export type CreatedServiceAccount = z.infer<typeof CreatedServiceAccountSchema>;

export const CreateServiceAccountInputSchema = z
  .strictObject({
    name: NameInputSchema,
    displayName: DisplayNameInputSchema.nullish(),
    id: IdentifierSchema.nullish().describe(
      'The id of the account. If it is left out, an id is generated. A tenant never uses an id twice, even after the account was deleted.',
    ),
    ...tenancyInputFields,
    createTenant: z
      .enum(['if_missing', 'always', 'never'])
      .nullish()
      .describe(
        'Whether the tenant and sub-tenant are created. `always`: the tenant must be new (409 `tenant_exists`). `never`: the tenant and sub-tenant must exist (422). `if_missing`, the default: what is missing is created.',
      ),
    description: DescriptionInputSchema.nullish(),
    status: z.enum(['active', 'disabled']).default('active'),
    metadata: MetadataInputSchema.nullish(),
    platformAdministrator: z
      .boolean()
      .default(false)
      .describe('Whether the scopes of its API keys hold in every tenant. Only platform administrators may set it.'),
  })
  .meta({
    id: 'CreateServiceAccountInput',
    description: 'A new service account.',
    examples: [{ id: 'billing-agent', name: 'Billing agent', tenantId: 'acme', createTenant: 'if_missing' }],
  });
export type CreateServiceAccountInput = z.infer<typeof CreateServiceAccountInputSchema>;

export const UpdateServiceAccountInputSchema = z
  .strictObject({
    displayName: DisplayNameInputSchema.nullish(),
    description: DescriptionInputSchema.nullish(),
    metadata: MetadataInputSchema.nullish(),
  })
  .meta({
    id: 'UpdateServiceAccountInput',
    description: 'A field that is left out keeps its value. Null clears it.',
    examples: [{ description: 'Answers questions about invoices.', metadata: { team: 'billing' } }],
  });
export type UpdateServiceAccountInput = z.infer<typeof UpdateServiceAccountInputSchema>;

export const SearchServiceAccountsInputSchema = z
  .strictObject({
    ...tenancySearchFields,
    ids: z.array(z.string().max(128)).max(100).nullish().describe('Only accounts with one of these ids.'),
    name: z.string().max(200).nullish().describe('Only accounts with exactly this name.'),
    query: z
      .string()
      .max(200)
      .nullish()
      .describe(
        'Only accounts whose id, name, display name or description contains this text, compared case-insensitively.',
      ),
    status: ServiceAccountStatusSchema.nullish().describe(
      'Only accounts with this status. Deleted accounts are found only with `deleted`.',
    ),
    metadata: MetadataSchema.refine((value) => Object.keys(value).length <= 20, {
      error: 'metadata should have at most 20 members in a search',
    })
      .nullish()
      .describe('Only accounts whose metadata has these top-level members with these values, at most 20 members.'),
    createdAfter: TimestampInputSchema.nullish().describe('Only accounts that were created after this time.'),
    createdBefore: TimestampInputSchema.nullish().describe('Only accounts that were created before this time.'),
    ...pageFields,
  })
  .meta({
    id: 'SearchServiceAccountsInput',
    description: 'The conditions of a search. An account must meet all of them.',
    examples: [{ status: 'active', metadata: { team: 'billing' } }],
  });
export type SearchServiceAccountsInput = z.infer<typeof SearchServiceAccountsInputSchema>;

export const serviceAccountRecord = {
  tagExcludes: ['lastUsedAt', 'keyCount', 'activeKeyCount', 'soonestKeyExpiryAt', 'telemetry'],
};

const tag = 'Service accounts';
const params = { service_account_id: LookupIdSchema.describe('The id of the service account.') };
const query = accountPlaceFields;
const notFound = ['service_account_not_found', 'ambiguous_id'] as const;

export const createServiceAccount = operation({
  method: 'POST',
  path: '/v1/service-accounts',
  operationId: 'create_service_account',
  ignoresUnknownQuery: true,
  scope: 'service_accounts:write',
  tag,
  summary: 'Create a service account',
  description:
    'Creates a service account without API keys. If the tenant does not exist, it is created; only platform administrators can do this. If the sub-tenant does not exist, it is created; the caller needs the scope for the whole tenant. `createTenant` restricts what may be created, and `alsoCreated` tells what was created.',
  body: CreateServiceAccountInputSchema,
  record: { tagExcludes: [...serviceAccountRecord.tagExcludes, 'alsoCreated'] },
  output: CreatedServiceAccountSchema,
  errors: ['tenant_limit_reached', 'id_taken', 'tenant_exists', 'tenant_deleted', 'platform_administrator_required'],
});

export const searchServiceAccounts = operation({
  method: 'POST',
  path: '/v1/service-accounts/search',
  operationId: 'search_service_accounts',
  ignoresUnknownQuery: true,
  scope: 'service_accounts:read',
  tag,
  summary: 'Search service accounts',
  description:
    "Finds accounts in the caller's reach by id, name, text, status, metadata or time, newest first. An account must meet all conditions. An empty body finds all accounts that are not deleted.",
  body: SearchServiceAccountsInputSchema,
  bodyOptional: true,
  readOnly: true,
  output: page('ServiceAccountPage', ServiceAccountSchema),
});

export const getServiceAccount = operation({
  method: 'GET',
  path: '/v1/service-accounts/{service_account_id}',
  operationId: 'get_service_account',
  scope: 'service_accounts:read',
  tag,
  summary: 'Get a service account',
  description:
    "Returns one account. If accounts in several tenants in reach have this id, `tenant_id` is required (409 `ambiguous_id`). 404 if the account is deleted or outside the caller's reach.",
  params,
  query,
  record: serviceAccountRecord,
  output: ServiceAccountSchema,
  errors: notFound,
});

export const updateServiceAccount = operation({
  method: 'PUT',
  path: '/v1/service-accounts/{service_account_id}',
  operationId: 'update_service_account',
  ignoresUnknownQuery: true,
  scope: 'service_accounts:write',
  tag,
  summary: 'Update a service account',
  description:
    'Changes the fields that the body names and keeps the others. To disable or enable an account, use the operations for that.',
  params,
  query,
  body: UpdateServiceAccountInputSchema,
  record: serviceAccountRecord,
  ifMatch: serviceAccountRecord,
  output: ServiceAccountSchema,
  errors: ['tenant_limit_reached', ...notFound, 'platform_administrator_required'],
});

export const deleteServiceAccount = operation({
  method: 'DELETE',
  path: '/v1/service-accounts/{service_account_id}',
  operationId: 'delete_service_account',
  scope: 'service_accounts:write',
  tag,
  summary: 'Delete a service account',
  description:
    'Marks the account as `deleted`, and ends its API keys and gateway sessions at once. Its id is never used again in the tenant.',
  params,
  query,
  record: serviceAccountRecord,
  ifMatch: serviceAccountRecord,
  output: ServiceAccountSchema,
  errors: [...notFound, 'platform_administrator_required'],
});

export const disableServiceAccount = operation({
  method: 'POST',
  path: '/v1/service-accounts/{service_account_id}/disable',
  operationId: 'disable_service_account',
  scope: 'service_accounts:write',
  tag,
  summary: 'Disable a service account',
  description:
    "Ends the account's gateway sessions at once, and refuses its API keys until it is enabled. Idempotent: repeating the call changes nothing.",
  params,
  query,
  record: serviceAccountRecord,
  ifMatch: serviceAccountRecord,
  output: ServiceAccountSchema,
  errors: [...notFound, 'platform_administrator_required'],
});

export const enableServiceAccount = operation({
  method: 'POST',
  path: '/v1/service-accounts/{service_account_id}/enable',
  operationId: 'enable_service_account',
  scope: 'service_accounts:write',
  tag,
  summary: 'Enable a service account',
  description:
    "Makes the account's API keys work again. Gateway sessions that ended stay ended. Idempotent: repeating the call changes nothing.",
  params,
  query,
  record: serviceAccountRecord,
  ifMatch: serviceAccountRecord,
  output: ServiceAccountSchema,
  errors: [...notFound, 'platform_administrator_required'],
});
