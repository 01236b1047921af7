import { createHash } from 'node:crypto';
import * as contract from '@quartermaster/contracts/manifests.ts';
import { beforeAll, expect, test } from 'vitest';
import { accountWithKey, unique } from '../support/people.ts';
import type { Body, Credential } from '../support/server.ts';
import { auditOf, checkCoverageAfterAll, type Endpoints, expectInvalid, expectProblem, serverFor } from './harness.ts';
import { expectFilters, expectOwnCursorsOnly, expectStablePages, idsOf } from './lists.ts';

let server: Endpoints;
async function callerIn(tenantId: string, subTenantId?: string): Promise<{ key: string; id: string }> {
  return accountWithKey(server, { tenantId, subTenantId });
}
beforeAll(async () => {
  server = await serverFor(contract);
});
checkCoverageAfterAll(() => server);

const PATH = '/v1/manifests';

const publish = (as: Credential, body: object = {}): Promise<Body> =>
  server.ok('POST', PATH, { as, body: { name: unique('manifest'), kind: 'agent', spec: {}, ...body } });

test('create_manifest answers version 1 with the digest of the canonical content', async () => {
  const as = await callerIn('create-1');
  const declares = [{ provider: 'openai', kind: 'model', name: 'gpt-5' }];
  const spec = { 'x-z': 1.0, declares, 'x-a': { é: '€', b: null } };
  const manifest = await publish(as, { name: 'support', spec });
  expect(manifest).toMatchObject({
    tenantId: 'create-1',
    subTenantId: null,
    name: 'support',
    kind: 'agent',
    version: 1,
    status: 'active',
    spec,
    createdBy: `service_account:create-1/${as.id}`,
  });
  const canonical =
    '{"declares":[{"kind":"model","name":"gpt-5","provider":"openai"}],"x-a":{"b":null,"é":"€"},"x-z":1}';
  expect(manifest.digest).toBe(`sha256:${createHash('sha256').update(canonical).digest('hex')}`);
  expect(manifest.id).toMatch(/^man_/);
  expect(await server.ok('GET', `${PATH}/${manifest.id}`, { as })).toEqual(manifest);
  const [event, ...others] = await auditOf(server, { target_id: manifest.id });
  expect(others).toEqual([]);
  expect(event).toMatchObject({ operation: 'create_manifest', changedFields: ['kind', 'name', 'spec'] });
});

test('repeated content answers the same record; other content becomes the next version', async () => {
  const as = await callerIn('versions-1');
  const name = unique('manifest');
  const first = await publish(as, { name, spec: { 'x-a': 1, 'x-b': 2 } });
  server.travel(1000);
  expect(await publish(as, { name, spec: { 'x-b': 2, 'x-a': 1.0 } })).toEqual(first);
  expect(await auditOf(server, { operation: 'create_manifest', target_id: first.id })).toHaveLength(1);
  const second = await publish(as, { name, spec: { 'x-a': 2 } });
  expect(second).toMatchObject({ version: 2, status: 'active' });
  expect((await server.ok('GET', `${PATH}/${first.id}`, { as })).status).toBe('superseded');
  const third = await publish(as, { name, spec: { 'x-a': 1, 'x-b': 2 } });
  expect(third).toMatchObject({ version: 3, status: 'active', digest: first.digest });
  expect(third.id).not.toBe(first.id);
  const [superseded] = await auditOf(server, { target_id: first.id });
  expect(superseded).toMatchObject({ operation: 'create_manifest', changedFields: ['status'] });
});

test('versions are counted for each name, kind and place, and the number of a deleted version is not used again', async () => {
  const as = await callerIn('versions-2');
  await callerIn('versions-2', 'eu');
  const name = unique('manifest');
  const first = await publish(as, { name });
  expect((await publish(as, { name, kind: 'gateway' })).version).toBe(1);
  expect((await publish(as, { name, subTenantId: 'eu' })).version).toBe(1);
  await server.ok('DELETE', `${PATH}/${first.id}`, { as });
  const again = await publish(as, { name });
  expect(again).toMatchObject({ version: 2, status: 'active' });
});

test('create_manifest refuses members that the kind does not have, at their place inside spec', async () => {
  const as = await callerIn('spec-1');
  const allow = (entry: object) => ({ allow: [{ provider: 'openai' }, entry] });
  const rows: [string, object, { loc: (string | number)[]; type: string }][] = [
    ['gateway', { alow: [] }, { loc: ['alow'], type: 'extra_forbidden' }],
    ['agent', { allow: [] }, { loc: ['allow'], type: 'extra_forbidden' }],
    ['agent', { channel: { type: 'web' } }, { loc: ['channel'], type: 'extra_forbidden' }],
    ['gateway', { channel: { type: 'web' } }, { loc: ['channel'], type: 'extra_forbidden' }],
    ['agent', { declares: [{ provider: 'a', kind: 'tool' }] }, { loc: ['declares', 0, 'name'], type: 'missing' }],
    [
      'agent',
      { declares: [{ provider: 'a', kind: 'tool', name: '*' }] },
      { loc: ['declares', 0, 'name'], type: 'value_error' },
    ],
    [
      'agent',
      { declares: [{ provider: 'a', kind: 'tool', name: 'a\u200b' }] },
      { loc: ['declares', 0, 'name'], type: 'value_error' },
    ],
    ['channel', { channel: {} }, { loc: ['channel', 'type'], type: 'missing' }],
    ['channel', { channel: { type: 'web', room: 1 } }, { loc: ['channel', 'room'], type: 'extra_forbidden' }],
    ['gateway', { allow: 'all' }, { loc: ['allow'], type: 'list_type' }],
    ['gateway', { allow: null }, { loc: ['allow'], type: 'list_type' }],
    ['gateway', allow({}), { loc: ['allow', 1, 'provider'], type: 'missing' }],
    ['gateway', allow({ provider: 'x', kind: 'car' }), { loc: ['allow', 1, 'kind'], type: 'enum' }],
    ['gateway', allow({ provider: 'x', name: 'y' }), { loc: ['allow', 1, 'name'], type: 'extra_forbidden' }],
    [
      'channel',
      allow({ provider: 'x', names: ['a*b'] }),
      { loc: ['allow', 1, 'names', 0], type: 'string_pattern_mismatch' },
    ],
    ['channel', { owner: 7 }, { loc: ['owner'], type: 'string_type' }],
  ];
  for (const [kind, spec, { loc, type }] of rows) {
    const answered = await server.call('POST', PATH, { as, body: { name: 'x', kind, spec } });
    expectInvalid(answered, { loc: ['body', 'spec', ...loc], type });
  }
  const { body } = await server.call('POST', PATH, { as, body: { name: 'x', kind: 'agent', spec: { allow: [] } } });
  expect(body.detail[0].ctx).toEqual({ allowed: ['description', 'owner', 'declares', 'channels'] });
  expect(await idsOf(server, { path: PATH, as })).toEqual([]);
});

test('get_manifest_schema answers the schema of what create_manifest accepts', async () => {
  const as = await callerIn('spec-5');
  const schema = await server.ok('GET', `${PATH}/schema/gateway`, { as });
  expect(Object.keys(schema.properties)).toEqual(['description', 'owner', 'declares', 'allow']);
});

test('create_manifest accepts members that begin with x-, and stores a spec unchanged', async () => {
  const as = await callerIn('spec-2');
  const spec = { 'x-team': { size: 3 }, 'x-': null, channel: { type: 'slack', 'x-room': '#support' }, allow: [] };
  expect((await publish(as, { kind: 'channel', spec })).spec).toEqual(spec);
});

test('create_manifest refuses an unknown kind, and a spec of more than 256 KiB', async () => {
  const as = await callerIn('spec-3');
  const kind = await server.call('POST', PATH, { as, body: { name: 'x', kind: 'fleet', spec: { alow: [] } } });
  expectInvalid(kind, { loc: ['body', 'kind'], type: 'enum' });
  const spec = { 'x-a': 'a'.repeat(256 * 1024) };
  const large = await server.call('POST', PATH, { as, body: { name: 'x', kind: 'agent', spec } });
  expectInvalid(large, { loc: ['body', 'spec'], type: 'value_error' });
});

test('a spec that was stored before specs had schemas is read as it is', async () => {
  const as = await callerIn('spec-4');
  const { id } = await publish(as, { kind: 'gateway' });
  const spec = { alow: [], description: 7 };
  const { db } = server.services;
  await db
    .updateTable('manifests')
    .set({ spec: JSON.stringify(spec) })
    .where('id', '=', id)
    .execute();
  expect((await server.ok('GET', `${PATH}/${id}`, { as })).spec).toEqual(spec);
});

test('create_manifest creates neither tenant nor sub-tenant', async () => {
  const as = await callerIn('place-1');
  const body = { name: 'x', kind: 'agent', spec: {} };
  const sub = await server.call('POST', PATH, { as, body: { ...body, subTenantId: 'nowhere' } });
  expectInvalid(sub, { loc: ['body', 'subTenantId'], type: 'value_error' });
  const tenant = await server.call('POST', PATH, { as: server.admin, body: { ...body, tenantId: 'nowhere' } });
  expectInvalid(tenant, { loc: ['body', 'tenantId'], type: 'value_error' });
});

test('a manifest that is missing or out of reach is 404', async () => {
  const { id } = await publish(await callerIn('hidden-1'));
  const stranger = await callerIn('hidden-2');
  for (const method of ['GET', 'DELETE']) {
    expectProblem(await server.call(method, `${PATH}/${id}`, { as: stranger }), 404, 'manifest_not_found');
    expectProblem(await server.call(method, `${PATH}/none`, { as: server.admin }), 404, 'manifest_not_found');
  }
});

test('delete_manifest answers the final record once, and only status=deleted lists it', async () => {
  const as = await callerIn('delete-1');
  const manifest = await publish(as);
  const path = `${PATH}/${manifest.id}`;
  const deleted = await server.ok('DELETE', path, { as });
  expect(deleted).toEqual({ ...manifest, status: 'deleted', updatedAt: expect.any(String) });
  for (const method of ['DELETE', 'GET']) {
    expectProblem(await server.call(method, path, { as }), 404, 'manifest_not_found');
  }
  expect(await idsOf(server, { path: PATH, as })).toEqual([]);
  expect(await idsOf(server, { path: PATH, as }, { status: 'deleted' })).toEqual([manifest.id]);
  const [event] = await auditOf(server, { operation: 'delete_manifest', target_id: manifest.id });
  expect(event).toMatchObject({ changedFields: ['status'], tenantId: 'delete-1' });
});

test('delete_manifest answers 409 while an active gateway uses the manifest, and works once the gateway is disabled', async () => {
  const as = await callerIn('in-use-1');
  const { id: manifestId } = await publish(as, { kind: 'gateway' });
  const gateway = await server.ok('POST', '/v1/gateways', { as, body: { name: 'edge', manifestId } });
  expectProblem(await server.call('DELETE', `${PATH}/${manifestId}`, { as }), 409, 'manifest_in_use');
  await server.ok('PUT', `/v1/gateways/${gateway.id}`, { as, body: { status: 'disabled' } });
  await server.ok('DELETE', `${PATH}/${manifestId}`, { as });
});

test('list_manifests filters by each of its parameters, and a value that matches nothing finds nothing', async () => {
  const as = await callerIn('list-1');
  await callerIn('list-1', 'eu');
  const old = await publish(as, { name: 'One', spec: { 'x-v': 1 } });
  const one = await publish(as, { name: 'One', spec: { 'x-v': 2 } });
  const two = await publish(as, { name: 'Two', kind: 'channel', subTenantId: 'eu' });
  const all = [old.id, one.id, two.id];
  const rows: [Record<string, string>, string[]][] = [
    [{}, all],
    [{ tenant_id: '', sub_tenant_id: '' }, all],
    [{ tenant_id: 'list-1' }, all],
    [{ sub_tenant_id: 'eu' }, [two.id]],
    [{ name: 'One' }, [old.id, one.id]],
    [{ name: 'one' }, []],
    [{ kind: 'channel' }, [two.id]],
    [{ status: 'active' }, [one.id, two.id]],
    [{ status: 'superseded' }, [old.id]],
  ];
  await expectFilters(server, { path: PATH, as }, rows);
});

test('list_manifests walks all pages while manifests are published', async () => {
  const as = await callerIn('pages-1');
  await expectStablePages(server, { path: PATH, as }, async () => (await publish(as)).id);
});

test('a cursor of list_manifests works only for its own query and caller', async () => {
  const as = await callerIn('cursor-1');
  for (let count = 0; count < 3; count += 1) await publish(as);
  await expectOwnCursorsOnly(
    server,
    { path: PATH, filter: { tenant_id: 'cursor-1' }, as },
    { filter: { kind: 'agent' }, list: { path: '/v1/gateways' }, principal: server.admin },
  );
});
