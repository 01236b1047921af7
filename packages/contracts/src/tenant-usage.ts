import { z } from 'zod';
import { LookupIdSchema } from './fields.ts';
import { operation } from './operation.ts';

const GIBIBYTE = 1024 ** 3;

/** The limits of a tenant, unless a platform administrator sets others. */
export const DEFAULT_TENANT_LIMITS = {
  requestsPerMinute: 12_000,
  storedBytes: 10 * GIBIBYTE,
  subTenants: 10_000,
  memberships: 10_000,
  serviceAccounts: 10_000,
  apiKeys: 10_000,
  providers: 1000,
  inventoryItems: 100_000,
  gateways: 1000,
  openSessions: 10_000,
} as const;

export type TenantResource = keyof typeof DEFAULT_TENANT_LIMITS;

export const TENANT_RESOURCES = Object.keys(DEFAULT_TENANT_LIMITS) as TenantResource[];

/** The highest limit that can be set. It is an exact number in JSON and in every language. */
const MAX_LIMIT = 2 ** 50;

const DESCRIPTIONS: Record<TenantResource, string> = {
  requestsPerMinute:
    'Requests with API keys of the tenant in the current minute. All processes on one database count together. Requests of all users of the tenant together have another budget of the same size.',
  storedBytes:
    'Stored bytes of spans, manifests, records such as accounts, providers, items and sessions, answers that are kept for an `Idempotency-Key`, and grants of sessions. At the limit, requests that would store more are refused. This includes every write with an `Idempotency-Key`, but nothing that protects, such as blocking, revoking and deleting. Removing traces makes room. A single account may use at most half of the limit for its spans, see `largestAccounts`.',
  subTenants: 'Sub-tenants.',
  memberships: 'Memberships and invitations, in the whole tenant and its sub-tenants.',
  serviceAccounts: 'Service accounts that are not deleted.',
  apiKeys: 'API keys that are neither revoked nor expired.',
  providers:
    'Providers that are not deleted, including discovered ones. At the limit no further providers are discovered, but spans are still stored.',
  inventoryItems: 'Inventory items of all providers. A sync that would exceed the limit fails and changes nothing.',
  gateways: 'Gateways that are not deleted.',
  openSessions: 'Active gateway sessions.',
};

export const TenantQuotaSchema = z
  .strictObject({
    used: z.int().min(0).describe('The current use. A value far above the limit may be shown too low.'),
    limit: z.int().min(0).describe('The maximum that is allowed.'),
    isDefault: z.boolean().describe('Whether the limit is the default. False if it was set for this tenant.'),
  })
  .meta({ id: 'TenantQuota', description: 'How much of a resource a tenant uses, and how much it may use.' });
export type TenantQuota = z.infer<typeof TenantQuotaSchema>;

/** Traces that a retention would remove are counted up to this number. */
export const MAX_COUNTED_TRACES = 100_000;

/** The most accounts whose stored bytes a tenant's usage lists. */
export const MAX_LISTED_ACCOUNTS = 10;

const AccountBytesSchema = z
  .strictObject({
    account: z
      .string()
      .describe('The sender, as `receivedFrom` of a span: `service_account:<tenant>/<id>` or `user:<id>`.'),
    storedBytes: z.int().min(0).describe('The stored bytes of its spans.'),
  })
  .meta({ id: 'AccountBytes', description: 'How many stored bytes are spans of one account.' });

export const TenantUsageSchema = z
  .strictObject({
    tenantId: z.string(),
    ...fieldsOf((name) => TenantQuotaSchema.describe(DESCRIPTIONS[name])),
    largestAccounts: z
      .array(AccountBytesSchema)
      .max(MAX_LISTED_ACCOUNTS)
      .describe(
        `The accounts whose spans take the most stored bytes, the largest first: at most ${MAX_LISTED_ACCOUNTS}. An account may store spans as long as it has fewer bytes than are free in the tenant.`,
      ),
    tracesToRemove: z
      .int()
      .min(0)
      .nullable()
      .describe(
        `How many stored traces had no new span for \`span_retention_days\` days, counted up to ${MAX_COUNTED_TRACES}. Null without that parameter.`,
      ),
  })
  .meta({ id: 'TenantUsage', description: 'The limits of a tenant, and how much of each is used.' });
export type TenantUsage = z.infer<typeof TenantUsageSchema>;

export const TenantLimitsInputSchema = z
  .strictObject(fieldsOf((name) => z.int().min(0).max(MAX_LIMIT).nullish().describe(DESCRIPTIONS[name])))
  .meta({
    id: 'TenantLimitsInput',
    description: 'A field that is left out keeps its limit. Null restores the default.',
    examples: [{ requestsPerMinute: 6000, providers: null }],
  });
export type TenantLimitsInput = z.infer<typeof TenantLimitsInputSchema>;

function fieldsOf<Field>(fieldOf: (name: TenantResource) => Field): Record<TenantResource, Field> {
  return Object.fromEntries(TENANT_RESOURCES.map((name) => [name, fieldOf(name)])) as Record<TenantResource, Field>;
}

const tag = 'Tenants';
const params = { tenant_id: LookupIdSchema.describe("The tenant's id.") };

export const getTenantUsage = operation({
  method: 'GET',
  path: '/v1/tenants/{tenant_id}/usage',
  operationId: 'get_tenant_usage',
  scope: 'tenants:read',
  tag,
  summary: 'Get the limits and the usage of a tenant',
  description:
    'Returns how much of each limit the tenant uses now, for example to find out why a write was refused with `tenant_limit_reached`. The caller needs the scope for the whole tenant.',
  params,
  query: {
    span_retention_days: z
      .int()
      .min(1)
      .max(3650)
      .nullish()
      .describe('Also count the traces that the setting `spanRetentionDays` would remove if it had this value.'),
  },
  output: TenantUsageSchema,
  errors: ['tenant_not_found'],
});

export const updateTenantLimits = operation({
  method: 'PUT',
  path: '/v1/tenants/{tenant_id}/limits',
  operationId: 'update_tenant_limits',
  scope: 'tenants:write',
  tag,
  summary: 'Set the limits of a tenant',
  description:
    'Sets limits of the tenant. Only platform administrators may do this. A limit below the current use removes nothing, but refuses additions. Other processes apply the change within 5 seconds.',
  params,
  body: TenantLimitsInputSchema,
  output: TenantUsageSchema,
  errors: ['tenant_not_found', 'platform_administrator_required'],
});
