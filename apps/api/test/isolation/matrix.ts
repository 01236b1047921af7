import type { Operation } from '@quartermaster/contracts/operation.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LOOPBACK } from '../inventory-sync/peers.ts';
import { OPERATIONS } from '../support/records.ts';
import { type Credential, startTestServer, type TestServer } from '../support/server.ts';
import { commitsOf } from '../support/tables.ts';
import { callOver, type Answer, type Transport } from './callers.ts';
import { FIXTURES, inputFor, newRecords, ownersCredential, validInput } from './fixtures.ts';
import { allScopesBut, type Input, keyWith, makeStrangers, missingId, OWNER, type Strangers } from './world.ts';

/** Longer than the suite takes on a busy machine, and shorter than the lifetime of tokens. */
const AHEAD_MS = 20 * 60_000;

type Stranger = 'otherTenant' | 'sibling' | 'member';

/**
 * Calls every operation of the router over one transport as every caller who must not reach the owner's records. The tests are
 * generated from the contracts: a new operation is tested at once, or fails because it has no fixture. The owner succeeds with
 * records of their own, which proves that the fixture is valid. Each stranger gets, byte for byte, the answer for ids that do not
 * exist. Another connection checks that nothing was committed.
 */
export function isolationTests(transport: Transport): void {
  let server: TestServer;
  let strangers: Strangers;
  const committed = () => commitsOf(server.services);

  beforeAll(async () => {
    server = await startTestServer(LOOPBACK, { noHousekeeping: true });
    // With a frozen clock the last use of each key is written once, and never during a test.
    // The clock is ahead of the identity provider's, so that no token is issued in its future.
    server.freeze(AHEAD_MS);
    strangers = await makeStrangers(server);
    for (const as of Object.values(strangers)) await server.call('GET', '/v1/providers', { as });
  });

  afterAll(() => server.stop());

  /** The owner's records by operation. All refused callers share them, since a refused call changes nothing. */
  const recordsOf = new Map<Operation, Promise<Record<string, string>>>();

  /** A call that would succeed as the owner. */
  async function guardedInput(operation: Operation): Promise<Input> {
    const records = recordsOf.get(operation) ?? newRecords(server, operation);
    recordsOf.set(operation, records);
    return inputFor(operation, await records);
  }

  const cases = OPERATIONS.map((served) => ({ ...served, id: served.operation.operationId }));
  const guarded = cases.filter(({ operation }) => operation.scope !== 'public');
  const scoped = guarded.filter(({ operation }) => operation.scope !== null);

  describe.each(guarded)(`$id over ${transport}`, (served) => {
    const { operation } = served;
    const call = (as: Credential, input: Input) => callOver(transport, server, served, { input, as });
    const ofUsers = operation.errors.includes('user_required');
    /** Calls with the owner's ids and with ids that do not exist. Expects the same answer for both, and no commit. */
    const refusedAlike = async (as: Credential, real: Input, random: Input): Promise<Answer> => {
      const before = await committed();
      const answered = await call(as, real);
      expect(await call(as, random)).toEqual(answered);
      expect(await committed()).toEqual(before);
      return answered;
    };

    test('the owner succeeds', async () => {
      const answered = await call(await ownersCredential(server, operation), await validInput(server, operation));
      expect(answered.status, answered.text).toBe(200);
    });

    test('a request without credentials is refused alike for all ids', async () => {
      const input = await guardedInput(operation);
      expect((await refusedAlike(null, input, withRandomIds(operation, input))).status).toBe(401);
    });

    test.each(['revoked', 'disabled'] as const)(
      'the key of the %s account is refused alike for all ids',
      async (who) => {
        const input = await guardedInput(operation);
        expect((await refusedAlike(strangers[who], input, withRandomIds(operation, input))).status).toBe(401);
      },
    );

    test.each([
      ['a sub-tenant with the same id in another tenant', 'otherTenant', OWNER.tenantId],
      ["another tenant's owner, a user with a token,", 'member', OWNER.tenantId],
      ['a sibling sub-tenant', 'sibling', OWNER.subTenantId],
    ] as const)('%s cannot reach records of the owner', async (_, who, mark) => {
      const as = strangers[who];
      const input = await guardedInput(operation);
      const random = withRandomIds(operation, input, who);
      if (JSON.stringify(random) !== JSON.stringify(input)) {
        const answered = await refusedAlike(as, input, random);
        // If the query has to name the sub-tenant, the request is refused for that first.
        const named = who === 'sibling' && Object.values(input.query ?? {}).includes(OWNER.subTenantId);
        expect(answered.status, answered.text).toBe(named || (ofUsers && 'key' in as) ? 403 : 404);
        expect(answered.text).not.toContain(mark);
      }
      for (const [named, missing] of namings(operation, input, who)) {
        const answered = await refusedAlike(as, named, missing);
        expect(answered.status, answered.text).toBe(403);
        expect(answered.text).not.toContain(mark);
      }
      const unnamed = await call(as, random);
      expect(unnamed.text).not.toContain(mark);
      // An operation about the calling user may have been done already (409).
      expect([200, 403, 404, ...(ofUsers ? [409] : [])]).toContain(unnamed.status);
    });
  });

  describe.each(scoped)(`$id over ${transport}`, (served) => {
    test('the owner without the scope is refused alike for all ids', async () => {
      const { operation } = served;
      if (operation.scope === null || operation.scope === 'public') throw new Error('the operation has no scope');
      const key = await keyWith(server, OWNER, allScopesBut(operation.scope));
      await server.call('GET', '/v1/service-accounts/none', { as: { key } });
      const input = await guardedInput(operation);
      const before = await committed();
      const answered = await callOver(transport, server, served, { input, as: { key } });
      const random = withRandomIds(operation, input);
      expect(await callOver(transport, server, served, { input: random, as: { key } })).toEqual(answered);
      expect(answered.status, answered.text).toBe(403);
      expect(answered.text).toContain(operation.scope);
      expect(await committed()).toEqual(before);
    });
  });

  test('only register_user needs no credentials, and it ignores them', async () => {
    const open = cases.filter(({ operation }) => operation.scope === 'public');
    expect(new Set(open.map(({ id }) => id))).toEqual(new Set(['register_user']));
    for (const served of open) {
      const input = await validInput(server, served.operation);
      const answered = await callOver(transport, server, served, { input, as: strangers.revoked });
      expect(answered.status, answered.text).toBe(200);
    }
  });

  test('the suite notices a commit', async () => {
    const before = await committed();
    await server.ok('POST', '/v1/service-accounts', { as: server.admin, body: { name: 'seen' } });
    expect(await committed()).not.toEqual(before);
  });

  test('every fixture belongs to an operation', () => {
    const known = new Set(OPERATIONS.map(({ operation }) => operation.operationId));
    expect(Object.keys(FIXTURES).filter((id) => !known.has(id))).toEqual([]);
  });
}

/**
 * The same call with ids of the same form that do not exist. The tenant's id stays for a sibling, because a tenant is no
 * secret to its own sub-tenants. The kind of a manifest is not an id.
 */
function withRandomIds(operation: Operation, input: Input, who?: Stranger): Input {
  const path = Object.fromEntries(
    Object.entries(input.path ?? {}).map(([name, id]) => [
      name,
      name === 'kind' || (name === 'tenant_id' && who === 'sibling') ? id : missingId(id),
    ]),
  );
  return { ...input, path };
}

/**
 * Pairs of calls, if the operation can name a tenant or sub-tenant: one names the owner's, the other one that does not
 * exist.
 */
function namings(operation: Operation, input: Input, who: Stranger): [Input, Input][] {
  const pairs: [Input, Input][] = [];
  const named = who === 'sibling' ? OWNER.subTenantId : OWNER.tenantId;
  const missing = 'no-such-place';
  const query = who === 'sibling' ? 'sub_tenant_id' : 'tenant_id';
  const field = who === 'sibling' ? 'subTenantId' : 'tenantId';
  if (operation.query && query in operation.query.shape) {
    pairs.push([
      { ...input, query: { ...input.query, [query]: named } },
      { ...input, query: { ...input.query, [query]: missing } },
    ]);
  }
  const body = input.body as Record<string, unknown> | undefined;
  if (operation.body && body && operation.body.safeParse({ ...body, [field]: named }).success) {
    const accepts = !operation.body.safeParse({ ...body, noSuchField: named }).success;
    if (accepts)
      pairs.push([
        { ...input, body: { ...body, [field]: named } },
        { ...input, body: { ...body, [field]: missing } },
      ]);
  }
  return pairs;
}
