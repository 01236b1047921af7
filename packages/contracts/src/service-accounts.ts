import { z } from 'zod';
import {
  accountPlaceFields,
  DescriptionInputSchema,
  DescriptionSchema,
  DisplayNameInputSchema,
  DisplayNameSchema,
  IdentifierSchema,
  LookupIdSchema,
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

export const ServiceAccountStatusSchema = z
  .enum(['active', 'disabled', 'deleted'])
  .meta({ id: 'ServiceAccountStatus', description: 'Keys and sessions work only while the account is active.' });

const AccountTelemetrySchema = z
  .strictObject({
    lastReceivedAt: TimestampSchema.describe('When something was last received, to the minute.'),
    spans: z.int().describe('Spans received, retries included.'),
    logRecords: z.int().describe('Log records received, retries included.'),
    unread: z
      .array(
        z
          .strictObject({
            scope: z.string().describe('The name of the instrumentation scope, cut to 256 characters.'),
            spans: z.int(),
            logRecords: z.int(),
            since: TimestampSchema.describe('When the first of them was received.'),
          })
          .meta({ id: 'UnreadScope' }),
      )
      .max(10)
      .describe(
        'Instrumentation scopes of which nothing was understood, the busiest first: none of their spans and log records told of a model, tool or agent. At most 10. Instrumentations of HTTP or databases are expected here; the framework of an agent is not.',
      ),
  })
  .meta({
    id: 'AccountTelemetry',
    description:
      'What the account sent, written once a minute. A process that is killed loses the counts of its last minute.',
  });

export const ServiceAccountSchema = z
  .strictObject({
    id: IdentifierSchema.describe('Unique in its tenant.'),
    ...tenancyFields,
    name: NameSchema.describe('Names may repeat.'),
    displayName: DisplayNameSchema.nullable(),
    description: DescriptionSchema.nullable(),
    status: ServiceAccountStatusSchema,
    platformAdministrator: z.boolean().describe('Whether its keys count in every tenant.'),
    metadata: MetadataSchema,
    lastUsedAt: TimestampSchema.nullable().describe('When one of its keys was last used, to the minute.'),
    keyCount: z.int().describe('All its keys, ended ones included.'),
    activeKeyCount: z.int().describe('Its keys that work now.'),
    soonestKeyExpiryAt: TimestampSchema.nullable().describe('When the first of its working keys expires.'),
    telemetry: AccountTelemetrySchema.nullable().describe('Null: it never sent any.'),
    ...timeFields,
  })
  .meta({ id: 'ServiceAccount', description: 'An account for a program. It acts with API keys.' });
export type ServiceAccount = z.infer<typeof ServiceAccountSchema>;

export const CreatedServiceAccountSchema = ServiceAccountSchema.extend({
  alsoCreated: z
    .array(z.enum(['tenant', 'sub_tenant']))
    .describe(
      'What did not exist before, and was created for the account. Empty where the account joined what was there.',
    ),
}).meta({ id: 'CreatedServiceAccount', description: 'A service account, and what was created for it.' });
export type CreatedServiceAccount = z.infer<typeof CreatedServiceAccountSchema>;

export const CreateServiceAccountInputSchema = z
  .strictObject({
    name: NameInputSchema,
    displayName: DisplayNameInputSchema.nullish(),
    id: IdentifierSchema.nullish().describe('Made where it is left out. An id is never given twice in a tenant.'),
    ...tenancyInputFields,
    createTenant: z
      .enum(['if_missing', 'always', 'never'])
      .nullish()
      .describe(
        '`always`: the tenant must be new, so the account joins nobody else (409 `tenant_exists`). `never`: the tenant and sub-tenant must exist (422). `if_missing`, or left out: what is missing is created.',
      ),
    description: DescriptionInputSchema.nullish(),
    status: z.enum(['active', 'disabled']).default('active'),
    metadata: MetadataSchema.nullish(),
    platformAdministrator: z
      .boolean()
      .default(false)
      .describe('Only platform administrators may set it: keys of such an account count in every tenant.'),
  })
  .meta({ id: 'CreateServiceAccountInput' });
export type CreateServiceAccountInput = z.infer<typeof CreateServiceAccountInputSchema>;

export const UpdateServiceAccountInputSchema = z
  .strictObject({
    displayName: DisplayNameInputSchema.nullish(),
    description: DescriptionInputSchema.nullish(),
    metadata: MetadataSchema.nullish(),
  })
  .meta({ id: 'UpdateServiceAccountInput', description: 'Left out keeps, null clears, a value sets.' });
export type UpdateServiceAccountInput = z.infer<typeof UpdateServiceAccountInputSchema>;

export const SearchServiceAccountsInputSchema = z
  .strictObject({
    ...tenancySearchFields,
    ids: z.array(z.string().max(128)).max(100).nullish().describe('Only accounts with one of these ids.'),
    name: z.string().max(200).nullish().describe('Only accounts of exactly this name.'),
    query: z
      .string()
      .max(200)
      .nullish()
      .describe('Only accounts that have this text, in any case, in id, name, display name or description.'),
    status: ServiceAccountStatusSchema.nullish().describe(
      'Only accounts with this status. Deleted accounts are listed with `deleted` only.',
    ),
    metadata: MetadataSchema.refine((value) => Object.keys(value).length <= 20, {
      error: 'at most 20 members of the metadata can be searched for at once',
    })
      .nullish()
      .describe('Only accounts whose metadata has these top-level values, at most 20.'),
    createdAfter: TimestampInputSchema.nullish().describe('Only accounts made after this time.'),
    createdBefore: TimestampInputSchema.nullish().describe('Only accounts made before this time.'),
    ...pageFields,
  })
  .meta({ id: 'SearchServiceAccountsInput' });
export type SearchServiceAccountsInput = z.infer<typeof SearchServiceAccountsInputSchema>;

export const serviceAccountRecord = {
  untagged: ['lastUsedAt', 'keyCount', 'activeKeyCount', 'soonestKeyExpiryAt', 'telemetry'],
};

const tag = 'Service accounts';
const params = { service_account_id: LookupIdSchema.describe("The account's id.") };
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
    'A platform administrator may name a tenant or sub-tenant that does not exist: it is made. A caller who holds the scope for a whole tenant makes sub-tenants of it so. `alsoCreated` says what was made; `createTenant` says what may be.',
  body: CreateServiceAccountInputSchema,
  record: { untagged: [...serviceAccountRecord.untagged, 'alsoCreated'] },
  output: CreatedServiceAccountSchema,
  errors: ['tenant_limit_reached', 'id_taken', 'tenant_exists', 'platform_administrator_required'],
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
    "Finds accounts by id, name, text, status, metadata or time, newest first. An account must meet all conditions. An empty body finds every account in the caller's reach that is not deleted.",
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
    "Answers one account. If accounts in several tenants have this id, name the tenant with `tenant_id`; otherwise the answer is 409. An account that is deleted or out of the caller's reach is 404.",
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
    'Changes the display name, description or metadata, and keeps the fields that the body leaves out. Disabling and enabling an account are operations of their own.',
  params,
  query,
  body: UpdateServiceAccountInputSchema,
  record: serviceAccountRecord,
  ifMatch: serviceAccountRecord,
  output: ServiceAccountSchema,
  errors: [...notFound, 'platform_administrator_required'],
});

export const deleteServiceAccount = operation({
  method: 'DELETE',
  path: '/v1/service-accounts/{service_account_id}',
  operationId: 'delete_service_account',
  scope: 'service_accounts:write',
  tag,
  summary: 'Delete a service account',
  description: 'Its keys and sessions end at once. Its id is not given again.',
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
    "Stops the account's keys and ends its sessions at once. Idempotent: repeating the call changes nothing.",
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
    "Lets the account's keys work again. Sessions that ended stay ended. Idempotent: repeating the call changes nothing.",
  params,
  query,
  record: serviceAccountRecord,
  ifMatch: serviceAccountRecord,
  output: ServiceAccountSchema,
  errors: [...notFound, 'platform_administrator_required'],
});
