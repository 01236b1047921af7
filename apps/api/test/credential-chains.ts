import type { Scope } from '@quartermaster/contracts/scopes.ts';
import { holdsScopes } from '@quartermaster/contracts/scopes.ts';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountWithKey, acceptPath, memberWithToken, type Person, registeredUser, unique } from './support/people.ts';
import { type Body, type Credential, startTestServer, type TestServer } from './support/server.ts';

/*
 * Random chains of credentials that create other credentials. After each step that the service allows, no credential has
 * more scopes, more places or a later expiry than its parent. At the end the root of each chain is revoked, and nothing
 * derived from it works any more.
 */

let server: TestServer;
const STEPS = 20;
const SECOND_MS = 1000;
/** Short, because users' tokens expire soon. */
const WAIT_MS = 5 * SECOND_MS;

const SUB_TENANTS = ['eu', 'us'];
const SCOPES: Scope[][] = [
  ['*'],
  ['credentials:write', 'service_accounts:write', 'gateway_sessions:write', 'gateway_sessions:impersonate'],
  ['credentials:write', 'gateway_sessions:write', 'memberships:write'],
  ['providers:read'],
];
const ENDS_MS = [null, 'left out', 4 * SECOND_MS, 12 * SECOND_MS, 3600 * SECOND_MS];
const ROLES = ['owner', 'admin', 'operator', 'viewer'] as const;

/** A caller: an API key, or a user with a token. */
type Actor = {
  as: Credential;
  name: string;
  /** The `source` that derived access shows. */
  source: string;
  scopes: readonly Scope[];
  /** Null for the whole tenant. */
  subTenantId: string | null;
  /** The expiry in milliseconds since 1970, or null. */
  end: number | null;
  /** The caller that created it. Null for the roots. */
  parent: Actor | null;
  accountId?: string;
  keyId?: string;
};
type Session = { path: string; token: string; parent: Actor; subTenantId: string | null; end: number };
type Invitation = { person: Person; subTenantId: string | null; parent: Actor };
type World = { tenantId: string; actors: Actor[]; sessions: Session[]; invitations: Invitation[]; admin: Credential };

const choice = fc.nat({ max: 1_000_000 });
const step = fc.record({
  kind: fc.constantFrom('mint', 'mint', 'rotate', 'session', 'session', 'impersonate', 'invite', 'wait'),
  actor: choice,
  target: choice,
  option: choice,
  end: choice,
});
type Step = { kind: string; actor: number; target: number; option: number; end: number };

const pick = <T>(list: readonly T[], index: number): T => {
  const item = list[index % list.length];
  if (item === undefined) throw new Error('nothing to pick');
  return item;
};

async function newWorld(): Promise<World> {
  const tenantId = unique('chain');
  const wide = await accountWithKey(server, { tenantId });
  const actors: Actor[] = [];
  const first = (as: Credential, name: string, source: string, more: Partial<Actor> = {}): Actor => {
    const actor: Actor = { as, name, source, scopes: ['*'], subTenantId: null, end: null, parent: null, ...more };
    actors.push(actor);
    return actor;
  };
  // The roots: a key that expires, a key of a sub-tenant, an administrator.
  const end = server.services.now().getTime() + 3 * WAIT_MS;
  const expiresAt = new Date(end).toISOString();
  const keys = `/v1/service-accounts/${wide.id}/keys`;
  const ending = await server.ok('POST', keys, { as: { key: wide.key }, body: { scopes: ['*'], expiresAt } });
  first({ key: ending.key }, wide.principal, `api_key:${ending.id}`, { end, accountId: wide.id, keyId: ending.id });
  const bound = await accountWithKey(server, { tenantId, subTenantId: 'eu' });
  const place = { subTenantId: 'eu', accountId: bound.id, keyId: bound.keyId };
  first({ key: bound.key }, bound.principal, `api_key:${bound.keyId}`, place);
  await accountWithKey(server, { tenantId, subTenantId: 'us' });
  const ada = await memberWithToken(server, { tenantId }, 'owner');
  first({ token: ada.token }, `user:${ada.id}`, `user:${ada.id}`);
  return { tenantId, actors, sessions: [], invitations: [], admin: { key: wide.key } };
}

async function run(world: World, { kind, actor: at, target, option, end }: Step): Promise<void> {
  const actor = pick(world.actors, at);
  switch (kind) {
    case 'mint':
      return mint(world, actor, {
        subTenantId: pick([null, ...SUB_TENANTS], target),
        scopes: pick(SCOPES, option),
        end,
      });
    case 'rotate':
      return rotate(world, actor, pick(world.actors, target), end);
    case 'session':
      return open(world, actor, null, target);
    case 'impersonate':
      return open(world, actor, pick(world.actors, option).name, target);
    case 'invite':
      return invite(world, actor, { subTenantId: pick([null, ...SUB_TENANTS], target), role: pick(ROLES, option) });
    default:
      server.travel(WAIT_MS);
  }
}

/** An `expiresAt`, null, or undefined to leave it out. */
function endOf(index: number): string | null | undefined {
  const wanted = pick(ENDS_MS, index);
  if (wanted === 'left out') return undefined;
  return typeof wanted === 'number' ? new Date(server.services.now().getTime() + wanted).toISOString() : null;
}

/** Creates an account and a key of it. */
async function mint(
  world: World,
  actor: Actor,
  { subTenantId, scopes, end }: { subTenantId: string | null; scopes: readonly Scope[]; end: number },
): Promise<void> {
  const { tenantId, actors } = world;
  const name = unique('made');
  const body = { id: name, name, tenantId, subTenantId };
  const account = await server.call('POST', '/v1/service-accounts', { as: actor.as, body });
  if (account.status !== 200) return;
  expectPlaceWithin(account.body, actor);
  const expiresAt = endOf(end);
  const path = `/v1/service-accounts/${name}/keys`;
  const key = await server.call('POST', path, { as: actor.as, body: { scopes, expiresAt } });
  if (key.status === 200) addKey(actors, actor, { body: key.body, account: account.body });
}

async function rotate(world: World, actor: Actor, old: Actor, end: number): Promise<void> {
  if (old.keyId === undefined || old.accountId === undefined) return;
  const expiresAt = endOf(end);
  const path = `/v1/service-accounts/${old.accountId}/keys/${old.keyId}/rotate`;
  const body = { overlapSeconds: end % 2 === 0 ? 0 : 3600, ...(expiresAt !== undefined && { expiresAt }) };
  const rotated = await server.call('POST', path, { as: actor.as, body });
  if (rotated.status !== 200) return;
  const account = { id: old.accountId, subTenantId: old.subTenantId, tenantId: world.tenantId };
  addKey(world.actors, actor, { body: rotated.body, account });
  expect(holdsScopes(old.scopes, rotated.body.scopes)).toBe(true);
}

function addKey(actors: Actor[], parent: Actor, { body, account }: { body: Body; account: Body }): void {
  const end = body.expiresAt === null ? null : Date.parse(body.expiresAt);
  expect(holdsScopes(parent.scopes, body.scopes), 'no more scopes than its source').toBe(true);
  expectEndWithin(end, parent);
  actors.push({
    as: { key: body.key },
    name: `service_account:${account.tenantId}/${account.id}`,
    source: `api_key:${body.id}`,
    scopes: body.scopes,
    subTenantId: account.subTenantId,
    end,
    parent,
    accountId: account.id,
    keyId: body.id,
  });
}

async function open(world: World, actor: Actor, subject: string | null, target: number): Promise<void> {
  const place = pick([null, ...SUB_TENANTS], target);
  const body = { name: unique('gateway'), tenantId: world.tenantId, subTenantId: place };
  const gateway = await server.ok('POST', '/v1/gateways', { as: world.admin, body });
  const path = `/v1/gateways/${gateway.id}/sessions`;
  const opened = await server.call('POST', path, { as: actor.as, body: { subject, ttlSeconds: 3600 } });
  if (opened.status !== 200) return;
  const session = opened.body;
  expect(actor.subTenantId === null || actor.subTenantId === place, 'a gateway within its place').toBe(true);
  const end = Date.parse(session.expiresAt);
  expectEndWithin(end, actor);
  if (subject !== null) {
    // A caller cannot act for a subject outside of their place.
    const acted = world.actors.find(({ name }) => name === subject);
    if (acted && subject !== actor.name) expectPlaceWithin({ subTenantId: acted.subTenantId }, actor);
  }
  world.sessions.push({ path, token: session.token, parent: actor, subTenantId: place, end });
}

async function invite(
  world: World,
  actor: Actor,
  { subTenantId, role }: { subTenantId: string | null; role: string },
): Promise<void> {
  const person = await registeredUser(server);
  const path = `/v1/tenants/${world.tenantId}/memberships`;
  const invited = await server.call('POST', path, { as: actor.as, body: { email: person.email, role, subTenantId } });
  if (invited.status !== 200) return;
  expectPlaceWithin(invited.body, actor);
  if (role === 'owner') expect(actor.scopes).toContain('*');
  world.invitations.push({ person, subTenantId: invited.body.subTenantId, parent: actor });
}

function expectPlaceWithin({ subTenantId }: { subTenantId: string | null }, { subTenantId: own }: Actor): void {
  expect(own === null || own === subTenantId, `${subTenantId} within ${own}`).toBe(true);
}

function expectEndWithin(end: number | null, { end: own }: Actor): void {
  if (own !== null) expect(end !== null && end <= own, `${end} within ${own}`).toBe(true);
}

const comesFrom = (actor: Actor | null, source: Actor): boolean =>
  actor !== null && (actor === source || comesFrom(actor.parent, source));

const works = async ({ as }: Actor) => (await server.call('GET', '/v1/providers', { as })).status !== 401;

/**
 * Tests random chains of credentials.
 *
 * @param rounds each one is a separate test, because the clock is reset after each test
 */
export function testChains({ chains, rounds }: { chains: number; rounds: number }): void {
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server.stop());

  test.for(Array.from({ length: rounds }, (_, index) => index + 1))(
    'derived access never has more scopes, more places or a later expiry than its source, and ends with it (round %i)',
    async () => {
      let derived = 0;
      const property = fc.asyncProperty(
        fc.array(step, { minLength: STEPS, maxLength: STEPS }),
        choice,
        async (steps, which) => {
          const world = await newWorld();
          for (const one of steps) await run(world, one);
          const now = server.services.now().getTime();
          // An expired key cannot act, even if keys that it created still work.
          for (const actor of world.actors)
            if (actor.end !== null && actor.end <= now) expect(await works(actor)).toBe(false);

          // Usually one of the roots.
          const source = pick(which % 4 === 0 ? world.actors : world.actors.slice(0, 3), which);
          const isKey = source.keyId !== undefined;
          const body = {
            source: source.source,
            kinds: ['api_key', 'gateway_session', 'invitation', 'membership'],
            includeSuccessors: true,
            includeSource: isKey,
          };
          await server.ok('POST', '/v1/derived-access/revoke', { as: world.admin, body });
          for (const actor of world.actors) {
            if (actor.keyId === undefined || !comesFrom(actor, source)) continue;
            if (actor !== source) derived += 1;
            expect(await works(actor), `${actor.source} of ${source.source}`).toBe(false);
          }
          for (const { path, token, parent } of world.sessions) {
            if (!comesFrom(parent, source)) continue;
            derived += 1;
            const answer = await server.ok('POST', `${path}/introspect`, { as: world.admin, body: { token } });
            expect(answer).toEqual({ active: false });
          }
          for (const { person, subTenantId, parent } of world.invitations) {
            if (!comesFrom(parent, source)) continue;
            derived += 1;
            const path = acceptPath({ tenantId: world.tenantId, ...(subTenantId !== null && { subTenantId }) });
            const accepted = await server.call('POST', path, { as: { token: person.token } });
            // The invitation is gone or expired, or its inviter may no longer invite.
            expect([403, 404, 409], accepted.text).toContain(accepted.status);
          }
        },
      );
      for (let times = 0; times < 10; times += 1) {
        await fc.assert(property, { numRuns: chains, endOnFailure: true });
        if (derived > chains) break;
      }
      // There were long chains, which few runs may not have. Without them the property would prove nothing.
      expect(derived).toBeGreaterThan(chains);
    },
  );
}
