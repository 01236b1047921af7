import type { Scope } from '@quartermaster/contracts/scopes.ts';
import { expect, test } from 'vitest';
import { accountWithKey, unique } from '../support/people.ts';
import { type Body, type Credential, serverOfTest } from '../support/server.ts';

test('regression: an answer is not complete if more keys derive from the source than are followed', async () => {
  const server = await serverOfTest();
  const tenantId = unique('derived');
  const { key } = await accountWithKey(server, { tenantId });
  const as = { key };
  const scopes: Scope[] = ['credentials:write', 'service_accounts:write'];
  const keyBy = async (creator: Credential): Promise<Body> => {
    const body = { name: unique('bot'), tenantId };
    const { id } = await server.ok('POST', '/v1/service-accounts', { as: creator, body });
    const keys = `/v1/service-accounts/${id}/keys`;
    const created = await server.ok('POST', keys, { as: creator, body: { scopes } });
    return { ...created, keys, as: { key: created.key } };
  };
  const revoke = (body: object) => server.call('POST', '/v1/derived-access/revoke', { as, body });
  const works = async (caller: Credential) =>
    (await server.call('GET', '/v1/providers', { as: caller })).status !== 401;
  const leaked = await keyBy(as);
  const revoked = await keyBy(leaked.as);
  const hidden = await keyBy(revoked.as);
  await server.ok('DELETE', `${revoked.keys}/${revoked.id}`, { as });
  const { db } = server.services;
  const row = await db.selectFrom('credentials').selectAll().where('id', '=', revoked.id).executeTakeFirstOrThrow();
  for (let made = 0; made < 50_000; made += 500) {
    const more = Array.from({ length: 500 }, (_, index) => ({ ...row, id: `${row.id}_${made + index}` }));
    await db.insertInto('credentials').values(more).execute();
  }
  const body = { source: `api_key:${leaked.id}`, kinds: ['api_key'], includeSource: true };
  expect((await revoke(body)).body).toMatchObject({ revoked: { api_key: 1 }, isComplete: false });
  expect(await works(hidden.as)).toBe(true);
  const next = { ...body, source: `api_key:${revoked.id}` };
  expect((await revoke(next)).body).toMatchObject({ revoked: { api_key: 1 }, isComplete: true });
  expect(await works(hidden.as)).toBe(false);
});
