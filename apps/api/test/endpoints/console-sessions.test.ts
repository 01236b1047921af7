import * as contract from '@quartermaster/contracts/console-sessions.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { signedInBrowser } from '../support/browser.ts';
import { accountWithKey, registeredUser, userInTwoBrowsers } from '../support/people.ts';
import { auditOf, checkCoverageAfterAll, type Endpoints, expectProblem, serverFor } from './harness.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor(contract);
});
checkCoverageAfterAll(() => server);

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

describe('list_my_sessions', () => {
  test('lists only the browsers of the caller, newest first', async () => {
    const person = await registeredUser(server);
    const other = await registeredUser(server);
    await signedInBrowser(server, other.email);
    await signedInBrowser(server, person.email);
    server.travel(1000);
    const browser = await signedInBrowser(server, person.email);
    const { body } = await browser.call('GET', '/v1/me/sessions');
    expect(body['items']).toMatchObject([{ current: true }, { current: false }]);
    const { items } = await server.ok('GET', '/v1/me/sessions', { as: { token: person.token } });
    expect(items).toMatchObject([{ current: false }, { current: false }]);
    expect(Object.keys(items[0]).toSorted()).toEqual(
      ['createdAt', 'current', 'expiresAt', 'id', 'lastUsedAt', 'userAgent'].toSorted(),
    );
  });

  test('pages', async () => {
    const person = await registeredUser(server);
    for (let count = 0; count < 3; count += 1) await signedInBrowser(server, person.email);
    const as = { token: person.token };
    const first = await server.ok('GET', '/v1/me/sessions?limit=2', { as });
    const second = await server.ok('GET', `/v1/me/sessions?limit=2&cursor=${first.nextCursor}`, { as });
    expect([first.items.length, second.items.length, second.nextCursor]).toEqual([2, 1, null]);
  });

  test('regression: the cursor of another user is 422', async () => {
    const [one, other] = [await userInTwoBrowsers(server), await userInTwoBrowsers(server)];
    const { nextCursor } = await server.ok('GET', '/v1/me/sessions?limit=1', { as: one });
    const path = `/v1/me/sessions?limit=1&cursor=${nextCursor}`;
    expect((await server.call('GET', path, { as: other })).status).toBe(422);
    expect((await server.call('GET', path, { as: one })).status).toBe(200);
  });

  test('leaves out sessions that expired', async () => {
    const person = await registeredUser(server);
    await signedInBrowser(server, person.email);
    server.travel(contract.CONSOLE_IDLE_HOURS * HOUR_MS + MINUTE_MS);
    const { token } = await server.tokenOf(person.email).catch(() => person);
    const answered = await server.call('GET', '/v1/me/sessions', { as: { token } });
    expect(answered.status === 200 ? answered.body.items : []).toEqual([]);
  });

  test('is empty for a service account', async () => {
    const account = await accountWithKey(server, { tenantId: 'sessions' });
    expect(await server.ok('GET', '/v1/me/sessions', { as: account })).toEqual({ items: [], nextCursor: null });
  });
});

describe('revoke_my_session', () => {
  test('signs the browser out at once, with an audit event', async () => {
    const person = await registeredUser(server);
    const browser = await signedInBrowser(server, person.email);
    const as = { token: person.token };
    const { items } = await server.ok('GET', '/v1/me/sessions', { as });
    const revoked = await server.ok('DELETE', `/v1/me/sessions/${items[0].id}`, { as });
    expect(revoked).toEqual(items[0]);
    expect((await browser.call('GET', '/v1/me')).body).toMatchObject({ status: 401, code: 'session_ended' });
    const [event] = await auditOf(server, { operation: 'revoke_my_session', target_id: items[0].id });
    expect(event).toMatchObject({ actor: { type: 'user', id: person.id }, scheme: 'bearer', tenantId: null });
  });

  test('is 404 for the session of another user, and leaves it as it is', async () => {
    const person = await registeredUser(server);
    const other = await registeredUser(server);
    const browser = await signedInBrowser(server, other.email);
    const { items } = await server.ok('GET', '/v1/me/sessions', { as: { token: other.token } });
    const answered = await server.call('DELETE', `/v1/me/sessions/${items[0].id}`, { as: { token: person.token } });
    expectProblem(answered, 404, 'console_session_not_found');
    expect((await browser.call('GET', '/v1/me')).status).toBe(200);
  });

  test('is 403 for a service account', async () => {
    const account = await accountWithKey(server, { tenantId: 'sessions' });
    expectProblem(await server.call('DELETE', '/v1/me/sessions/none', { as: account }), 403, 'user_required');
  });
});
