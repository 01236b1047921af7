import * as contract from '@quartermaster/contracts/tenants.ts';
import { beforeAll, expect, test } from 'vitest';
import { accountWithKey, memberWithToken, unique } from '../support/people.ts';
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
import { expectOwnCursorsOnly, expectStablePages, idsOf } from './lists.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor(contract);
});
checkCoverageAfterAll(() => server);

const PATH = '/v1/tenants';

const create = (body: object): Promise<Body> => server.ok('POST', PATH, { as: server.admin, body });

test('create_tenant stores the given fields, and generates an id and defaults for the others', async () => {
  const settings = { captureContent: true, spanRetentionDays: 30, recordRetentionDays: 90, usageRetentionDays: 7 };
  const given = { id: unique('tenant'), displayName: 'The tenant', settings };
  expect(await create(given)).toMatchObject({ ...given, subTenantIds: [] });
  const bare = await create({});
  const none = { captureContent: false, spanRetentionDays: null, recordRetentionDays: null, auditReads: false };
  expect(bare).toMatchObject({ displayName: null, settings: { ...none, usageRetentionDays: 400 } });
  expect(bare.id).toMatch(/^ten_/);
  expect(await server.ok('GET', `${PATH}/${bare.id}`, { as: server.admin })).toEqual(bare);
  const [event, ...others] = await auditOf(server, { target_id: given.id });
  expect(others).toEqual([]);
  expect(event).toMatchObject({ operation: 'create_tenant', tenantId: given.id, target: { type: 'tenant' } });
});

test('create_tenant answers 409 for an id that is in use, and only platform administrators may call it', async () => {
  const { id } = await create({ id: unique('tenant') });
  expectProblem(await server.call('POST', PATH, { as: server.admin, body: { id } }), 409, 'id_taken');
  const owner = await accountWithKey(server, { tenantId: id });
  const refused = await server.call('POST', PATH, { as: { key: owner.key }, body: {} });
  expectProblem(refused, 403, 'platform_administrator_required');
});

test('a caller sees only their tenant, with the sub-tenants in reach', async () => {
  const tenantId = unique('tenant');
  const wide = await accountWithKey(server, { tenantId });
  const bound = await accountWithKey(server, { tenantId, subTenantId: 'eu' });
  await accountWithKey(server, { tenantId, subTenantId: 'us' });
  const stranger = await accountWithKey(server, { tenantId: unique('tenant') });
  const seenBy = async (key: string) => (await server.ok('GET', `${PATH}/${tenantId}`, { as: { key } })).subTenantIds;
  expect((await seenBy(wide.key)).toSorted()).toEqual(['eu', 'us']);
  expect(await seenBy(bound.key)).toEqual(['eu']);
  for (const { key } of [wide, bound]) expect(await idsOf(server, { path: PATH, as: { key } })).toEqual([tenantId]);
  for (const [method, body] of [['GET'], ['PUT', {}]] as [string, object?][]) {
    const sent = body && { body };
    const hidden = await server.call(method, `${PATH}/${tenantId}`, { as: { key: stranger.key }, ...sent });
    const missing = await server.call(method, `${PATH}/none`, { as: server.admin, ...sent });
    for (const answered of [hidden, missing]) expectProblem(answered, 404, 'tenant_not_found');
  }
});

test('update_tenant updates by presence', async () => {
  const { id } = await create({ id: unique('tenant') });
  await expectUpdatesByPresence(server, {
    path: `${PATH}/${id}`,
    as: server.admin,
    operationId: 'update_tenant',
    target: id,
    fields: { displayName: { set: 'Shown name', cleared: null } },
  });
});

test('each setting is updated by presence, and the audit event names each one that changed', async () => {
  const { id } = await create({ id: unique('tenant'), settings: { spanRetentionDays: 7 } });
  const put = async (settings: object) => {
    server.travel(1000);
    return server.ok('PUT', `${PATH}/${id}`, { as: server.admin, body: { settings } });
  };
  const rows: [object, object, string[]][] = [
    [{ captureContent: true }, { captureContent: true, spanRetentionDays: 7 }, ['settings.captureContent']],
    [{ spanRetentionDays: null }, { captureContent: true, spanRetentionDays: null }, ['settings.spanRetentionDays']],
    [
      { captureContent: false, spanRetentionDays: 3650 },
      { captureContent: false, spanRetentionDays: 3650 },
      ['settings.captureContent', 'settings.spanRetentionDays'],
    ],
    [
      { recordRetentionDays: 90 },
      { captureContent: false, spanRetentionDays: 3650, recordRetentionDays: 90 },
      ['settings.recordRetentionDays'],
    ],
    [
      { auditReads: true },
      { captureContent: false, spanRetentionDays: 3650, recordRetentionDays: 90, auditReads: true },
      ['settings.auditReads'],
    ],
    [
      { usageRetentionDays: 30 },
      {
        captureContent: false,
        spanRetentionDays: 3650,
        recordRetentionDays: 90,
        auditReads: true,
        usageRetentionDays: 30,
      },
      ['settings.usageRetentionDays'],
    ],
    [
      { usageRetentionDays: null },
      { captureContent: false, spanRetentionDays: 3650, recordRetentionDays: 90, auditReads: true },
      ['settings.usageRetentionDays'],
    ],
  ];
  for (const [sent, settings, changedFields] of rows) {
    const updated = await put(sent);
    const defaults = { recordRetentionDays: null, usageRetentionDays: 400, auditReads: false };
    expect(updated.settings).toEqual({ ...defaults, ...settings });
    const events = await auditOf(server, { operation: 'update_tenant', target_id: id });
    expect(events[0].changedFields).toEqual(changedFields);
    for (const nothing of [sent, {}]) expect(await put(nothing)).toEqual(updated);
    expect(await auditOf(server, { operation: 'update_tenant', target_id: id })).toHaveLength(events.length);
  }
});

test.for([
  [{ captureContent: null }, 'captureContent', 'bool_type'],
  [{ spanRetentionDays: 0 }, 'spanRetentionDays', 'greater_than_equal'],
  [{ spanRetentionDays: 3651 }, 'spanRetentionDays', 'less_than_equal'],
  [{ recordRetentionDays: 29 }, 'recordRetentionDays', 'greater_than_equal'],
  [{ recordRetentionDays: 3651 }, 'recordRetentionDays', 'less_than_equal'],
  [{ usageRetentionDays: 0 }, 'usageRetentionDays', 'greater_than_equal'],
  [{ usageRetentionDays: 3651 }, 'usageRetentionDays', 'less_than_equal'],
  [{ other: 1 }, 'other', 'extra_forbidden'],
] as const)('settings of %j are refused', async ([settings, field, type]) => {
  const answered = await server.call('PUT', `${PATH}/default`, { as: server.admin, body: { settings } });
  expectInvalid(answered, { loc: ['body', 'settings', field], type });
});

test('a caller of a sub-tenant sees the tenant, and cannot change it', async () => {
  const tenantId = unique('tenant');
  const bound = await accountWithKey(server, { tenantId, subTenantId: 'eu' });
  const sent = { as: { key: bound.key }, body: { displayName: 'Ours' } };
  expectProblem(await server.call('PUT', `${PATH}/${tenantId}`, sent), 403, 'tenant_forbidden');
});

test('list_tenants walks all pages while tenants are created, and its cursors work only for their own caller', async () => {
  await expectStablePages(server, { path: PATH, as: server.admin }, async () => (await create({})).id);
  const { key } = await accountWithKey(server, { tenantId: unique('tenant') });
  await expectOwnCursorsOnly(
    server,
    { path: PATH, as: server.admin },
    { list: { path: '/v1/service-accounts/search', method: 'POST' }, principal: { key } },
  );
});

test('only a platform administrator deletes a tenant, unless an account of it is one, or the platform needs it', async () => {
  const tenantId = unique('tenant');
  const { key } = await accountWithKey(server, { tenantId });
  const owner = await memberWithToken(server, { tenantId }, 'owner');
  const remove = (id: string, as: Credential) => server.call('DELETE', `${PATH}/${id}`, { as });
  for (const as of [{ key }, { token: owner.token }]) {
    expectProblem(await remove(tenantId, as), 403, 'platform_administrator_required');
  }
  const stranger = await accountWithKey(server, { tenantId: unique('tenant') });
  expectProblem(await remove(tenantId, { key: stranger.key }), 404, 'tenant_not_found');
  expectProblem(await remove('default', server.admin), 409, 'tenant_in_use');
  const body = { tenantId, name: 'root', platformAdministrator: true };
  const { id } = await server.ok('POST', '/v1/service-accounts', { as: server.admin, body });
  expectProblem(await remove(tenantId, server.admin), 409, 'tenant_in_use');
  await server.ok('DELETE', `/v1/service-accounts/${id}?tenant_id=${tenantId}`, { as: server.admin });
  const before = await server.ok('GET', `${PATH}/${tenantId}`, { as: server.admin });
  expect(await server.ok('DELETE', `${PATH}/${tenantId}`, { as: server.admin })).toEqual(before);
});
