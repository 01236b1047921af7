import { beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey } from '../support/people.ts';
import type { Body } from '../support/server.ts';
import { checkCoverageAfterAll, type Endpoints, expectInvalid, serverFor } from './harness.ts';

const DAY = 24 * 3_600_000;

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor({});
});
checkCoverageAfterAll(() => server);

const fromNow = (milliseconds: number) => new Date(server.services.now().getTime() + milliseconds).toISOString();
const newKey = (accountId: string, body: object = {}): Promise<Body> =>
  server.ok('POST', `/v1/service-accounts/${accountId}/keys`, {
    as: server.admin,
    body: { scopes: ['providers:read'], ...body },
  });

describe('search_credentials by expiry', () => {
  test('is 422 if there are too many to sort, unless a filter leaves fewer', async () => {
    const { id, key } = await accountWithKey(server, { tenantId: 'expiry-3' });
    const { id: keyId } = await newKey(id, { expiresAt: fromNow(DAY) });
    const { db } = server.services;
    const row = await db.selectFrom('credentials').selectAll().where('id', '=', keyId).executeTakeFirstOrThrow();
    for (let from = 0; from < 20_000; from += 1000) {
      const copies = Array.from({ length: 1000 }, (_, index) => ({
        ...row,
        id: `key_${from + index}`,
        digest: null,
        expires_at: fromNow(30 * DAY),
      }));
      await db.insertInto('credentials').values(copies).execute();
    }
    const search = (body: object) =>
      server.call('POST', '/v1/credentials/search', { as: { key }, body: { sort: 'expires_at', ...body } });
    expectInvalid(await search({}), { loc: ['body', 'sort'], type: 'value_error' });
    const soon = await search({ expiresBefore: fromNow(7 * DAY) });
    expect(soon.body.items.map((one: Body) => one.id)).toEqual([keyId]);
  });
});
