import { z } from 'zod';

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
