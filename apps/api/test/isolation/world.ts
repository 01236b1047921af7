import { type Scope, ScopeSchema } from '@quartermaster/contracts/scopes.ts';
import { expect, vi } from 'vitest';
import { accountWithKey, memberWithToken, type Place, unique } from '../support/people.ts';
import type { Credential, TestServer } from '../support/server.ts';

/** The owner's place, and where strangers stand. */
export const OWNER = { tenantId: 'tenant-a', subTenantId: 'sub-a1' };
const SIBLING = { tenantId: 'tenant-a', subTenantId: 'sub-a2' };
const OTHER = { tenantId: 'tenant-b' };
export const PLACES: Record<'otherTenant' | 'sibling', Place> = { otherTenant: OTHER, sibling: SIBLING };

export type Input = { path?: Record<string, string>; query?: Record<string, unknown>; body?: unknown };

/** The credentials of the cells: who tries what is not theirs, or with a credential that does not do. */
export type Strangers = Record<'otherTenant' | 'sibling' | 'member' | 'revoked' | 'disabled', NonNullable<Credential>>;

export async function makeStrangers(server: TestServer): Promise<Strangers> {
  // Names a tenant and sub-tenant that do not exist: a platform administrator makes them so.
  const otherTenant = await accountWithKey(server, OTHER);
  const sibling = await accountWithKey(server, SIBLING);
  const revoked = await accountWithKey(server, OWNER);
  const { id, keyId } = revoked;
  await server.ok('DELETE', `/v1/service-accounts/${id}/keys/${keyId}?tenant_id=${OWNER.tenantId}`, {
    as: server.admin,
  });
  const disabled = await accountWithKey(server, OWNER);
  await server.ok('POST', `/v1/service-accounts/${disabled.id}/disable?tenant_id=${OWNER.tenantId}`, {
    as: server.admin,
  });
  const member = await memberWithToken(server, OTHER, 'owner');
  return {
    otherTenant: { key: otherTenant.key },
    sibling: { key: sibling.key },
    member: { token: member.token },
    revoked: { key: revoked.key },
    disabled: { key: disabled.key },
  };
}

/** Of each server its own: suites may share this module. */
const keysOf = new WeakMap<TestServer, Map<string, string>>();

/** A key in a place with exactly these scopes; the same for the same question. */
export async function keyWith(server: TestServer, place: Place, scopes: Scope[]) {
  const name = JSON.stringify([place, scopes]);
  const keys = keysOf.get(server) ?? new Map<string, string>();
  keysOf.set(server, keys);
  const key = keys.get(name) ?? (await usedOnce(server, (await accountWithKey(server, place, scopes)).key));
  keys.set(name, key);
  return key;
}

/** Makes a tenant and its sub-tenant where they are missing: the first account in a place creates it. */
export async function ensurePlace(server: TestServer, place: Place): Promise<void> {
  await keyWith(server, place, ['users:read']);
}

/** Last use is written beside the first request, and so would be a commit that a later one is blamed for. */
async function usedOnce(server: TestServer, key: string): Promise<string> {
  await server.call('GET', '/v1/providers', { as: { key } });
  const id = /^qm_(key_[^_]+)_/.exec(key)?.[1] ?? '';
  const query = server.services.db.selectFrom('credentials').select('last_used_at').where('id', '=', id);
  await vi.waitFor(async () => expect((await query.executeTakeFirst())?.last_used_at).toEqual(expect.any(String)));
  return key;
}

/** Everything but one scope. */
export function allScopesBut(scope: Scope): Scope[] {
  return ScopeSchema.options.filter((option) => option !== '*' && option !== scope);
}

/** `made` has what the path's earlier parameters got. */
type Maker = (server: TestServer, at: { place: Place; made: Record<string, string> }) => Promise<string>;

export async function create(server: TestServer, path: string, body: object): Promise<Record<string, string>> {
  return server.ok('POST', path, { as: server.admin, body });
}

/** One unknown model, seen at a provider that nobody declared. */
export async function observed(
  server: TestServer,
  place: Place,
): Promise<{ providerId: string; name: string; traceId: string }> {
  const key = await keyWith(server, place, ['traces:write']);
  const provider = unique('provider');
  const traceId = unique('').replace('-', '').padStart(32, '0');
  const attribute = (name: string, value: string) => ({ key: name, value: { stringValue: value } });
  const attributes = [
    attribute('gen_ai.operation.name', 'chat'),
    attribute('gen_ai.provider.name', provider),
    attribute('gen_ai.request.model', 'model-1'),
  ];
  const times = { startTimeUnixNano: '1750000000000000000', endTimeUnixNano: '1750000001000000000' };
  const span = { traceId, spanId: '1111111111111111', name: 'chat', kind: 3, ...times, attributes };
  await server.ok('POST', '/v1/traces', {
    as: { key },
    body: { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] },
  });
  const found = await server.ok('GET', `/v1/providers?name=${provider}&tenant_id=${place.tenantId}`, {
    as: server.admin,
  });
  return { providerId: found.items[0].id, name: provider, traceId };
}

/**
 * How the record behind each path parameter is made in a place. A path parameter that is not here fails the suite: a new operation cannot slip past it.
 */
export const PATH_PARAMETERS: Record<string, Maker> = {
  tenant_id: async (_, { place }) => place.tenantId,
  async service_account_id(server, { place }) {
    const id = unique('account');
    await create(server, '/v1/service-accounts', { id, name: id, ...place });
    return id;
  },
  async key_id(server, { place, made }) {
    const path = `/v1/service-accounts/${made['service_account_id']}/keys?tenant_id=${place.tenantId}`;
    return idOf(await create(server, path, { scopes: ['credentials:write'] }));
  },
  provider_id: async (server, { place }) =>
    idOf(await create(server, '/v1/providers', { name: unique('provider'), kind: 'llm', ...place })),
  item_id: async (server, { made }) =>
    idOf(
      await create(server, `/v1/providers/${made['provider_id']}/inventory`, { kind: 'model', name: unique('model') }),
    ),
  async observation_id(server, { place }) {
    const { providerId } = await observed(server, place);
    const page = await server.ok('GET', `/v1/providers/${providerId}/observations`, { as: server.admin });
    return page.items[0].id;
  },
  async recommendation_id(server, { place }) {
    const { providerId } = await observed(server, place);
    const path = `/v1/providers/${providerId}/recommendations?kind=register_item`;
    const page = await server.ok('GET', path, { as: server.admin });
    return page.items[0].id;
  },
  gateway_id: async (server, { place }) =>
    idOf(await create(server, '/v1/gateways', { name: unique('gateway'), ...place })),
  session_id: async (server, { place, made }) => {
    const key = await keyWith(server, place, ['gateway_sessions:write']);
    const session = await server.ok('POST', `/v1/gateways/${made['gateway_id']}/sessions`, { as: { key } });
    return session.id;
  },
  manifest_id: async (server, { place }) =>
    idOf(await create(server, '/v1/manifests', { name: unique('manifest'), kind: 'agent', spec: {}, ...place })),
  kind: async () => 'agent',
  async task_id(server, { place }) {
    const { providerId } = await observed(server, place);
    const observations = await server.ok('GET', `/v1/providers/${providerId}/observations`, { as: server.admin });
    const path = `/v1/operator/tasks?subject_id=${observations.items[0].id}`;
    const page = await server.ok('GET', path, { as: server.admin });
    return page.items[0].id;
  },
  trace_id: async (server, { place }) => (await observed(server, place)).traceId,
  // Who has not accepted is nobody's to see.
  user_id: async (server, { place }) => (await memberWithToken(server, place, 'viewer')).id,
};

export function idOf(record: Record<string, string>): string {
  const { id } = record;
  if (id === undefined) throw new Error('the record has no id');
  return id;
}

/** An id that nobody has, of the same form. */
export function nobodys(id: string): string {
  return `${id.slice(0, -4)}zzzz`.replace(/^(\d+)zzzz$/, '$19999');
}
