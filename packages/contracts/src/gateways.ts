import { z } from 'zod';
import {
  DisplayNameInputSchema,
  DisplayNameSchema,
  LookupIdSchema,
  NameInputSchema,
  NameSchema,
  tenancyFields,
  tenancyInputFields,
  tenancyQueryFields,
  timeFields,
} from './fields.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';
import { BaseUrlSchema } from './providers.ts';

/** The maximum lifetime of a gateway session, in seconds. A retired signing key stays published for that long. */
export const SESSION_TTL_MAX_SECONDS = 24 * 3600;

export const SessionTtlSchema = z
  .int()
  .min(60)
  .max(SESSION_TTL_MAX_SECONDS)
  .describe('A lifetime in seconds: 60 to 86,400.');

const ProviderIdsSchema = z.array(z.string().max(128)).max(100);

export const GatewayStatusSchema = z.enum(['active', 'disabled', 'deleted']).meta({ id: 'GatewayStatus' });

export const EnforcementSchema = z
  .enum(['observe', 'enforce'])
  .meta({ id: 'Enforcement' })
  .describe(
    'What a decision does with something that the session may not use. `observe`: it allows the use, and counts it as one that would have been denied. `enforce`: it denies the use.',
  );
export type Enforcement = z.infer<typeof EnforcementSchema>;

const McpProxySchema = z
  .enum(['off', 'on'])
  .meta({ id: 'McpProxy' })
  .describe(
    'Whether agents can reach the MCP servers of the gateway through this service, at `/v1/gateways/{gateway_id}/mcp/{provider}`.',
  );

export const GatewaySchema = z
  .strictObject({
    id: z.string(),
    ...tenancyFields,
    name: NameSchema.describe('The name. It is unique in the tenant and sub-tenant, compared case-insensitively.'),
    displayName: DisplayNameSchema.nullable(),
    url: z.string().nullable(),
    status: GatewayStatusSchema,
    providerIds: ProviderIdsSchema.describe(
      'The ids of the providers that agents may use through the gateway. They belong to its tenant; the gateway of a sub-tenant may not list providers of other sub-tenants.',
    ),
    manifestId: z
      .string()
      .nullable()
      .describe(
        'The id of one version of a manifest. Sessions grant only what this version allows, even after a newer version supersedes it. Null: no manifest limits the sessions.',
      ),
    sessionTtlSeconds: SessionTtlSchema.describe(
      'The lifetime of its sessions, in seconds: 60 to 86,400. A session may ask for less, not for more.',
    ),
    enforcement: EnforcementSchema,
    mcpProxy: McpProxySchema,
    ...timeFields,
  })
  .meta({
    id: 'Gateway',
    description: 'A point where agents connect. It lists providers and a manifest, and enforces what sessions grant.',
  });
export type Gateway = z.infer<typeof GatewaySchema>;

export const CreateGatewayInputSchema = z
  .strictObject({
    name: NameInputSchema,
    displayName: DisplayNameInputSchema.nullish(),
    url: BaseUrlSchema.nullish(),
    status: z.enum(['active', 'disabled']).default('active'),
    providerIds: ProviderIdsSchema.default([]),
    manifestId: z.string().max(128).nullish(),
    sessionTtlSeconds: SessionTtlSchema.default(3600),
    enforcement: EnforcementSchema.default('observe'),
    mcpProxy: McpProxySchema.default('off'),
    ...tenancyInputFields,
  })
  .meta({
    id: 'CreateGatewayInput',
    examples: [{ name: 'edge', url: 'https://gateway.acme.example', providerIds: ['prov_01k0c5v7h2m4n8q3r6t9w1x2yz'] }],
  });
export type CreateGatewayInput = z.infer<typeof CreateGatewayInputSchema>;

export const UpdateGatewayInputSchema = z
  .strictObject({
    name: NameInputSchema.optional(),
    displayName: DisplayNameInputSchema.nullish(),
    url: BaseUrlSchema.nullish(),
    status: z.enum(['active', 'disabled']).optional().describe('Disabling a gateway ends its sessions at once.'),
    providerIds: ProviderIdsSchema.optional(),
    manifestId: z.string().max(128).nullish(),
    sessionTtlSeconds: SessionTtlSchema.optional(),
    enforcement: EnforcementSchema.optional(),
    mcpProxy: McpProxySchema.optional(),
  })
  .meta({
    id: 'UpdateGatewayInput',
    description: 'A field that is left out keeps its value. Null clears it.',
    examples: [{ sessionTtlSeconds: 900, manifestId: null }],
  });
export type UpdateGatewayInput = z.infer<typeof UpdateGatewayInputSchema>;

const gatewayRecord = { tagExcludes: [] };

const tag = 'Gateways';
const params = { gateway_id: LookupIdSchema.describe("The gateway's id.") };

export const createGateway = operation({
  method: 'POST',
  path: '/v1/gateways',
  operationId: 'create_gateway',
  scope: 'gateways:write',
  tag,
  summary: 'Create a gateway',
  description:
    'Creates a gateway, with the providers that agents may use through it. 409 if the name is already in use in the tenant and sub-tenant. 422 if a provider or the manifest does not exist, or may not be used by this gateway.',
  body: CreateGatewayInputSchema,
  record: gatewayRecord,
  output: GatewaySchema,
  errors: ['tenant_limit_reached', 'name_taken'],
});

export const listGateways = operation({
  method: 'GET',
  path: '/v1/gateways',
  operationId: 'list_gateways',
  scope: 'gateways:read',
  tag,
  summary: 'List gateways',
  description:
    "Lists the gateways in the caller's reach, newest first. Deleted gateways are listed only with `status=deleted`.",
  query: {
    ...tenancyQueryFields,
    status: GatewayStatusSchema.nullish().describe(
      'Only gateways with this status. Deleted gateways are listed only with `deleted`.',
    ),
    ...pageFields,
  },
  output: page('GatewayPage', GatewaySchema),
});

export const getGateway = operation({
  method: 'GET',
  path: '/v1/gateways/{gateway_id}',
  operationId: 'get_gateway',
  scope: 'gateways:read',
  tag,
  summary: 'Get a gateway',
  description: "Returns one gateway. 404 if the gateway is deleted or outside the caller's reach.",
  params,
  record: gatewayRecord,
  output: GatewaySchema,
  errors: ['gateway_not_found'],
});

export const updateGateway = operation({
  method: 'PUT',
  path: '/v1/gateways/{gateway_id}',
  operationId: 'update_gateway',
  scope: 'gateways:write',
  tag,
  summary: 'Update a gateway',
  description:
    'Changes the fields that the body names and keeps the others. Disabling a gateway ends its sessions at once. A body that changes nothing writes nothing.',
  params,
  body: UpdateGatewayInputSchema,
  record: gatewayRecord,
  ifMatch: gatewayRecord,
  output: GatewaySchema,
  errors: ['tenant_limit_reached', 'gateway_not_found', 'name_taken'],
});

export const deleteGateway = operation({
  method: 'DELETE',
  path: '/v1/gateways/{gateway_id}',
  operationId: 'delete_gateway',
  scope: 'gateways:write',
  tag,
  summary: 'Delete a gateway',
  description: 'Marks the gateway as `deleted` and ends its sessions at once. The record stays.',
  params,
  record: gatewayRecord,
  ifMatch: gatewayRecord,
  output: GatewaySchema,
  errors: ['gateway_not_found'],
});
