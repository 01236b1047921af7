import { z } from 'zod';
import { DisplayNameInputSchema, DisplayNameSchema, IdentifierSchema, LookupIdSchema, timeFields } from './fields.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';

/** For how many days usage is kept where a tenant says nothing else. */
export const DEFAULT_USAGE_RETENTION_DAYS = 400;

export const TenantSettingsSchema = z
  .strictObject({
    captureContent: z
      .boolean()
      .describe(
        'Whether content in spans is stored: message bodies, tool arguments, database statements, HTTP headers, exception messages, paths and queries of URLs. Without it, texts are stored only under attribute names that cannot hold content; the attribute `quartermaster.omitted` names what was left out. Attributes that are named like secrets, and the user and password of URLs, are never stored.',
      ),
    spanRetentionDays: z
      .int()
      .min(1)
      .max(3650)
      .nullable()
      .describe('After how many days without a new span a trace is removed; null: never.'),
    recordRetentionDays: z
      .int()
      .min(30)
      .max(3650)
      .nullable()
      .describe(
        'After how many days ended gateway sessions, finished operator tasks and closed recommendations are removed; null: never. A recommendation that is removed can no longer be undone. The audit keeps what was done.',
      ),
    usageRetentionDays: z.int().min(1).max(3650).describe('For how many days usage is kept. 400 unless it was set.'),
    auditReads: z
      .boolean()
      .describe(
        'Whether the audit records who read traces, spans and the metadata of credentials. Reads of one caller, operation and record within a minute are one event with a count.',
      ),
  })
  .meta({ id: 'TenantSettings' });
export type TenantSettings = z.infer<typeof TenantSettingsSchema>;

export const TenantSchema = z
  .strictObject({
    id: IdentifierSchema,
    displayName: DisplayNameSchema.nullable(),
    settings: TenantSettingsSchema,
    selfService: z
      .boolean()
      .describe('Whether a user created it for themselves (`create_organization`), and not a platform administrator.'),
    subTenantIds: z.array(IdentifierSchema).describe("Its sub-tenants in the caller's reach, the first thousand."),
    ...timeFields,
  })
  .meta({ id: 'Tenant' });
export type Tenant = z.infer<typeof TenantSchema>;

export const TenantSettingsInputSchema = z
  .strictObject({
    captureContent: z.boolean().optional(),
    spanRetentionDays: z.int().min(1).max(3650).nullish(),
    auditReads: z.boolean().optional(),
    recordRetentionDays: z.int().min(30).max(3650).nullish(),
    usageRetentionDays: z.int().min(1).max(3650).nullish().describe('Null restores the default of 400.'),
  })
  .meta({ id: 'TenantSettingsInput', description: 'Left out keeps, null clears, a value sets.' });

export const CreateTenantInputSchema = z
  .strictObject({
    id: IdentifierSchema.nullish().describe('Made where it is left out.'),
    displayName: DisplayNameInputSchema.nullish(),
    settings: TenantSettingsInputSchema.optional(),
  })
  .meta({ id: 'CreateTenantInput' });
export type CreateTenantInput = z.infer<typeof CreateTenantInputSchema>;

export const UpdateTenantInputSchema = z
  .strictObject({ displayName: DisplayNameInputSchema.nullish(), settings: TenantSettingsInputSchema.optional() })
  .meta({ id: 'UpdateTenantInput', description: 'Left out keeps, null clears, a value sets.' });
export type UpdateTenantInput = z.infer<typeof UpdateTenantInputSchema>;

const tenantRecord = { untagged: [] };

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
    'Creates a tenant that has no members yet. Only platform administrators may do this. An id that is taken, in any case, is 409.',
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
    "Answers one tenant, with its settings and the ids of its sub-tenants in the caller's reach. A tenant out of reach is 404.",
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
    'Changes the display name or the settings, and keeps what the body leaves out. The caller needs the scope for the whole tenant, not for a sub-tenant of it.',
  params,
  body: UpdateTenantInputSchema,
  record: tenantRecord,
  ifMatch: tenantRecord,
  output: TenantSchema,
  errors: ['tenant_not_found'],
});
