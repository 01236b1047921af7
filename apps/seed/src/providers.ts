import {
  type CreateGatewayInput,
  createGateway,
  createGatewaySession,
  createInventoryItem,
  createManifest,
  createProvider,
  deleteProvider,
  type InventoryItem,
  putProviderCredential,
  revokeGatewaySession,
} from '@quartermaster/client';
import { dataOf } from './calls.ts';
import { GATEWAYS, MAIN_TENANT, MANIFESTS, PROVIDERS } from './company.ts';
import { type Context, daysFrom } from './context.ts';

/** The ids of providers, by `<tenant> <name>`. */
export type ProviderIds = Map<string, string>;

/** Declares the providers and what they offer. */
export async function makeProviders(context: Context): Promise<ProviderIds> {
  const { admin: client } = context;
  const ids: ProviderIds = new Map();
  for (const { status = 'active', offers = {}, ...declared } of PROVIDERS) {
    const body = { ...declared, status: status === 'deleted' ? 'active' : status } as const;
    const provider = await dataOf(createProvider({ client, body }));
    const path = { provider_id: provider.id };
    ids.set(`${declared.tenantId} ${declared.name}`, provider.id);
    const items = (Object.entries(offers) as [InventoryItem['kind'], readonly string[]][]).flatMap(([kind, names]) =>
      names.map((name) => ({ kind, name })),
    );
    for (const item of items) await dataOf(createInventoryItem({ client, path, body: item }));
    if (status === 'deleted') await dataOf(deleteProvider({ client, path }));
  }
  await declareExceptions(context, ids);
  await storeCredentials(context, ids);
  return ids;
}

/** Items that are retired or blocked from the start. */
async function declareExceptions({ admin: client }: Context, ids: ProviderIds): Promise<void> {
  const items = [
    { provider: 'openai', kind: 'model', name: 'gpt-3.5-turbo', status: 'retired' },
    { provider: 'slack', kind: 'tool', name: 'delete_channel', status: 'blocked' },
  ] as const;
  for (const { provider, ...body } of items) {
    await dataOf(createInventoryItem({ client, path: { provider_id: idOf(ids, provider) }, body }));
  }
}

/** Stores secrets of providers. That of `openai` expires soon, and only `anthropic` has a standby secret. */
async function storeCredentials(context: Context, ids: ProviderIds): Promise<void> {
  const put = (provider: string, body: { name: string; expiresAt?: string; standby?: boolean }) =>
    dataOf(
      putProviderCredential({
        client: context.admin,
        path: { provider_id: idOf(ids, provider) },
        body: { ...body, secret: `demonstration-${provider}-${body.name.replaceAll(' ', '-')}` },
      }),
    );
  await put('openai', { name: 'production', expiresAt: daysFrom(context, 4) });
  await put('anthropic', { name: 'production', expiresAt: daysFrom(context, 12) });
  await put('anthropic', { name: 'next quarter', expiresAt: daysFrom(context, 120), standby: true });
  await put('github', { name: 'app token', expiresAt: daysFrom(context, 200) });
}

export async function makeManifests({ admin: client }: Context): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (const body of MANIFESTS) {
    const { id } = await dataOf(createManifest({ client, body }));
    ids.set(body.name, id);
  }
  return ids;
}

/** The ids of the gateways, by name. */
export type GatewayIds = Map<string, string>;

export async function makeGateways(
  { admin: client }: Context,
  providers: ProviderIds,
  manifests: Map<string, string>,
): Promise<GatewayIds> {
  const ids: GatewayIds = new Map();
  for (const { name, tenantId, providers: names, manifest, status = 'active' } of GATEWAYS) {
    const body: CreateGatewayInput = {
      name,
      tenantId,
      status,
      url: `https://${name}.${tenantId}.example`,
      providerIds: names.map((provider) => idOf(providers, provider, tenantId)),
      manifestId: manifest === undefined ? null : (manifests.get(manifest) ?? null),
      sessionTtlSeconds: 24 * 3600,
    };
    ids.set(name, (await dataOf(createGateway({ client, body }))).id);
  }
  return ids;
}

/** Opens a session for every agent of a gateway. If there are several, revokes the last one. */
export async function openSessions({ admin: client }: Context, gateways: GatewayIds): Promise<void> {
  for (const { name, tenantId, sessions } of GATEWAYS) {
    for (const [index, agentId] of sessions.entries()) {
      const path = { gateway_id: gateways.get(name) ?? '' };
      const body = { subject: `service_account:${tenantId}/${agentId}` };
      const session = await dataOf(createGatewaySession({ client, path, body }));
      const isRevoked = index > 0 && index === sessions.length - 1;
      if (isRevoked) await dataOf(revokeGatewaySession({ client, path: { ...path, session_id: session.id } }));
    }
  }
}

/** @throws if the company's tables name a provider that they do not declare */
function idOf(ids: ProviderIds, name: string, tenantId = MAIN_TENANT): string {
  const id = ids.get(`${tenantId} ${name}`);
  if (id === undefined) throw new Error(`${tenantId} declares no provider ${name}`);
  return id;
}
