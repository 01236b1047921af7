import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWorld, type World } from '../testing/world.ts';

const LEAVING = 'tom.okafor@northwind.example';

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

test('what a person gave is found from the person, and some of it is revoked', async () => {
  const { server } = world;
  const as = await server.tokenOf(LEAVING);
  const keys = '/v1/service-accounts/data-platform/keys?tenant_id=northwind';
  await server.ok('POST', keys, { as, body: { name: 'left behind', scopes: ['traces:write'] } });
  await server.ok('POST', '/v1/tenants/northwind/memberships', {
    as,
    body: { email: 'friend@northwind.example', role: 'viewer' },
  });
  await server.ok('POST', keys, { as, body: { name: 'kept for now', scopes: ['traces:write'] } });
  const { page, expectFaultless, done } = await world.open('/people?tenant=northwind');
  // The right of a sub-tenant does not look like one of the whole tenant.
  await page
    .getByRole('row', { name: /Leo Novak/ })
    .getByText('northwind / engineering (operator)')
    .waitFor();
  await page.getByRole('row', { name: /Tom Okafor/ }).click({ position: { x: 300, y: 18 } });
  await page.getByRole('complementary').getByText('API keys that they created keep working after that').waitFor();
  await expectFaultless('a person');
  await page.getByRole('complementary').getByRole('link', { name: 'See the access they gave' }).click();
  await page
    .getByRole('row', { name: /API key/ })
    .nth(1)
    .waitFor();
  await page.getByRole('row', { name: /invitation/ }).waitFor();
  await expectFaultless('derived access');
  const source = page.getByRole('combobox', { name: 'Person, account or id of a key' });
  expect(await source.inputValue()).toBe('Tom Okafor');
  expect(await page.getByRole('main').getByRole('link', { name: 'Tom Okafor' }).first().getAttribute('href')).toContain(
    '/console/people?',
  );
  const access = async () => {
    const source = new URL(page.url()).searchParams.get('source') ?? '';
    const path = `/v1/derived-access?source=${encodeURIComponent(source)}`;
    const { items } = await server.ok('GET', path, { as: server.admin });
    return items.map(({ kind, id }: { kind: string; id: string }) => `${kind} ${id}`);
  };
  // One row alone: the newest key.
  const before = await access();
  await page
    .getByRole('row', { name: /API key/ })
    .first()
    .getByRole('checkbox')
    .check();
  await page.getByRole('button', { name: 'Revoke 1 selected' }).click();
  const single = page.getByRole('dialog', { name: 'Revoke derived access' });
  await single.getByText('1 API key.').waitFor();
  await expectFaultless('the form that revokes a selection');
  await single.getByRole('button', { name: 'Revoke 1' }).click();
  await page.getByText('1 record revoked.').waitFor();
  expect(await access()).toEqual(before.slice(1));
  await page.getByRole('button', { name: 'Revoke', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Revoke derived access' });
  await dialog.getByRole('checkbox', { name: /invitation/ }).uncheck();
  await expectFaultless('the form that revokes');
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('row', { name: /API key/ }).waitFor({ state: 'detached' });
  const left: string[] = await access();
  const has = (kind: string) => left.some((name) => name.startsWith(kind));
  expect([has('api_key'), has('invitation')]).toEqual([false, true]);
  await done();
});

test('a revocation says that there may be more if the source made more keys than are followed', async () => {
  const { server } = world;
  const keys = '/v1/service-accounts/data-platform/keys?tenant_id=northwind';
  const scopes = ['credentials:write', 'service_accounts:write', 'traces:write'];
  const leaked = await server.ok('POST', keys, { as: server.admin, body: { name: 'leaked', scopes } });
  const made = await server.ok('POST', keys, { as: { key: leaked.key }, body: { name: 'made', scopes } });
  const { db } = server.services;
  const row = await db.selectFrom('credentials').selectAll().where('id', '=', made.id).executeTakeFirstOrThrow();
  const revoked = { ...row, revoked_at: row.created_at };
  for (let count = 0; count < 50_000; count += 500) {
    const more = Array.from({ length: 500 }, (_, index) => ({ ...revoked, id: `${row.id}_${count + index}` }));
    await db.insertInto('credentials').values(more).execute();
  }
  const { page, done } = await world.open('/access');
  // The whole key, as it was found: its secret reaches neither the address nor the server.
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  await page.getByRole('combobox', { name: 'Person, account or id of a key' }).fill(leaked.key);
  await page.getByRole('option', { name: leaked.id }).click();
  await page.waitForURL(new RegExp(`source=api_key(:|%3A)${leaked.id}$`));
  await page.getByRole('row', { name: /API key/ }).waitFor();
  await page.getByRole('button', { name: 'Revoke', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Revoke derived access' });
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('1 record revoked. There may be more that was not found').waitFor();
  expect(requests.filter((url) => url.includes(leaked.key.slice(leaked.id.length)))).toEqual([]);
  await done();
});
