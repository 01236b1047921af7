import * as contract from '@quartermaster/contracts/credentials.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey } from '../support/people.ts';
import type { Body } from '../support/server.ts';
import { checkCoverageAfterAll, type Endpoints, expectFields, serverFor } from './harness.ts';
import { expectFilters, expectOwnCursorsOnly, expectStablePages, idsOf, type Listing, pageOf } from './lists.ts';

const DAY = 24 * 3_600_000;

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor(contract);
});
checkCoverageAfterAll(() => server);

const found = (filter: object = {}): Listing => ({
  method: 'POST',
  path: '/v1/credentials/search',
  filter: { ...filter },
  as: server.admin,
});
const fromNow = (milliseconds: number) => new Date(server.services.now().getTime() + milliseconds).toISOString();
const newKey = (accountId: string, body: object = {}): Promise<Body> =>
  server.ok('POST', `/v1/service-accounts/${accountId}/keys`, {
    as: server.admin,
    body: { scopes: ['providers:read'], ...body },
  });

test('search_credentials filters by each of its fields, and a value that matches nothing finds nothing', async () => {
  const tenantId = 'filters-1';
  const account = await accountWithKey(server, { tenantId });
  server.travel(60_000);
  const bound = await accountWithKey(server, { tenantId, subTenantId: 'eu' });
  server.travel(60_000);
  const soon = await newKey(account.id, { name: 'Nightly build', expiresAt: fromNow(DAY) });
  const gone = await newKey(account.id, { expiresAt: fromNow(60_000) });
  server.travel(120_000);
  const ended = await newKey(bound.id);
  await server.ok('DELETE', `/v1/service-accounts/${bound.id}/keys/${ended.id}`, { as: server.admin });
  await server.ok('PUT', '/v1/me/profile', { as: { key: bound.key }, body: {} });
  const all = [account.keyId, bound.keyId, soon.id, gone.id, ended.id];
  const rows: [Record<string, unknown>, string[]][] = [
    [{}, all],
    [{ subTenantId: 'eu' }, [bound.keyId, ended.id]],
    [{ subTenantId: '' }, all],
    [{ ids: [soon.id, 'key_none'] }, [soon.id]],
    [{ ids: [] }, []],
    [{ name: 'Nightly build' }, [soon.id]],
    [{ name: 'nightly build' }, []],
    [{ query: 'LY BU' }, [soon.id]],
    [{ query: soon.id.slice(5) }, [soon.id]],
    [{ query: soon.prefix }, [soon.id]],
    [{ query: 'no such text' }, []],
    [{ kind: 'api_key' }, all],
    [{ kind: 'provider_secret' }, []],
    [{ status: 'active' }, [account.keyId, bound.keyId]],
    [{ status: 'expiring' }, [soon.id]],
    [{ status: 'expired' }, [gone.id]],
    [{ status: 'revoked' }, [ended.id]],
    [{ ownerId: bound.id }, [bound.keyId, ended.id]],
    [{ ownerId: 'nobody' }, []],
    [{ providerId: account.id }, []],
    [{ expiresBefore: fromNow(2 * DAY) }, [soon.id, gone.id]],
    [{ expiresBefore: fromNow(60_000) }, [gone.id]],
    [{ unusedSince: soon.createdAt }, [account.keyId]],
    [
      { createdAfter: soon.createdAt, createdBefore: ended.createdAt },
      gone.createdAt > soon.createdAt ? [gone.id] : [],
    ],
    [{ createdBefore: soon.createdAt }, [account.keyId, bound.keyId]],
  ];
  await expectFilters(server, found({ tenantId }), rows);
});

describe('search_credentials by expiry', () => {
  test('lists the credentials that work and expire, those that expire next first, page by page', async () => {
    const tenantId = 'expiry-1';
    const account = await accountWithKey(server, { tenantId });
    const ended = await newKey(account.id, { expiresAt: fromNow(60_000) });
    server.travel(120_000);
    const expiresAt = fromNow(3 * DAY);
    const keys = {
      month: await newKey(account.id, { expiresAt: fromNow(30 * DAY) }),
      day: await newKey(account.id, { expiresAt: fromNow(DAY) }),
      revoked: await newKey(account.id, { expiresAt: fromNow(2 * DAY) }),
      one: await newKey(account.id, { expiresAt }),
      two: await newKey(account.id, { expiresAt, name: 'Nightly build' }),
    };
    await server.ok('DELETE', `/v1/service-accounts/${account.id}/keys/${keys.revoked.id}`, { as: server.admin });
    // Another tenant's key would be the first.
    await newKey((await accountWithKey(server, { tenantId: 'expiry-2' })).id, { expiresAt: fromNow(3_600_000) });
    const sorted = { ...found({ tenantId, sort: 'expires_at' }), as: { key: account.key } };
    const read = async (filter: object, limit: number) => {
      const ids: string[] = [];
      let cursor: string | null = null;
      do {
        const listing = { ...sorted, filter: { ...sorted.filter, ...filter } };
        const page: Body = await pageOf(server, listing, { limit, ...(cursor !== null && { cursor }) });
        ids.push(...page.items.map(({ id }: Body) => id));
        cursor = page.nextCursor;
      } while (cursor !== null);
      return ids;
    };
    const together: string[] = [keys.one, keys.two].map(({ id }): string => id).toSorted();
    const all = [keys.day.id, ...together, keys.month.id];
    expect(all).not.toContain(ended.id);
    for (const limit of [1, 2, 100]) expect(await read({}, limit)).toEqual(all);
    expect(await read({ expiresBefore: fromNow(7 * DAY) }, 2)).toEqual([keys.day.id, ...together]);
    expect(await read({ query: 'nightly' }, 2)).toEqual([keys.two.id]);
    expect(await read({ status: 'active' }, 2)).toEqual([keys.month.id]);
  });
});

test('search_credentials covers the reach of the caller; only platform administrators see signing keys', async () => {
  const account = await accountWithKey(server, { tenantId: 'reach-1' });
  const gateway = await server.ok('POST', '/v1/gateways', { as: { key: account.key }, body: { name: 'edge' } });
  await server.ok('POST', `/v1/gateways/${gateway.id}/sessions`, { as: { key: account.key } });
  expect(await idsOf(server, { ...found(), as: { key: account.key } })).toEqual([account.keyId]);
  const { items } = await pageOf(server, found({ kind: 'signing_key' }));
  expect(items.length).toBeGreaterThan(0);
  for (const item of items) {
    expect(item).toMatchObject({ tenantId: null, ownerType: 'platform', ownerId: null, scopes: [], prefix: null });
  }
});

test('a credential is shown with every metadata field, and without digest and secret', async () => {
  const account = await accountWithKey(server, { tenantId: 'fields-1' });
  const { items } = await pageOf(server, found({ ownerId: account.id }));
  expectFields(
    items[0],
    'id kind name ownerType ownerId prefix scopes status expiresAt lastUsedAt createdBy revokedAt rotationCount',
  );
  expectFields(items[0], 'tenantId subTenantId createdAt updatedAt');
  expect(JSON.stringify(items)).not.toMatch(/digest|secret/i);
});

test('search_credentials walks all pages while keys are created', async () => {
  const { id } = await accountWithKey(server, { tenantId: 'pages-1' });
  await expectStablePages(server, found({ tenantId: 'pages-1' }), async () => (await newKey(id)).id);
});

test('a cursor of search_credentials works only for its own query and caller', async () => {
  const { id, key } = await accountWithKey(server, { tenantId: 'cursor-1' });
  for (let count = 0; count < 3; count += 1) await newKey(id);
  await expectOwnCursorsOnly(server, found({ tenantId: 'cursor-1' }), {
    filter: { kind: 'api_key' },
    list: { method: 'POST', path: '/v1/service-accounts/search', filter: { tenantId: 'cursor-1' } },
    principal: { key },
  });
});
