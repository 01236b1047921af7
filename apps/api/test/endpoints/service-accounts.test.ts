import * as contract from '@quartermaster/contracts/service-accounts.ts';
import { beforeAll, expect, test } from 'vitest';
import { accountWithKey, joinPlace, memberWithToken, unique } from '../support/people.ts';
import type { Body, Credential } from '../support/server.ts';
import {
  auditOf,
  checkCoverageAfterAll,
  type Endpoints,
  expectInvalid,
  expectProblem,
  expectUpdatesByPresence,
  serverFor,
} from './harness.ts';
import { expectFilters, expectOwnCursorsOnly, expectStablePages, idsOf, type Listing } from './lists.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor(contract);
});
checkCoverageAfterAll(() => server);

const PATH = '/v1/service-accounts';

function create(body: object, as: Credential = server.admin): Promise<Body> {
  return server.ok('POST', PATH, { as, body: { name: 'bot', ...body } });
}

const found = (filter: object): Listing => ({
  method: 'POST',
  path: `${PATH}/search`,
  filter: { ...filter },
  as: server.admin,
});

test('create_service_account stores the given fields, and generates an id and defaults for the others', async () => {
  const given = {
    id: unique('given'),
    name: 'Bot',
    displayName: 'The bot',
    description: 'Answers',
    status: 'disabled',
    metadata: { team: 'a' },
    tenantId: 'create-1',
    subTenantId: 'eu',
  };
  const keys = { keyCount: 0, activeKeyCount: 0, soonestKeyExpiryAt: null, lastUsedAt: null, telemetry: null };
  expect(await create(given)).toMatchObject({ ...given, ...keys, platformAdministrator: false });
  const bare = await create({ tenantId: 'create-1' });
  const defaults = { displayName: null, description: null, status: 'active', metadata: {}, subTenantId: null };
  expect(bare).toMatchObject({ ...defaults, ...keys });
  expect(bare.id).toMatch(/^sa_/);
  const { alsoCreated, ...account } = bare;
  expect(alsoCreated).toEqual([]);
  expect(await server.ok('GET', `${PATH}/${bare.id}`, { as: server.admin })).toEqual(account);
});

test('create_service_account answers 409 for an id that was used before in the tenant or any of its sub-tenants', async () => {
  const { id } = await create({ id: unique('taken'), tenantId: 'taken-1' });
  const again = (body: object) => server.call('POST', PATH, { as: server.admin, body: { id, name: 'again', ...body } });
  expectProblem(await again({ tenantId: 'taken-1' }), 409, 'id_taken');
  expectProblem(await again({ tenantId: 'taken-1', subTenantId: 'eu' }), 409, 'id_taken');
  await server.ok('DELETE', `${PATH}/${id}?tenant_id=taken-1`, { as: server.admin });
  expectProblem(await again({ tenantId: 'taken-1' }), 409, 'id_taken');
  expect((await again({ tenantId: 'taken-2' })).status).toBe(200);
});

test('create_service_account creates tenants for platform administrators, and sub-tenants for callers of a whole tenant', async () => {
  const tenantId = unique('made');
  await create({ tenantId, subTenantId: 'eu' });
  const tenant = await server.ok('GET', `/v1/tenants/${tenantId}`, { as: server.admin });
  expect(tenant.subTenantIds).toEqual(['eu']);
  const targets: string[] = (await auditOf(server, { tenant_id: tenantId })).map((event) => event.target.type);
  expect(targets.toSorted()).toEqual(['service_account', 'sub_tenant', 'tenant']);
  const wide = await accountWithKey(server, { tenantId });
  expect(await create({ subTenantId: 'us' }, { key: wide.key })).toMatchObject({ tenantId, subTenantId: 'us' });
  const bound = await accountWithKey(server, { tenantId, subTenantId: 'eu' });
  expect(await create({}, { key: bound.key })).toMatchObject({ tenantId, subTenantId: 'eu' });
  const refused: [Credential, object][] = [
    [{ key: bound.key }, { subTenantId: 'apac' }],
    [{ key: wide.key }, { tenantId: unique('never') }],
  ];
  for (const [as, body] of refused) {
    expectProblem(await server.call('POST', PATH, { as, body: { name: 'x', ...body } }), 403, 'tenant_forbidden');
  }
});

test('create_service_account says whether it created a tenant or sub-tenant', async () => {
  const tenantId = unique('said');
  const made = async (body: object) => (await create({ tenantId, ...body })).alsoCreated;
  expect(await made({ subTenantId: 'eu' })).toEqual(['tenant', 'sub_tenant']);
  expect(await made({ subTenantId: 'eu' })).toEqual([]);
  expect(await made({ subTenantId: 'us' })).toEqual(['sub_tenant']);
  expect(await made({})).toEqual([]);
  expect(await made({ tenantId: unique('said'), createTenant: 'if_missing' })).toEqual(['tenant']);
  expect(await made({ tenantId: unique('said'), createTenant: null })).toEqual(['tenant']);
});

test('createTenant says whether the tenant must be new or must exist; otherwise nothing is created', async () => {
  const tenantId = unique('demanded');
  const ask = (body: object, as: Credential = server.admin) =>
    server.call('POST', PATH, { as, body: { name: 'bot', tenantId, ...body } });
  expectInvalid(await ask({ createTenant: 'never' }), { loc: ['body', 'tenantId'], type: 'value_error' });
  expect((await ask({ createTenant: 'always' })).body.alsoCreated).toEqual(['tenant']);
  expectProblem(await ask({ createTenant: 'always' }), 409, 'tenant_exists');
  expectProblem(await ask({ createTenant: 'always', subTenantId: 'eu' }), 409, 'tenant_exists');
  const missing = await ask({ createTenant: 'never', subTenantId: 'eu' });
  expectInvalid(missing, { loc: ['body', 'subTenantId'], type: 'value_error' });
  expect((await ask({ createTenant: 'never' })).body.alsoCreated).toEqual([]);
  const { subTenantIds } = await server.ok('GET', `/v1/tenants/${tenantId}`, { as: server.admin });
  expect(subTenantIds).toEqual([]);

  const deleted = unique('deleted');
  await ask({ tenantId: deleted });
  await server.ok('DELETE', `/v1/tenants/${deleted}`, { as: server.admin });
  expectProblem(await ask({ tenantId: deleted }), 409, 'tenant_deleted');

  const { key } = await accountWithKey(server, { tenantId });
  expectProblem(await ask({ createTenant: 'always' }, { key }), 409, 'tenant_exists');
  const foreign = await ask({ createTenant: 'always', tenantId: 'default' }, { key });
  expectProblem(foreign, 403, 'tenant_forbidden');
  const events = await auditOf(server, { tenant_id: tenantId, operation: 'create_service_account' });
  expect(events.filter(({ target }) => target.type === 'tenant')).toHaveLength(1);
  expect(events.flatMap(({ changedFields }) => changedFields)).not.toContain('createTenant');
});

test('a user with several memberships has to name the tenant; a platform administrator writes to their own by default', async () => {
  expect((await create({})).tenantId).toBe('default');
  const one = await accountWithKey(server, { tenantId: 'several-1' });
  await accountWithKey(server, { tenantId: 'several-2' });
  expect((await create({}, { key: one.key })).tenantId).toBe('several-1');
  const user = await memberWithToken(server, { tenantId: 'several-1' }, 'owner');
  const { token } = user;
  expect((await create({}, { token })).tenantId).toBe('several-1');
  await joinPlace(server, user, { place: { tenantId: 'several-2' }, role: 'owner' });
  const unnamed = await server.call('POST', PATH, { as: { token }, body: { name: 'x' } });
  expectInvalid(unnamed, { loc: ['body', 'tenantId'], type: 'missing' });
  expect((await create({ tenantId: 'several-2' }, { token })).tenantId).toBe('several-2');
});

test('an id that exists in several tenants is 409 unless tenant_id selects one', async () => {
  const id = unique('twin');
  for (const tenantId of ['twin-1', 'twin-2']) await create({ id, tenantId });
  const calls: [string, string, object?][] = [
    ['GET', ''],
    ['PUT', '', { displayName: 'One' }],
    ['POST', '/disable'],
    ['POST', '/enable'],
    ['DELETE', ''],
  ];
  for (const [method, end, body] of calls) {
    const sent = { as: server.admin, ...(body && { body }) };
    expectProblem(await server.call(method, `${PATH}/${id}${end}`, sent), 409, 'ambiguous_id');
    const record = await server.ok(method, `${PATH}/${id}${end}?tenant_id=twin-2`, sent);
    expect(record.tenantId).toBe('twin-2');
  }
  expect((await server.ok('GET', `${PATH}/${id}?tenant_id=`, { as: server.admin })).displayName).toBeNull();
});

test('an account that is missing, out of reach, or of another sub-tenant is 404', async () => {
  const { id } = await create({ id: unique('hidden'), tenantId: 'hidden-1', subTenantId: 'eu' });
  const stranger = await accountWithKey(server, { tenantId: 'hidden-2' });
  const calls: [string, string, object?][] = [
    ['GET', ''],
    ['PUT', '', {}],
    ['POST', '/disable'],
    ['POST', '/enable'],
    ['DELETE', ''],
  ];
  for (const [method, end, body] of calls) {
    const as = (who: Credential) => ({ as: who, ...(body && { body }) });
    const missing = await server.call(method, `${PATH}/nobody${end}`, as(server.admin));
    expectProblem(missing, 404, 'service_account_not_found');
    const hidden = await server.call(method, `${PATH}/${id}${end}`, as({ key: stranger.key }));
    expectProblem(hidden, 404, 'service_account_not_found');
    expect(hidden.body.detail).toBe(missing.body.detail);
  }
  const elsewhere = await server.call('GET', `${PATH}/${id}?tenant_id=hidden-1&sub_tenant_id=us`, { as: server.admin });
  expectProblem(elsewhere, 404, 'service_account_not_found');
});

test('update_service_account updates by presence', async () => {
  const { id } = await create({ id: unique('updated'), tenantId: 'update-1' });
  await expectUpdatesByPresence(server, {
    path: `${PATH}/${id}?tenant_id=update-1`,
    as: server.admin,
    operationId: 'update_service_account',
    target: id,
    fields: {
      displayName: { set: 'Shown name', cleared: null },
      description: { set: 'Describes it', cleared: null },
      metadata: { set: { nested: { list: [1, null] } }, cleared: {} },
    },
  });
});

test('update_service_account refuses the fields that only a creation sets', async () => {
  const { id } = await create({ id: unique('fixed'), tenantId: 'update-2' });
  for (const field of ['id', 'name', 'tenantId', 'subTenantId', 'status', 'platformAdministrator']) {
    const answered = await server.call('PUT', `${PATH}/${id}`, { as: server.admin, body: { [field]: 'x' } });
    expectInvalid(answered, { loc: ['body', field], type: 'extra_forbidden' });
  }
});

test('disabling ends keys and sessions at once, enabling restores only the keys, and repeating changes nothing', async () => {
  const account = await accountWithKey(server, { tenantId: 'ends-1' });
  const as = { key: account.key };
  const gateway = await server.ok('POST', '/v1/gateways', { as, body: { name: 'edge' } });
  const session = await server.ok('POST', `/v1/gateways/${gateway.id}/sessions`, { as });
  const path = `${PATH}/${account.id}`;
  const disabled = await server.ok('POST', `${path}/disable`, { as: server.admin });
  expect(disabled.status).toBe('disabled');
  expectProblem(await server.call('GET', path, { as }), 401, 'credentials_invalid');
  const sessionPath = `/v1/gateways/${gateway.id}/sessions/${session.id}`;
  expect((await server.ok('GET', sessionPath, { as: server.admin })).status).toBe('revoked');
  server.travel(1000);
  expect(await server.ok('POST', `${path}/disable`, { as: server.admin })).toEqual(disabled);
  expect(await auditOf(server, { operation: 'disable_service_account', target_id: account.id })).toHaveLength(1);
  const enabled = await server.ok('POST', `${path}/enable`, { as: server.admin });
  expect(enabled.status).toBe('active');
  expect((await server.ok('GET', sessionPath, { as })).status).toBe('revoked');
  server.travel(1000);
  expect((await server.ok('POST', `${path}/enable`, { as: server.admin })).updatedAt).toBe(enabled.updatedAt);
  expect(await auditOf(server, { operation: 'enable_service_account', target_id: account.id })).toHaveLength(1);
});

test('delete_service_account answers the final record once and ends its keys; only status=deleted lists it', async () => {
  const account = await accountWithKey(server, { tenantId: 'deletes-1' });
  const path = `${PATH}/${account.id}`;
  const deleted = await server.ok('DELETE', path, { as: server.admin });
  expect(deleted).toMatchObject({ id: account.id, status: 'deleted', keyCount: 1, activeKeyCount: 0 });
  expectProblem(await server.call('DELETE', path, { as: server.admin }), 404, 'service_account_not_found');
  expectProblem(await server.call('GET', path, { as: server.admin }), 404, 'service_account_not_found');
  expectProblem(await server.call('GET', path, { as: { key: account.key } }), 401, 'credentials_invalid');
  const listing = found({ tenantId: 'deletes-1' });
  expect(await idsOf(server, listing)).toEqual([]);
  expect(await idsOf(server, listing, { status: 'deleted' })).toEqual([account.id]);
});

test('only platform administrators create, change or delete a platform administrator', async () => {
  const owner = await memberWithToken(server, { tenantId: 'default' }, 'owner');
  const as = { token: owner.token };
  const body = { name: 'root', platformAdministrator: true };
  expectProblem(await server.call('POST', PATH, { as, body }), 403, 'platform_administrator_required');
  const calls: [string, string, object?][] = [
    ['PUT', '', { displayName: 'Mine' }],
    ['POST', '/disable'],
    ['POST', '/enable'],
    ['DELETE', ''],
  ];
  for (const [method, end, sent] of calls) {
    const answered = await server.call(method, `${PATH}/bootstrap${end}`, { as, ...(sent && { body: sent }) });
    expectProblem(answered, 403, 'platform_administrator_required');
  }
  const root = await create({ id: unique('root'), platformAdministrator: true, tenantId: 'default' });
  expect(root.platformAdministrator).toBe(true);
  await server.ok('DELETE', `${PATH}/${root.id}`, { as: server.admin });
});

test('search_service_accounts filters by each of its fields, and a value that matches nothing finds nothing', async () => {
  const tenantId = 'search-1';
  const early = await create({ tenantId, id: 'search-early', name: 'Früh', metadata: { team: 'a', level: 1 } });
  server.travel(60_000);
  const late = await create({
    tenantId,
    id: 'search-late',
    displayName: '100% Late',
    metadata: { team: 'b', on: [1] },
  });
  server.travel(60_000);
  const sub = await create({ tenantId, id: 'search-sub', subTenantId: 'eu', status: 'disabled', description: 'In_EU' });
  const ids = [early, late, sub].map((account) => account.id);
  const rows: [Record<string, unknown>, string[]][] = [
    [{}, ids],
    [{ tenantId: '', query: 'search-' }, ids],
    [{ subTenantId: 'eu' }, [sub.id]],
    [{ subTenantId: '' }, ids],
    [{ ids: [early.id, sub.id, 'search-none'] }, [early.id, sub.id]],
    [{ ids: [] }, []],
    [{ name: 'Früh' }, [early.id]],
    [{ name: 'früh' }, []],
    [{ query: 'FRÜ' }, [early.id]],
    [{ query: '100%' }, [late.id]],
    [{ query: 'in_e' }, [sub.id]],
    [{ query: 'SEARCH-' }, ids],
    [{ query: 'no such text' }, []],
    [{ status: 'active' }, [early.id, late.id]],
    [{ status: 'disabled' }, [sub.id]],
    [{ metadata: { team: 'a' } }, [early.id]],
    [{ metadata: { team: 'a', level: 2 } }, []],
    [{ metadata: { level: '1' } }, []],
    [{ metadata: { on: [1] } }, [late.id]],
    [{ createdAfter: early.createdAt }, [late.id, sub.id]],
    [{ createdBefore: late.createdAt }, [early.id]],
    [{ createdAfter: early.createdAt, createdBefore: sub.createdAt }, [late.id]],
  ];
  const caller = await accountWithKey(server, { tenantId: 'search-2' });
  await expectFilters(server, found({ tenantId }), rows);
  expect(await idsOf(server, { ...found({}), as: { key: caller.key } })).toEqual([caller.id]);
});

test('search_service_accounts walks all pages while accounts are created', async () => {
  const make = async () => (await create({ tenantId: 'pages-1' })).id as string;
  await expectStablePages(server, found({ tenantId: 'pages-1' }), make);
});

test('a cursor of search_service_accounts works only for its own query and caller', async () => {
  for (let count = 0; count < 3; count += 1) await create({ tenantId: 'cursor-1' });
  const caller = await accountWithKey(server, { tenantId: 'cursor-1' });
  await expectOwnCursorsOnly(server, found({ tenantId: 'cursor-1' }), {
    filter: { name: 'bot' },
    list: { method: 'POST', path: '/v1/credentials/search', filter: { tenantId: 'cursor-1' } },
    principal: { key: caller.key },
  });
});
