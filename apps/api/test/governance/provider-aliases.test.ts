import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey, unique } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { all, chat, sendSpans } from '../telemetry/traces/sending.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const PATH = '/v1/providers';

async function newCaller() {
  const tenantId = unique('aliases');
  const as = await accountWithKey(server, { tenantId });
  const subTenant = await accountWithKey(server, { tenantId, subTenantId: 'team' });
  return { tenantId, as, subTenant };
}

const create = (as: { key: string }, body: object) => server.call('POST', PATH, { as, body: { kind: 'llm', ...body } });
const created = (as: { key: string }, body: object): Promise<Body> =>
  server.ok('POST', PATH, { as, body: { kind: 'llm', ...body } });

describe('aliases of a provider', () => {
  test('are kept as written, replaced as a whole, cleared by null, and recorded in the audit', async () => {
    const { as } = await newCaller();
    expect((await created(as, { name: 'bare' })).aliases).toEqual([]);
    const provider = await created(as, { name: 'models', aliases: ['OpenAI', 'Azure EU'] });
    const path = `${PATH}/${provider.id}`;
    const aliases = async () => (await server.ok('GET', path, { as })).aliases;
    expect(await aliases()).toEqual(['OpenAI', 'Azure EU']);
    const listed = await all(server, PATH, as);
    expect(listed.map((one) => one['aliases'])).toEqual([['OpenAI', 'Azure EU'], []]);
    await server.ok('PUT', path, { as, body: { displayName: 'Models' } });
    expect(await aliases()).toEqual(['OpenAI', 'Azure EU']);
    await server.ok('PUT', path, { as, body: { aliases: ['azure eu'] } });
    expect(await aliases()).toEqual(['azure eu']);
    const [event] = await all(server, `/v1/audit-events?target_id=${provider.id}&operation=update_provider`, as);
    expect(event).toMatchObject({ changedFields: ['aliases'] });
    await server.ok('PUT', path, { as, body: { aliases: null } });
    expect(await aliases()).toEqual([]);
  });

  test('are limited in number and length, contain no invisible characters, and differ from each other', async () => {
    const { as } = await newCaller();
    const many = Array.from({ length: 21 }, (_, index) => `alias-${index}`);
    for (const aliases of [many, ['x'.repeat(201)], [' x'], ['a\u200bb'], [''], ['Same', 'sAME'], [1], 'x']) {
      expect((await create(as, { name: unique('p'), aliases })).status, String(aliases)).toBe(422);
    }
  });

  test('are unique in their place among names and aliases, ignoring case, and free again after a delete', async () => {
    const { as, subTenant } = await newCaller();
    const first = await created(as, { name: 'first', aliases: ['Straße', 'one'] });
    const other = await created(as, { name: 'other' });
    const change = (id: string, body: object) => server.call('PUT', `${PATH}/${id}`, { as, body });
    const refused = [
      await create(as, { name: 'STRAßE' }),
      await create(as, { name: 'x', aliases: ['ONE'] }),
      await create(as, { name: 'x', aliases: ['First'] }),
      await change(other.id, { name: 'One' }),
      await change(other.id, { aliases: ['one'] }),
      await change(other.id, { aliases: ['FIRST'] }),
    ];
    for (const { status, body } of refused) expect([status, body.code]).toEqual([409, 'name_taken']);
    expect(refused[1]?.body.detail).toContain('"ONE"');
    expect((await create(subTenant, { name: 'one', aliases: ['first'], subTenantId: 'team' })).status).toBe(200);
    // A provider may swap its name with its own alias.
    const swapped = await server.ok('PUT', `${PATH}/${first.id}`, { as, body: { name: 'one', aliases: ['first'] } });
    expect(swapped).toMatchObject({ name: 'one', aliases: ['first'] });
    await server.ok('DELETE', `${PATH}/${first.id}`, { as });
    expect((await change(other.id, { aliases: ['one', 'first'] })).status).toBe(200);
  });

  test('if several requests claim the same alias at once, one succeeds', async () => {
    const { as } = await newCaller();
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) => create(as, { name: `p${index}`, aliases: ['wanted'] })),
    );
    const counts = Map.groupBy(answers, ({ status }) => status);
    expect([counts.get(200)?.length, counts.get(409)?.length]).toEqual([1, 5]);
  });

  test('work in manifests like names, and a new alias recomputes the observations', async () => {
    const { as } = await newCaller();
    const { id } = await created(as, { name: 'models' });
    await sendSpans(server, as, [chat('gpt-5-2026-01-01', { 'gen_ai.provider.name': 'models' })]);
    const spec = { declares: [{ provider: 'Corp', kind: 'model', name: 'gpt-5' }] };
    await server.ok('POST', '/v1/manifests', { as, body: { name: 'm', kind: 'agent', spec } });
    const unknown = async () => (await all(server, `${PATH}/${id}/observations`, as)).map((one) => one['unknown']);
    expect(await unknown()).toEqual([true]);
    await server.ok('PUT', `${PATH}/${id}`, { as, body: { aliases: ['corp'] } });
    expect(await unknown()).toEqual([false]);
    await server.ok('PUT', `${PATH}/${id}`, { as, body: { aliases: [] } });
    expect(await unknown()).toEqual([true]);
  });

  test('of a sub-tenant’s provider match nothing in a manifest or a gateway of the whole tenant', async () => {
    const { as, subTenant } = await newCaller();
    const theirs = await created(subTenant, { name: 'theirs', subTenantId: 'team', aliases: ['allowed'] });
    const inventory = `${PATH}/${theirs.id}/inventory`;
    await server.ok('POST', inventory, { as: subTenant, body: { kind: 'model', name: 'm' } });
    const spec = { allow: [{ provider: 'allowed' }] };
    const manifest = await server.ok('POST', '/v1/manifests', { as, body: { name: 'm', kind: 'gateway', spec } });
    const granted = async (gateway: object, by: { key: string }) => {
      const body = { name: unique('edge'), providerIds: [theirs.id], ...gateway };
      const { id } = await server.ok('POST', '/v1/gateways', { as: by, body });
      const { grants } = await server.ok('POST', `/v1/gateways/${id}/sessions`, { as: by });
      return grants.flatMap(({ items }: Body) => items.map(({ name }: Body) => name));
    };
    expect(await granted({ manifestId: manifest.id }, as)).toEqual([]);
    const own = await server.ok('POST', '/v1/manifests', {
      as: subTenant,
      body: { name: 'm', kind: 'gateway', spec, subTenantId: 'team' },
    });
    expect(await granted({ manifestId: own.id, subTenantId: 'team' }, subTenant)).toEqual(['m']);
    // It does not take the whole tenant's traffic either.
    await sendSpans(server, as, [chat('m', { 'gen_ai.provider.name': 'allowed' })]);
    expect(await all(server, `${PATH}/${theirs.id}/observations`, as)).toEqual([]);
  });
});

describe('sessions and the spellings of a model', () => {
  async function gatewayOf(as: { key: string }, items: object[]) {
    const { id } = await created(as, { name: unique('models') });
    const path = `${PATH}/${id}/inventory`;
    for (const item of items) await server.ok('POST', path, { as, body: { kind: 'model', ...item } });
    const body = { name: unique('edge'), providerIds: [id] };
    const gateway = await server.ok('POST', '/v1/gateways', { as, body });
    const sessions = `/v1/gateways/${gateway.id}/sessions`;
    const open = (): Promise<Body> => server.ok('POST', sessions, { as });
    const namesOf = ({ grants }: Body) => grants.flatMap(({ items: of }: Body) => of.map(({ name }: Body) => name));
    const fromSync = (name: string) =>
      server.services.db
        .updateTable('inventory_items')
        .set({ source: 'sync' })
        .where('provider_id', '=', id)
        .where('name', '=', name)
        .execute();
    return { path, sessions, open, namesOf, fromSync };
  }

  test('a name in an allow-list covers dated variants, and no doubtful ones', async () => {
    const { as } = await newCaller();
    const names = ['gpt-5', 'gpt-5-2026-01-01', 'GPT-5-latest', 'gpt-5-0613', 'gpt-5-mini'];
    const items = names.map((name) => ({ name }));
    const { id } = await created(as, { name: 'allowed-models' });
    for (const item of items) {
      await server.ok('POST', `${PATH}/${id}/inventory`, { as, body: { kind: 'model', ...item } });
    }
    const spec = { allow: [{ provider: id, kind: 'model', names: ['gpt-5'] }] };
    const manifest = await server.ok('POST', '/v1/manifests', { as, body: { name: 'm', kind: 'gateway', spec } });
    const body = { name: 'edge', providerIds: [id], manifestId: manifest.id };
    const gateway = await server.ok('POST', '/v1/gateways', { as, body });
    const { grants } = await server.ok('POST', `/v1/gateways/${gateway.id}/sessions`, { as });
    expect(grants[0].items.map(({ name }: Body) => name)).toEqual(['gpt-5', 'gpt-5-2026-01-01', 'GPT-5-latest']);
  });

  test('a block revokes the sessions that were granted what it covers, and new sessions are not granted it', async () => {
    const { as } = await newCaller();
    const at = await gatewayOf(as, [{ name: 'm-2026-01-01' }, { name: 'm-2026-02-02' }, { name: 'other' }]);
    await at.fromSync('m-2026-01-01');
    const held = await at.open();
    expect(at.namesOf(held)).toEqual(['m-2026-01-01', 'm-2026-02-02', 'other']);
    await server.ok('POST', at.path, { as, body: { kind: 'model', name: 'm', status: 'blocked' } });
    expect(await server.ok('GET', `${at.sessions}/${held.id}`, { as })).toMatchObject({
      revokedReason: 'item_blocked',
    });
    // A name that a person declared is still granted, in a new session.
    const renewed = await at.open();
    expect(at.namesOf(renewed)).toEqual(['m-2026-02-02', 'other']);
    const introspected = await server.ok('POST', `${at.sessions}/introspect`, { as, body: { token: renewed.token } });
    expect(at.namesOf(introspected)).toEqual(['m-2026-02-02', 'other']);
  });
});
