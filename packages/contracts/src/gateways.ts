import { z } from 'zod';
import {
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

/** The longest that a gateway session may last, in seconds: a retired signing key is published that long. */
export const SESSION_TTL_MAX_SECONDS = 24 * 3600;

export const SessionTtlSchema = z.int().min(60).max(SESSION_TTL_MAX_SECONDS).describe('Seconds, 60 to 86,400.');

const ProviderIdsSchema = z.array(z.string().max(128)).max(100);

export const GatewayStatusSchema = z.enum(['active', 'disabled', 'deleted']).meta({ id: 'GatewayStatus' });

export const GatewaySchema = z
  .strictObject({
    id: z.string(),
    ...tenancyFields,
    name: NameSchema.describe('Unique in its tenant and sub-tenant, without regard to case.'),
    displayName: DisplayNameSchema.nullable(),
    url: z.string().nullable(),
    status: GatewayStatusSchema,
    providerIds: ProviderIdsSchema.describe(
      "The providers that agents may reach through it, of its tenant; a sub-tenant's gateway has none of other sub-tenants.",
    ),
    manifestId: z
      .string()
      .nullable()
      .describe(
        'The manifest that it runs under, in this very version, superseded or not: its sessions grant no more than that allows.',
      ),
    sessionTtlSeconds: SessionTtlSchema.describe('How long its sessions last, unless they ask for less; never more.'),
    ...timeFields,
  })
  .meta({ id: 'Gateway', description: 'Where agents pass through; it enforces the policy that sessions carry.' });
export type Gateway = z.infer<typeof GatewaySchema>;

export const CreateGatewayInputSchema = z
  .strictObject({
    name: NameInputSchema,
    displayName: DisplayNameSchema.nullish(),
    url: BaseUrlSchema.nullish(),
    status: z.enum(['active', 'disabled']).default('active'),
    providerIds: ProviderIdsSchema.default([]),
    manifestId: z.string().max(128).nullish(),
    sessionTtlSeconds: SessionTtlSchema.default(3600),
    ...tenancyInputFields,
  })
  .meta({ id: 'CreateGatewayInput' });
export type CreateGatewayInput = z.infer<typeof CreateGatewayInputSchema>;

export const UpdateGatewayInputSchema = z
  .strictObject({
    name: NameInputSchema.optional(),
    displayName: DisplayNameSchema.nullish(),
    url: BaseUrlSchema.nullish(),
    status: z.enum(['active', 'disabled']).optional().describe('Disabling ends its sessions at once.'),
    providerIds: ProviderIdsSchema.optional(),
    manifestId: z.string().max(128).nullish(),
    sessionTtlSeconds: SessionTtlSchema.optional(),
  })
  .meta({ id: 'UpdateGatewayInput', description: 'Left out keeps, null clears, a value sets.' });
export type UpdateGatewayInput = z.infer<typeof UpdateGatewayInputSchema>;

const gatewayRecord = { untagged: [] };

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
    'Creates a gateway: the place where agents pass through, with the providers that they may reach there. Its name must be free in its tenant and sub-tenant (409). A provider or manifest that it may not use is refused like one that does not exist (422).',
  body: CreateGatewayInputSchema,
  record: gatewayRecord,
  output: GatewaySchema,
  errors: ['name_taken'],
});

export const listGateways = operation({
  method: 'GET',
  path: '/v1/gateways',
  operationId: 'list_gateways',
  scope: 'gateways:read',
  tag,
  summary: 'List gateways',
  description:
    "Lists the gateways in the caller's reach, newest first. Deleted gateways are listed with `status=deleted` only.",
  query: {
    ...tenancyQueryFields,
    status: GatewayStatusSchema.nullish().describe(
      'Only gateways with this status. Deleted gateways are listed with `deleted` only.',
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
  description: "Answers one gateway. A gateway that is deleted or out of the caller's reach is 404.",
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
    'Changes the fields that the body names, and keeps the others. Disabling a gateway ends its sessions at once. A body without a change writes nothing.',
  params,
  body: UpdateGatewayInputSchema,
  record: gatewayRecord,
  ifMatch: gatewayRecord,
  output: GatewaySchema,
  errors: ['gateway_not_found', 'name_taken'],
});

export const deleteGateway = operation({
  method: 'DELETE',
  path: '/v1/gateways/{gateway_id}',
  operationId: 'delete_gateway',
  scope: 'gateways:write',
  tag,
  summary: 'Delete a gateway',
  description: 'Deletes the gateway and ends its sessions at once. The record stays, with the status `deleted`.',
  params,
  record: gatewayRecord,
  ifMatch: gatewayRecord,
  output: GatewaySchema,
  errors: ['gateway_not_found'],
});
