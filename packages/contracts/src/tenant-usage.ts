import { z } from 'zod';
import { LookupIdSchema } from './fields.ts';
import { operation } from './operation.ts';

const GIBIBYTE = 1024 ** 3;

/** What a tenant may have at most, unless a platform administrator sets another limit. */
export const DEFAULT_TENANT_LIMITS = {
  requestsPerMinute: 12_000,
  storedBytes: 10 * GIBIBYTE,
  serviceAccounts: 10_000,
  apiKeys: 10_000,
  providers: 1000,
  inventoryItems: 100_000,
  gateways: 1000,
  openSessions: 10_000,
} as const;

export type TenantResource = keyof typeof DEFAULT_TENANT_LIMITS;

export const TENANT_RESOURCES = Object.keys(DEFAULT_TENANT_LIMITS) as TenantResource[];

/** No limit is higher: it stays an exact number in every language, and in JSON. */
const MAX_LIMIT = 2 ** 50;

const DESCRIPTIONS: Record<TenantResource, string> = {
  requestsPerMinute:
    'Requests with the API keys of the tenant in the current minute. Several processes on one database count together.',
  storedBytes:
    'Bytes of spans, manifests, answers kept for an `Idempotency-Key` and sets of items that sessions grant, as they are stored. At the limit what would add to them is refused, every write with an `Idempotency-Key` included; removing traces makes room.',
  serviceAccounts: 'Service accounts that are not deleted.',
  apiKeys: 'API keys that are neither revoked nor expired.',
  providers:
    'Providers that are not deleted, discovered ones included. Beyond the limit none is discovered; spans are still stored.',
  inventoryItems: 'Inventory items of all providers. A sync that would exceed the limit fails and changes nothing.',
  gateways: 'Gateways that are not deleted.',
  openSessions: 'Gateway sessions that are active.',
};

export const TenantQuotaSchema = z
  .strictObject({
    used: z.int().min(0).describe('What is used now. A value far beyond the limit may be shown as less than it is.'),
    limit: z.int().min(0).describe('The most that is allowed.'),
    isDefault: z.boolean().describe('Whether the limit is the default, and not one that was set for this tenant.'),
  })
  .meta({ id: 'TenantQuota', description: 'How much of a resource a tenant uses, and how much it may use.' });
export type TenantQuota = z.infer<typeof TenantQuotaSchema>;

export const TenantUsageSchema = z
  .strictObject({ tenantId: z.string(), ...fieldsOf((name) => TenantQuotaSchema.describe(DESCRIPTIONS[name])) })
  .meta({ id: 'TenantUsage', description: 'The limits of a tenant with their use.' });
export type TenantUsage = z.infer<typeof TenantUsageSchema>;

export const TenantLimitsInputSchema = z
  .strictObject(fieldsOf((name) => z.int().min(0).max(MAX_LIMIT).nullish().describe(DESCRIPTIONS[name])))
  .meta({
    id: 'TenantLimitsInput',
    description: 'A field that is left out keeps its limit, null restores the default, a value sets the limit.',
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
    'Shows how much of each limit the tenant uses now. Use it to see why a write was refused with `tenant_limit_reached`. Needs the scope for the whole tenant.',
  params,
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
    'Platform administrators only. A limit below the current use removes nothing: it refuses what would be added. Other processes apply a change within 5 seconds.',
  params,
  body: TenantLimitsInputSchema,
  output: TenantUsageSchema,
  errors: ['tenant_not_found', 'platform_administrator_required'],
});
