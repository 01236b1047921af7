import { z } from 'zod';
import { DisplayNameInputSchema, DisplayNameSchema, IdentifierSchema, LookupIdSchema, timeFields } from './fields.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';

/** For how many days usage is kept unless the tenant sets another number. */
export const DEFAULT_USAGE_RETENTION_DAYS = 400;

export const TenantSettingsSchema = z
  .strictObject({
    captureContent: z
      .boolean()
      .describe(
        'Whether content in spans is stored: message bodies, tool arguments, database statements, HTTP headers, exception messages, and paths and queries of URLs. If false, texts are stored only in attributes that cannot hold content, and the attribute `quartermaster.omitted` lists the attributes that were left out. Attributes with names of secrets, and the user and password in URLs, are never stored.',
      ),
    spanRetentionDays: z
      .int()
      .min(1)
      .max(3650)
      .nullable()
      .describe('A trace is removed after this many days without a new span: 1 to 3,650. Null: never.'),
    recordRetentionDays: z
      .int()
      .min(30)
      .max(3650)
      .nullable()
      .describe(
        'Ended gateway sessions, finished operator tasks and closed recommendations are removed this many days after they ended: 30 to 3,650. Null: never. A removed recommendation can no longer be undone. Audit events are kept.',
      ),
    usageRetentionDays: z
      .int()
      .min(1)
      .max(3650)
      .describe('Usage is removed after this many days: 1 to 3,650. The default is 400.'),
    auditReads: z
      .boolean()
      .describe(
        'Whether the audit records who read traces, spans and the metadata of credentials. Reads with the same caller, operation and record within one minute are one event with a count.',
      ),
  })
  .meta({ id: 'TenantSettings', description: 'The settings of a tenant.' });
export type TenantSettings = z.infer<typeof TenantSettingsSchema>;

export const TenantSchema = z
  .strictObject({
    id: IdentifierSchema,
    displayName: DisplayNameSchema.nullable(),
    settings: TenantSettingsSchema,
    selfService: z
      .boolean()
      .describe(
        'Whether a user created the tenant with `create_organization`. False if a platform administrator created it.',
      ),
    subTenantIds: z
      .array(IdentifierSchema)
      .describe("The ids of its sub-tenants in the caller's reach, at most 1,000."),
    ...timeFields,
  })
  .meta({ id: 'Tenant', description: 'A customer of the platform. Records belong to a tenant.' });
export type Tenant = z.infer<typeof TenantSchema>;

export const TenantSettingsInputSchema = z
  .strictObject({
    captureContent: z.boolean().optional(),
    spanRetentionDays: z.int().min(1).max(3650).nullish(),
    auditReads: z.boolean().optional(),
    recordRetentionDays: z.int().min(30).max(3650).nullish(),
    usageRetentionDays: z
      .int()
      .min(1)
      .max(3650)
      .nullish()
      .describe('Usage is removed after this many days: 1 to 3,650. Null restores the default of 400.'),
  })
  .meta({ id: 'TenantSettingsInput', description: 'A field that is left out keeps its value. Null clears it.' });

export const CreateTenantInputSchema = z
  .strictObject({
    id: IdentifierSchema.nullish().describe('The id of the new tenant. If it is left out, an id is generated.'),
    displayName: DisplayNameInputSchema.nullish(),
    settings: TenantSettingsInputSchema.optional(),
  })
  .meta({ id: 'CreateTenantInput', examples: [{ id: 'acme', displayName: 'Acme' }] });
export type CreateTenantInput = z.infer<typeof CreateTenantInputSchema>;

export const UpdateTenantInputSchema = z
  .strictObject({ displayName: DisplayNameInputSchema.nullish(), settings: TenantSettingsInputSchema.optional() })
  .meta({
    id: 'UpdateTenantInput',
    description: 'A field that is left out keeps its value. Null clears it.',
    examples: [{ settings: { spanRetentionDays: 30 } }],
  });
export type UpdateTenantInput = z.infer<typeof UpdateTenantInputSchema>;

const tenantRecord = { tagExcludes: [] };

const tag = 'Tenants';
const params = { tenant_id: LookupIdSchema.describe("The tenant's id.") };

export const createTenant = operation({
  method: 'POST',
  path: '/v1/tenants',
  operationId: 'create_tenant',
  scope: 'tenants:write',
  tag,
  summary: 'Create a tenant',
  description:
    'Creates a tenant without members. Only platform administrators may do this. 409 if a tenant has this id already, compared case-insensitively.',
  body: CreateTenantInputSchema,
  bodyOptional: true,
  record: tenantRecord,
  output: TenantSchema,
  errors: ['id_taken', 'platform_administrator_required'],
});

export const listTenants = operation({
  method: 'GET',
  path: '/v1/tenants',
  operationId: 'list_tenants',
  scope: 'tenants:read',
  tag,
  summary: 'List tenants',
  description: "Lists the tenants in the caller's reach, newest first. Platform administrators see all tenants.",
  query: pageFields,
  output: page('TenantPage', TenantSchema),
});

export const getTenant = operation({
  method: 'GET',
  path: '/v1/tenants/{tenant_id}',
  operationId: 'get_tenant',
  scope: 'tenants:read',
  tag,
  summary: 'Get a tenant',
  description:
    "Returns one tenant with its settings, and the ids of its sub-tenants in the caller's reach. 404 if the tenant is outside the caller's reach.",
  params,
  record: tenantRecord,
  output: TenantSchema,
  errors: ['tenant_not_found'],
});

export const updateTenant = operation({
  method: 'PUT',
  path: '/v1/tenants/{tenant_id}',
  operationId: 'update_tenant',
  scope: 'tenants:write',
  tag,
  summary: 'Update a tenant',
  description:
    'Changes the fields that the body names and keeps the others. The caller needs the scope for the whole tenant, not only for a sub-tenant.',
  params,
  body: UpdateTenantInputSchema,
  record: tenantRecord,
  ifMatch: tenantRecord,
  output: TenantSchema,
  errors: ['tenant_not_found'],
});

export const deleteTenant = operation({
  method: 'DELETE',
  path: '/v1/tenants/{tenant_id}',
  operationId: 'delete_tenant',
  scope: 'tenants:write',
  tag,
  summary: 'Delete a tenant',
  description:
    'Ends all access to the tenant at once: its accounts with their API keys, its memberships and invitations, and its gateway sessions. An hourly job erases everything that it stored, except for its audit events. This cannot be undone, and the id is never used again. Its users stay, because they may belong to other tenants. Only platform administrators may do this. 409 if an account of the tenant has the rights of a platform administrator.',
  params,
  record: tenantRecord,
  ifMatch: tenantRecord,
  output: TenantSchema,
  errors: ['platform_administrator_required', 'tenant_in_use', 'tenant_not_found'],
});
