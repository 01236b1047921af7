import { z } from 'zod';
import { LookupIdSchema, TimestampSchema } from './fields.ts';
import { InventoryKindSchema } from './inventory.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';

export const DenialSchema = z
  .enum([
    'not_in_inventory',
    'blocked',
    'manifest',
    'provider_disabled',
    'provider_not_in_session',
    'provider_not_listed',
  ])
  .meta({ id: 'Denial' })
  .describe(
    "Why a session may not use something. `not_in_inventory`: no item of the provider covers the name. `blocked`: an item is blocked. `manifest`: the gateway's manifest does not allow it. `provider_disabled`: the provider is not active. `provider_not_in_session`: the session was opened for other providers. `provider_not_listed`: the gateway lists no provider with this id, name or alias, or several.",
  );
export type Denial = z.infer<typeof DenialSchema>;

export const DeniedUseSchema = z
  .strictObject({
    observationId: z.string(),
    providerId: z.string(),
    kind: InventoryKindSchema,
    name: z.string(),
    gatewayId: z.string(),
    account: z.string().describe('Who asked: `user:<id>` or `service_account:<tenant>/<id>`.'),
    denials: z.int().describe('How often, since the observation began.'),
    reason: DenialSchema,
    lastSessionId: z.string().nullable().describe('The gateway session that asked last. Null: none did.'),
    lastDeniedAt: TimestampSchema,
  })
  .meta({
    id: 'DeniedUse',
    description:
      'What a gateway denied an account of one observation, or would have denied in the mode `enforce`. Denials are not calls.',
  });
export type DeniedUse = z.infer<typeof DeniedUseSchema>;

const output = page('DeniedUsePage', DeniedUseSchema);

export const listObservationDenials = operation({
  method: 'GET',
  path: '/v1/runtime-observations/{observation_id}/denials',
  operationId: 'list_observation_denials',
  scope: 'runtime_observations:read',
  tag: 'Runtime observations',
  summary: 'List to whom something was denied',
  description: 'Lists the accounts to which gateways denied what the observation is about, the last denied first.',
  params: { observation_id: LookupIdSchema.describe("The observation's id.") },
  query: pageFields,
  output,
  errors: ['runtime_observation_not_found'],
});

export const listGatewayDenials = operation({
  method: 'GET',
  path: '/v1/gateways/{gateway_id}/denials',
  operationId: 'list_gateway_denials',
  scope: 'runtime_observations:read',
  tag: 'Gateways',
  summary: 'List what a gateway denied',
  description:
    'Lists what the gateway denied, or would have denied in the mode `enforce`, and to whom, the last denied first: the preview before a gateway is set to `enforce`.',
  params: { gateway_id: LookupIdSchema.describe("The gateway's id.") },
  query: {
    days: z.int().min(1).max(30).default(7).describe('Only what was denied in these last days: 1 to 30.'),
    ...pageFields,
  },
  output,
  errors: ['gateway_not_found'],
});
