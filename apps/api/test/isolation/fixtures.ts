import type { Operation } from '@quartermaster/contracts/operation.ts';
import type { Scope } from '@quartermaster/contracts/scopes.ts';
import { type Place, unique } from '../support/people.ts';
import type { TestServer } from '../support/server.ts';
import { type Input, keyWith, OWNER, PATH_PARAMETERS } from './world.ts';

/** What an operation's own contract does not tell about a call of it. */
type Fixture = {
  /** The least body that it takes; made anew for each call. None where `{}` will do. */
  body?: (place: Place) => object;
  /** Its query, where one is needed to find what the path names. */
  query?: (place: Place) => Record<string, string>;
  /** What the rightful owner holds, beyond the operation's own scope. */
  scopes?: Scope[];
  /** Who the rightful owner is: somebody in the sub-tenant, in the whole tenant, or a platform administrator. */
  owner?: 'sub_tenant' | 'tenant' | 'platform';
};

const member = ({ subTenantId }: Place): Record<string, string> =>
  subTenantId === undefined ? {} : { sub_tenant_id: subTenantId };

const declared = { provider: 'declared', kind: 'model', name: 'model-1' };

/** Only what cannot be made from the contract: operations without an entry are called with `{}` or no body. */
export const FIXTURES: Record<string, Fixture> = {
  create_service_account: { body: () => ({ name: 'account' }) },
  create_service_account_key: { body: () => ({ scopes: ['credentials:write'] }) },
  create_provider: { body: () => ({ name: unique('provider'), kind: 'llm' }) },
  create_inventory_item: { body: () => ({ kind: 'model', name: unique('model') }) },
  review_runtime_observation: { body: () => ({ decision: 'approved' }) },
  create_gateway: { body: () => ({ name: unique('gateway') }) },
  create_manifest: { body: () => ({ name: unique('manifest'), kind: 'agent', spec: { declares: [declared] } }) },
  create_tenant: { owner: 'platform' },
  update_tenant: { owner: 'tenant' },
  create_membership: {
    body: ({ subTenantId }) => ({ email: `${unique('invited')}@example.com`, role: 'viewer', subTenantId }),
    scopes: ['*'],
  },
  update_membership: { query: member, body: () => ({ role: 'viewer' }), scopes: ['*'] },
  delete_membership: { query: member, scopes: ['*'] },
  register_user: { body: () => ({ user: { email: `${unique('registered')}@example.com` } }) },
};

/**
 * A valid call of an operation by somebody in a place, its records new.
 *
 * @throws where a path parameter or a required body has no fixture
 */
export async function validInput(server: TestServer, operation: Operation, place: Place = OWNER): Promise<Input> {
  const { body, query } = FIXTURES[operation.operationId] ?? {};
  const path: Record<string, string> = {};
  for (const name of Object.keys(operation.params?.shape ?? {})) {
    const make = PATH_PARAMETERS[name];
    if (!make) throw new Error(`the path parameter ${name} of ${operation.operationId} has no fixture`);
    path[name] = await make(server, { place, made: path });
  }
  const input: Input = { path, query: { ...query?.(place) } };
  if (!operation.body) return input;
  const made = body?.(place) ?? {};
  if (!operation.body.safeParse(made).success) {
    throw new Error(`the body of ${operation.operationId} has no fixture`);
  }
  return { ...input, body: made };
}

/** The credential of the rightful owner. */
export async function ownersKey(server: TestServer, operation: Operation): Promise<string> {
  const { owner = 'sub_tenant', scopes = [] } = FIXTURES[operation.operationId] ?? {};
  if (owner === 'platform') return server.admin.key;
  const place = owner === 'tenant' ? { tenantId: OWNER.tenantId } : OWNER;
  const own: Scope[] = operation.scope === null || operation.scope === 'public' ? ['users:read'] : [operation.scope];
  return keyWith(server, place, scopes.includes('*') ? ['*'] : [...own, ...scopes]);
}
