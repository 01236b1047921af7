import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import type { Scope } from '@quartermaster/contracts/scopes.ts';
import { findRecommendation } from '@quartermaster/db/repositories/recommendations.ts';
import { EVERYWHERE } from '@quartermaster/db/tenancy.ts';
import { offerMembership, type Place, registeredUser, unique } from '../support/people.ts';
import type { Credential, TestServer } from '../support/server.ts';
import { ensurePlace, type Input, keyWith, noteLoner, OWNER, PATH_PARAMETERS } from './world.ts';

/** What the contract of an operation does not say about how to call it. */
type Fixture = {
  /** A new minimal body for each call. Left out if `{}` is valid. */
  body?: (place: Place) => object;
  /** Prepares the records in its path, or changes the path. */
  prepare?: (server: TestServer, path: Record<string, string>) => Promise<void>;
  /** Its query, if one is required. */
  query?: (place: Place) => Record<string, string>;
  /** The scopes that the owner needs beyond the operation's own. */
  scopes?: Scope[];
  /**
   * Who the owner is: an account of the sub-tenant, an account of the whole tenant, a platform administrator, a user who is
   * invited to the sub-tenant, or a user without memberships.
   */
  owner?: 'sub_tenant' | 'tenant' | 'platform' | 'invited' | 'loner';
};

const member = ({ subTenantId }: Place): Record<string, string> =>
  subTenantId === undefined ? {} : { sub_tenant_id: subTenantId };

const declared = { provider: 'declared', kind: 'model', name: 'model-1' };

/** Operations without an entry are called with `{}` or without a body. */
export const FIXTURES: Record<string, Fixture> = {
  create_service_account: { body: () => ({ name: 'account' }) },
  create_service_account_key: { body: () => ({ scopes: ['credentials:write'] }) },
  list_derived_access: { query: () => ({ source: 'user:usr_none' }) },
  revoke_derived_access: { body: () => ({ source: 'user:usr_none', kinds: ['api_key'] }) },
  create_provider: { body: () => ({ name: unique('provider'), kind: 'llm' }) },
  sync_provider_inventory: {
    async prepare(server, { provider_id }) {
      const body = { baseUrl: await modelVendor() };
      await server.ok('PUT', `/v1/providers/${provider_id}`, { as: server.admin, body });
    },
  },
  put_provider_credential: { body: () => ({ secret: unique('secret') }) },
  delete_provider_credential: {
    async prepare(server, { provider_id }) {
      const path = `/v1/providers/${provider_id}/credential`;
      await server.ok('PUT', path, { as: server.admin, body: { secret: unique('secret') } });
    },
  },
  put_provider_secret_header: { body: () => ({ secret: unique('secret') }) },
  delete_provider_secret_header: {
    async prepare(server, { provider_id, header_name }) {
      const path = `/v1/providers/${provider_id}/secret-headers/${header_name}`;
      await server.ok('PUT', path, { as: server.admin, body: { secret: unique('secret') } });
    },
  },
  create_inventory_item: { body: () => ({ kind: 'model', name: unique('model') }) },
  dismiss_recommendation: { body: () => ({ reason: 'not needed' }) },
  undo_recommendation: {
    async prepare(server, { recommendation_id = '' }) {
      const { db } = server.services;
      const found = await findRecommendation(db, EVERYWHERE, recommendation_id);
      const path = `/v1/providers/${found?.providerId}/recommendations/apply`;
      await server.ok('POST', path, { as: server.admin, body: { recommendationIds: [recommendation_id] } });
    },
  },
  set_price: {
    body: () => ({ modelPattern: unique('model'), validFrom: '2026-01-01', inputPrice: 1, outputPrice: 2 }),
    owner: 'tenant',
  },
  delete_price: { owner: 'tenant' },
  group_runtime_observations: { query: () => ({ by: 'agent' }) },
  get_graph: { query: () => ({ from: '2025-01-01T00:00:00Z' }) },
  review_runtime_observations: { body: () => ({ decision: 'approved', observationIds: ['obs_none'] }) },
  dismiss_recommendations: { body: () => ({ reason: 'not needed', recommendationIds: ['rec_none'] }) },
  review_runtime_observation: { body: () => ({ decision: 'approved' }) },
  create_gateway: { body: () => ({ name: unique('gateway') }) },
  // A channel manifest may have every member but `channels`.
  create_manifest: {
    body: () => ({
      name: unique('manifest'),
      kind: 'channel',
      spec: { declares: [declared], channel: { type: 'web' }, allow: [{ provider: declared.provider }] },
    }),
  },
  introspect_gateway_session: { body: () => ({ token: 'none' }) },
  complete_operator_task: { body: () => ({ outcome: 'approved' }), scopes: ['runtime_observations:review'] },
  create_tenant: { owner: 'platform' },
  update_tenant: { owner: 'tenant' },
  delete_tenant: {
    owner: 'platform',
    // A tenant of its own, because the other calls need theirs.
    async prepare(server, path) {
      path['tenant_id'] = (await server.ok('POST', '/v1/tenants', { as: server.admin })).id;
    },
  },
  get_tenant_usage: { owner: 'tenant' },
  update_tenant_limits: { owner: 'platform' },
  create_membership: {
    body: ({ subTenantId }) => ({ email: `${unique('invited')}@example.com`, role: 'viewer', subTenantId }),
    scopes: ['*'],
  },
  update_membership: { query: member, body: () => ({ role: 'viewer' }), scopes: ['*'] },
  delete_membership: { query: member, scopes: ['*'] },
  disable_user: { owner: 'platform' },
  enable_user: { owner: 'platform' },
  get_identity_relink: { owner: 'platform' },
  allow_identity_relink: { owner: 'platform' },
  withdraw_identity_relink: { owner: 'platform' },
  grant_platform_administrator: { owner: 'platform' },
  revoke_platform_administrator: {
    owner: 'platform',
    async prepare(server, { user_id }) {
      // There must be another one: the last platform administrator cannot be revoked.
      for (const id of [(await registeredUser(server)).id, user_id]) {
        await server.ok('PUT', `/v1/users/${id}/platform-administrator`, { as: server.admin });
      }
    },
  },
  list_my_sessions: { owner: 'loner' },
  revoke_my_session: { owner: 'loner' },
  accept_membership: { query: member, owner: 'invited' },
  create_organization: { body: () => ({ organization: { displayName: 'Organization' } }), owner: 'loner' },
  verify_audit_events: { owner: 'tenant' },
  register_user: { body: () => ({ user: { email: `${unique('registered')}@example.com` } }) },
};

/**
 * A valid call of an operation in a place, with new records.
 *
 * @throws if a path parameter or a required body has no fixture
 */
export async function validInput(server: TestServer, operation: Operation, place: Place = OWNER): Promise<Input> {
  return inputFor(operation, await newRecords(server, operation, place), place);
}

/** Creates what an operation is about. Returns its path parameters. */
export async function newRecords(
  server: TestServer,
  operation: Operation,
  place: Place = OWNER,
): Promise<Record<string, string>> {
  await ensurePlace(server, place);
  const path: Record<string, string> = {};
  for (const name of Object.keys(operation.params?.shape ?? {})) {
    const make = PATH_PARAMETERS[name];
    if (!make) throw new Error(`the path parameter ${name} of ${operation.operationId} has no fixture`);
    path[name] = await make(server, { place, made: path });
  }
  await FIXTURES[operation.operationId]?.prepare?.(server, path);
  return path;
}

/** A valid call about existing records, with a new body. */
export function inputFor(operation: Operation, path: Record<string, string>, place: Place = OWNER): Input {
  const { body, query } = FIXTURES[operation.operationId] ?? {};
  const input: Input = { path: { ...path }, query: { ...query?.(place) } };
  if (!operation.body) return input;
  const made = body?.(place) ?? {};
  if (!operation.body.safeParse(made).success) {
    throw new Error(`the body of ${operation.operationId} has no fixture`);
  }
  return { ...input, body: made };
}

/** The URL of a model vendor without models. The server does not keep the process running. */
function modelVendor(): Promise<string> {
  vendor ??= new Promise((resolve) => {
    const listening = createServer((_req, res) => void res.end('{"object":"list","data":[]}'));
    listening.listen(0, '127.0.0.1', () => {
      resolve(`http://127.0.0.1:${(listening.address() as AddressInfo).port}`);
    });
    listening.unref();
  });
  return vendor;
}
let vendor: Promise<string> | undefined;

/** A credential of the operation's owner. */
export async function ownersCredential(server: TestServer, operation: Operation): Promise<Credential> {
  const { owner = 'sub_tenant', scopes = [] } = FIXTURES[operation.operationId] ?? {};
  if (owner === 'platform') return server.admin;
  if (owner === 'invited' || owner === 'loner') {
    await ensurePlace(server, OWNER);
    const { id, email, token } = await registeredUser(server);
    if (owner === 'loner') noteLoner(server, id);
    if (owner === 'invited') await offerMembership(server, email, OWNER, 'viewer');
    return { token };
  }
  const place = owner === 'tenant' ? { tenantId: OWNER.tenantId } : OWNER;
  const own: Scope[] = operation.scope === null || operation.scope === 'public' ? ['users:read'] : [operation.scope];
  return { key: await keyWith(server, place, scopes.includes('*') ? ['*'] : [...own, ...scopes]) };
}
