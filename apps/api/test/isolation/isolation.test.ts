import type { Operation } from '@quartermaster/contracts/operation.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LOOPBACK } from '../inventory-sync/peers.ts';
import { OPERATIONS } from '../support/records.ts';
import { type Credential, startTestServer, type TestServer } from '../support/server.ts';
import { commitsOf } from '../support/tables.ts';
import { callOver, type Said, type Transport } from './callers.ts';
import { FIXTURES, ownersCredential, validInput } from './fixtures.ts';
import { allScopesBut, type Input, keyWith, makeStrangers, nobodys, OWNER, type Strangers } from './world.ts';

/*
 * Every operation of the router, over REST and tRPC, against everyone who must not reach the owner's records. Made from
 * the contracts: a new operation is in it at once, or fails for want of a fixture. The rightful owner succeeds with records
 * of their own, which proves the fixture. Each stranger tries it on new ones, and gets byte for byte what they get for ids
 * that nobody has. Another connection watches that nothing at all was committed.
 */
let server: TestServer;
let strangers: Strangers;
/** Longer than the suite takes, on a machine that is busy with others; shorter than tokens are good for. */
const AHEAD_MS = 20 * 60_000;

const committed = () => commitsOf(server.services);

beforeAll(async () => {
  server = await startTestServer(LOOPBACK, { noHousekeeping: true });
  // Time stands still, so that last use is written once for each key and never during a cell.
  // Ahead of those who issue tokens, whose clock goes on: what they say is never of the future.
  server.freeze(AHEAD_MS);
  strangers = await makeStrangers(server);
  for (const as of Object.values(strangers)) await server.call('GET', '/v1/providers', { as });
});

afterAll(() => server.stop());

type Stranger = 'otherTenant' | 'sibling' | 'member';

const TRANSPORTS: Transport[] = ['REST', 'tRPC'];
const cases = OPERATIONS.flatMap((served) =>
  TRANSPORTS.map((transport) => ({ ...served, transport, id: served.operation.operationId })),
);
const guarded = cases.filter(({ operation }) => operation.scope !== 'public');
const scoped = guarded.filter(({ operation }) => operation.scope !== null);

describe.each(guarded)('$id over $transport', ({ transport, ...served }) => {
  const { operation } = served;
  const call = (as: Credential, input: Input) => callOver(transport, server, served, { input, as });
  const ofUsers = operation.errors.includes('user_required');
  /** Calls with the owner's ids and with nobody's, and expects the same answer and no commit. */
  const refusedAlike = async (as: Credential, real: Input, random: Input): Promise<Said> => {
    const before = await committed();
    const said = await call(as, real);
    expect(await call(as, random)).toEqual(said);
    expect(await committed()).toEqual(before);
    return said;
  };

  test('the rightful owner succeeds', async () => {
    const said = await call(await ownersCredential(server, operation), await validInput(server, operation));
    expect(said.status, said.text).toBe(200);
  });

  test('nobody is refused without credentials, whatever the ids', async () => {
    const input = await validInput(server, operation);
    expect((await refusedAlike(null, input, withRandomIds(operation, input))).status).toBe(401);
  });

  test.each(['revoked', 'disabled'] as const)('the key of the %s account is refused, whatever the ids', async (who) => {
    const input = await validInput(server, operation);
    expect((await refusedAlike(strangers[who], input, withRandomIds(operation, input))).status).toBe(401);
  });

  test.each([
    ['another tenant', 'otherTenant', OWNER.tenantId],
    ["another tenant's owner, a user with a token,", 'member', OWNER.tenantId],
    ['a sibling sub-tenant', 'sibling', OWNER.subTenantId],
  ] as const)("%s reaches nothing of the owner's", async (_, who, mark) => {
    const as = strangers[who];
    const input = await validInput(server, operation);
    const random = withRandomIds(operation, input, who);
    if (JSON.stringify(random) !== JSON.stringify(input)) {
      const said = await refusedAlike(as, input, random);
      // Where the query has to name the sub-tenant, that is refused first.
      const named = who === 'sibling' && Object.values(input.query ?? {}).includes(OWNER.subTenantId);
      expect(said.status, said.text).toBe(named || (ofUsers && 'key' in as) ? 403 : 404);
      expect(said.text).not.toContain(mark);
    }
    for (const [named, nobodysName] of namings(operation, input, who)) {
      const said = await refusedAlike(as, named, nobodysName);
      expect(said.status, said.text).toBe(403);
      expect(said.text).not.toContain(mark);
    }
    const unnamed = await call(as, random);
    expect(unnamed.text).not.toContain(mark);
    // What is about the user who calls may be done already.
    expect([200, 403, 404, ...(ofUsers ? [409] : [])]).toContain(unnamed.status);
  });
});

describe.each(scoped)('$id over $transport', ({ transport, ...served }) => {
  test('the owner without the scope is refused, whatever the ids', async () => {
    const { operation } = served;
    if (operation.scope === null || operation.scope === 'public') throw new Error('the operation has no scope');
    const key = await keyWith(server, OWNER, allScopesBut(operation.scope));
    await server.call('GET', '/v1/service-accounts/none', { as: { key } });
    const input = await validInput(server, operation);
    const before = await committed();
    const said = await callOver(transport, server, served, { input, as: { key } });
    const random = withRandomIds(operation, input);
    expect(await callOver(transport, server, served, { input: random, as: { key } })).toEqual(said);
    expect(said.status, said.text).toBe(403);
    expect(said.text).toContain(operation.scope);
    expect(await committed()).toEqual(before);
  });
});

test('operations that ask for no credentials are few, and look at none', async () => {
  const open = cases.filter(({ operation }) => operation.scope === 'public');
  expect(new Set(open.map(({ id }) => id))).toEqual(new Set(['register_user']));
  for (const { transport, ...served } of open) {
    const input = await validInput(server, served.operation);
    const said = await callOver(transport, server, served, { input, as: strangers.revoked });
    expect(said.status, said.text).toBe(200);
  }
});

test('a commit is noticed', async () => {
  const before = await committed();
  await server.ok('POST', '/v1/service-accounts', { as: server.admin, body: { name: 'seen' } });
  expect(await committed()).not.toEqual(before);
});

test('every fixture belongs to an operation', () => {
  const known = new Set(OPERATIONS.map(({ operation }) => operation.operationId));
  expect(Object.keys(FIXTURES).filter((id) => !known.has(id))).toEqual([]);
});

/**
 * The same call with ids that nobody has, of the same form. A tenant is no secret to its own sub-tenants: for a sibling
 * the tenant's id stays. A kind of manifests is nobody's.
 */
function withRandomIds(operation: Operation, input: Input, who?: Stranger): Input {
  const path = Object.fromEntries(
    Object.entries(input.path ?? {}).map(([name, id]) => [
      name,
      name === 'kind' || (name === 'tenant_id' && who === 'sibling') ? id : nobodys(id),
    ]),
  );
  return { ...input, path };
}

/** The call, naming the owner's tenant or sub-tenant where the operation can name one; and the same naming nobody's. */
function namings(operation: Operation, input: Input, who: Stranger): [Input, Input][] {
  const pairs: [Input, Input][] = [];
  const named = who === 'sibling' ? OWNER.subTenantId : OWNER.tenantId;
  const nobody = 'nobodys';
  const query = who === 'sibling' ? 'sub_tenant_id' : 'tenant_id';
  const field = who === 'sibling' ? 'subTenantId' : 'tenantId';
  if (operation.query && query in operation.query.shape) {
    pairs.push([
      { ...input, query: { ...input.query, [query]: named } },
      { ...input, query: { ...input.query, [query]: nobody } },
    ]);
  }
  const body = input.body as Record<string, unknown> | undefined;
  if (operation.body && body && operation.body.safeParse({ ...body, [field]: named }).success) {
    const accepts = !operation.body.safeParse({ ...body, noSuchField: named }).success;
    if (accepts)
      pairs.push([
        { ...input, body: { ...body, [field]: named } },
        { ...input, body: { ...body, [field]: nobody } },
      ]);
  }
  return pairs;
}
