import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Tab } from '../testing/tab.ts';
import { startWorld, type World } from '../testing/world.ts';

/** People of the seed, by what they may do. */
const VIEWER = 'jonas.weber@northwind.example';
const OPERATOR = 'priya.nair@northwind.example';
const INVITED = 'rosa.diaz@northwind.example';
const SALES_ADMINISTRATOR = 'mei.lin@northwind.example';

/** An id that the service made. The part of a key before its secret is none. */
const GENERATED_ID = /\b(usr|prov|obs|sa|gw|man|rec|task|key|ses|inv|sec|aud)_[0-9a-z]{26}\b/;

const TABLES = [
  '/inbox?view=all',
  '/inbox?view=all&group=provider',
  '/changes?view=applied',
  '/changes?view=dismissed',
  '/tasks?view=all',
  '/agents',
  '/map?as=table',
  '/usage?view=pairs',
  '/traces',
  '/providers',
  '/manifests',
  '/gateways',
  '/accounts',
  '/tenants',
  '/audit',
];

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

/** Opens every screen of the navigation by its link. Returns their names. */
async function visitScreens({ page, settled }: Tab): Promise<string[]> {
  const links = page.getByRole('navigation', { name: 'Screens' }).getByRole('link');
  await links.first().waitFor();
  const names = await links.allInnerTexts();
  for (const name of names) {
    const heading = page.getByRole('heading', { level: 1 });
    const before = name === 'Inbox' ? '' : await heading.innerText();
    await links.getByText(name, { exact: true }).click();
    await expect.poll(() => heading.innerText()).not.toBe(before);
    await settled();
    await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' });
    expect(await page.getByRole('alert').count(), name).toBe(0);
  }
  return names;
}

/** The labels of all screens of the menu, in its order. */
async function allScreens(): Promise<string[]> {
  const source = await readFile(join(import.meta.dirname, '../src/app/navigation.ts'), 'utf8');
  return [...source.matchAll(/path: '[^']+', label: '([^']+)'/g)].map(([, label = '']) => label);
}

describe('the menu has the screens that a person may open, and none of them shows an error', () => {
  // A refused request would be an error in the console of the browser, so each screen has to know before.
  test.each([
    ['a viewer', VIEWER, ['People', 'Audit']],
    ['an operator', OPERATOR, ['People', 'Audit']],
    ['an administrator of a sub-tenant', SALES_ADMINISTRATOR, []],
  ])('to %s', async (_, email, closed) => {
    const tab = await world.open('/inbox', { as: email });
    expect(await visitScreens(tab)).toEqual((await allScreens()).filter((label) => !closed.includes(label)));
    await tab.done();
  });

  test.each([
    ['a viewer', VIEWER],
    ['an administrator', 'ada.fischer@northwind.example'],
  ])('no table has an id where a name belongs, to %s', async (_, email) => {
    const { page, goTo, settled, done } = await world.open('/inbox?view=all', { as: email });
    for (const path of TABLES) {
      await goTo(path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await settled();
      const cells = (await page.getByRole('cell').allTextContents()).join('\n');
      expect(cells.match(GENERATED_ID), path).toBeNull();
    }
    await done();
  });

  test('the command palette and the list of keys leave out what a viewer may not open or do', async () => {
    const { page, done } = await world.open('/inbox', { as: VIEWER });
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('ControlOrMeta+k');
    const options = page.getByRole('listbox', { name: 'Commands' }).getByRole('option');
    await options.filter({ hasText: 'Inbox' }).waitFor();
    const offered = await options.allInnerTexts();
    for (const hidden of ['People', 'Audit', 'Declare a provider', 'Keys that expire']) {
      expect(offered.join(' ')).not.toContain(hidden);
    }
    await page.keyboard.press('Escape');
    await options.first().waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    const keys = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await keys.getByText('Inbox', { exact: true }).waitFor();
    expect(await keys.getByText('Audit', { exact: true }).count()).toBe(0);
    await done();
  });

  test('the address of a screen that the menu leaves out says which scope it needs', async () => {
    const { page, done } = await world.open('/audit', { as: VIEWER });
    await page.getByRole('heading', { name: 'This needs the scope audit_events:read' }).waitFor();
    await done();
  });
});

test('a viewer reads which scope a part of a screen needs, and no request is refused', async () => {
  const as = world.server.admin;
  const { items } = await world.server.ok('GET', '/v1/providers?tenant_id=northwind&name=knowledge-base', { as });
  const ofProvider = `/providers/${items[0].id}`;
  const tab = await world.open(`${ofProvider}?view=credential`, { as: VIEWER });
  const needs = (scope: string) => tab.page.getByRole('heading', { name: `This needs the scope ${scope}` }).waitFor();
  await needs('credentials:read');
  const plan = tab.page.getByRole('button', { name: 'Plan changes' });
  await plan.click();
  await tab.page.getByRole('heading', { name: /^Plan for/ }).waitFor();
  await tab.page
    .getByText('No running session would end.')
    .or(tab.page.getByText('Nothing to apply'))
    .first()
    .waitFor();
  const apply = tab.page.getByRole('button', { name: /^Apply( \d+ changes?)?$/ });
  expect(await apply.getAttribute('aria-disabled')).toBe('true');
  for (const path of ['/accounts?view=expiring', '/accounts/data-platform?of=northwind']) {
    await tab.moveTo(path);
    await needs('credentials:read');
  }
  expect(await tab.page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
  await tab.done();
});

test('the link of a colleague to a tenant that is out of reach says so, and not that nothing waits there', async () => {
  const { page, moveTo, done } = await world.open('/inbox?tenant=lighthouse-consulting', { as: OPERATOR });
  await page.getByRole('heading', { name: 'The tenant lighthouse-consulting is out of your reach' }).waitFor();
  await moveTo('/providers?tenant=none');
  await page.getByRole('heading', { name: 'The tenant none is out of your reach' }).waitFor();
  await page.getByRole('combobox', { name: 'Tenant' }).click();
  await page.getByRole('option', { name: 'Northwind Traders' }).click();
  await page.getByRole('row').nth(2).waitFor();
  await done();
});

test('an invited person is told so after the first sign-in, accepts, and sees the tenant', async () => {
  const { page, expectFaultless, done } = await world.open('/inbox', { as: INVITED });
  await page.getByRole('button', { name: 'Accept the terms' }).click();
  await page.getByRole('heading', { name: 'You are invited to Northwind Traders' }).waitFor();
  await page.getByRole('link', { name: '1 invitation to accept' }).waitFor();
  await expectFaultless('an invitation');
  await page.getByRole('link', { name: 'See your invitations' }).click();
  await page.getByRole('button', { name: 'Accept', exact: true }).click();
  await page.getByText('You are a member of northwind.').waitFor();
  await page.getByRole('link', { name: '1 invitation to accept' }).waitFor({ state: 'detached' });
  await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Inbox' }).click();
  await page.getByRole('row').nth(2).waitFor();
  await done();
});

test('an operator decides and applies, but does not administer', async () => {
  const { page, moveTo, done } = await world.open('/inbox?tenant=northwind', { as: OPERATOR });
  await page.getByRole('row').nth(2).waitFor();
  await page.keyboard.press('j');
  const approve = page.getByRole('button', { name: 'Approve', exact: true });
  await approve.waitFor();
  expect(await approve.getAttribute('aria-disabled')).toBeNull();
  await moveTo('/tenants/northwind?tenant=northwind');
  const invite = page.getByRole('button', { name: 'Invite a person' });
  await invite.waitFor();
  expect(await invite.getAttribute('aria-disabled')).toBe('true');
  await done();
});

test('an administrator of a sub-tenant sees and administers it alone', async () => {
  const { page, moveTo, expectAnswers, done } = await world.open('/inbox?view=all', { as: SALES_ADMINISTRATOR });
  await page.getByRole('row').nth(2).waitFor();
  const observations = await world.server.ok('GET', '/v1/runtime-observations?tenant_id=northwind&limit=100', {
    as: world.server.admin,
  });
  const others = observations.items.filter(
    ({ subTenantId }: { subTenantId: string | null }) => subTenantId !== 'sales',
  );
  expect(others.length).toBeGreaterThan(0);
  await page
    .getByRole('status')
    .getByText(/in all/)
    .waitFor();
  const shown = await page.getByRole('table', { name: 'Observations' }).getAttribute('aria-rowcount');
  const own = await world.server.ok('GET', '/v1/runtime-observations?limit=100', {
    as: await world.server.tokenOf(SALES_ADMINISTRATOR),
  });
  expect(Number(shown)).toBe(own.items.length + 1);
  expect(own.items.every(({ subTenantId }: { subTenantId: string | null }) => subTenantId === 'sales')).toBe(true);

  await moveTo('/accounts?new=1');
  await page.getByRole('textbox', { name: 'Id' }).fill('offer-writer');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'offer-writer' }).waitFor();
  const created = await world.server.ok('GET', '/v1/service-accounts/offer-writer?tenant_id=northwind', {
    as: world.server.admin,
  });
  expect(created).toMatchObject({ tenantId: 'northwind', subTenantId: 'sales' });

  await moveTo('/manifests?new=1');
  await page.getByRole('textbox', { name: 'Name' }).fill('offer-writer');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'offer-writer' }).waitFor();
  const manifests = await world.server.ok('GET', '/v1/manifests?tenant_id=northwind&name=offer-writer', {
    as: world.server.admin,
  });
  expect(manifests.items).toMatchObject([{ subTenantId: 'sales' }]);

  await moveTo('/tenants/northwind?view=limits');
  await page.getByRole('heading', { name: 'The limits are those of the whole tenant' }).waitFor();

  // Only platform administrators see who could become one.
  await moveTo('/people');
  await page.getByRole('row').nth(1).waitFor();
  await page.keyboard.press('j');
  await page.getByRole('complementary').getByRole('button', { name: 'Delete', exact: true }).waitFor();
  expect(await page.getByRole('button', { name: 'Make platform administrator' }).count()).toBe(0);

  // A link of a colleague to something that is out of reach.
  expectAnswers(404);
  await moveTo(`/inbox?item=${others[0].id}`);
  await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  await page.getByText('There is nothing here, or it is out of your reach').waitFor();
  expect(await page.getByText(others[0].name).count()).toBe(0);
  await done();
});

test('a platform administrator lets another identity of a person take over, and withdraws that', async () => {
  const as = world.server.admin;
  const { items } = await world.server.ok('GET', `/v1/users?email=${VIEWER}`, { as });
  const path = `/v1/users/${items[0].id}/identity-relink`;
  const { page, expectFaultless, done } = await world.open(`/people?item=${items[0].id}`);
  await page.getByRole('button', { name: 'Let another identity take over' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Let it take over' }).click();
  await page.getByText('The next sign-in with the verified email takes over').waitFor();
  expect((await world.server.ok('GET', path, { as })).allowedUntil).not.toBeNull();
  await expectFaultless('allowed');
  await page.getByRole('button', { name: 'Withdraw that' }).click();
  await page.getByRole('button', { name: 'Let another identity take over' }).waitFor();
  expect((await world.server.ok('GET', path, { as })).allowedUntil).toBeNull();
  await done();
});
