import { scaled } from '@quartermaster/db/testing/scale.ts';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Tab } from '../testing/tab.ts';
import { startWorld, type World } from '../testing/world.ts';

const TENANT = 'tenant=northwind';

/** How many views of each list are compared. The full form compares all. */
const VIEWS = scaled({ usual: 4, full: Infinity });

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

const firstId = async (path: string, field = 'id'): Promise<string> => {
  const { items } = await world.server.ok('GET', path, { as: world.server.admin });
  return items[0][field];
};

/** The addresses of every view, with filters and an open panel where it has them. Each list starts with one view of each screen. */
async function views(): Promise<Record<string, string[]>> {
  const item = await firstId('/v1/runtime-observations?tenant_id=northwind&view=new&kind=tool');
  const task = await firstId('/v1/operator/tasks?tenant_id=northwind&status=open');
  const agent = await firstId('/v1/agents?tenant_id=northwind&text=support');
  const trace = await firstId('/v1/traces?tenant_id=northwind&errors_only=true', 'traceId');
  const provider = await firstId('/v1/providers?tenant_id=northwind&name=knowledge-base');
  const manifest = await firstId('/v1/manifests?tenant_id=northwind&kind=agent');
  const gateway = await firstId('/v1/gateways?tenant_id=northwind&status=active');
  return {
    decide: [
      `/inbox?${TENANT}&kind=tool&risk=medium&item=${item}`,
      `/inbox?${TENANT}&view=all&status=approved&q=a`,
      `/inbox?${TENANT}&view=all&environment=staging`,
      `/changes?${TENANT}`,
      `/tasks?${TENANT}&item=${task}`,
      `/inbox?${TENANT}&view=seen_again`,
      `/inbox?${TENANT}&view=changed_definition`,
    ],
    observe: [
      `/agents/${agent}?${TENANT}`,
      `/map?${TENANT}`,
      `/traces?${TENANT}&errors=1`,
      `/traces/${trace}?${TENANT}`,
      `/usage?${TENANT}&view=pairs&hours=168&sort=tokens`,
      `/agents?${TENANT}`,
      `/map?${TENANT}&as=table`,
    ],
    declare: [
      `/providers?${TENANT}&kind=mcp`,
      `/providers/${provider}?${TENANT}&view=observations`,
      `/manifests/${manifest}?${TENANT}`,
      `/gateways/${gateway}?${TENANT}`,
      `/providers/${provider}?${TENANT}`,
      `/providers/${provider}?${TENANT}&view=credential`,
      `/providers/${provider}?${TENANT}&view=syncs`,
      `/providers/${provider}/plan?${TENANT}`,
      `/manifests?${TENANT}&kind=agent`,
      `/gateways?${TENANT}&status=active`,
    ],
    administer: [
      `/accounts?${TENANT}&view=expiring`,
      `/people?${TENANT}`,
      `/tenants/northwind?${TENANT}&view=settings`,
      `/audit?${TENANT}&operation=create_manifest`,
      `/accounts?${TENANT}`,
      `/accounts/data-platform?${TENANT}`,
      `/access?${TENANT}`,
      '/tenants',
      `/tenants/northwind?${TENANT}`,
      `/tenants/northwind?${TENANT}&view=limits`,
      '/profile?view=memberships',
      '/profile?view=sessions',
    ],
  };
}

/** What a view shows. Times are left out, because they go on. */
async function shown(page: Page): Promise<string> {
  const text = await page.getByRole('main').innerText();
  return text.replaceAll(/just now|in a moment|(in )?\d+ ?\w+( ago)?|\d\d:\d\d/g, '…');
}

/** Waits until a view has read everything, then returns what it shows. */
async function shownAtLast({ page, settled }: Tab): Promise<string> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await settled();
  // Charts load their code when their data are there.
  await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' });
  await settled();
  return shown(page);
}

async function expectShown(page: Page, expected: string, when: string): Promise<void> {
  await expect.poll(() => shown(page), { message: when }).toBe(expected);
}

test.each(['decide', 'observe', 'declare', 'administer'])(
  'views that %s show the same by their link, after a step back and after a reload',
  async (group) => {
    const paths = ((await views())[group] ?? []).slice(0, VIEWS);
    const tab = await world.open(paths[0] ?? '');
    const { page, moveTo, context, done } = tab;
    let last = '';
    for (const [index, path] of paths.entries()) {
      if (index > 0) await moveTo(path);
      last = await shownAtLast(tab);
      const url = page.url();
      expect(url, path).toBe(`${world.server.url}/console${path}`);
      await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Manifests' }).click();
      await page.waitForURL(/\/manifests/);
      await page.goBack();
      await page.waitForURL(url);
      await expectShown(page, last, `${path}, after a step back`);
    }
    await page.reload();
    await expectShown(page, last, 'after a reload');
    // In another tab without a history: what a colleague sees who gets the link.
    const other = await context.newPage();
    // A table draws the rows that fit in.
    await other.setViewportSize(page.viewportSize() ?? expect.unreachable('the page has a size'));
    await other.goto(page.url());
    await expectShown(other, last, 'by its link');
    expect(other.url()).toBe(page.url());
    await other.close();
    await done();
  },
);

test('a view that was reached by clicks and typing has all of its state in its address', async () => {
  const tab = await world.open(`/inbox?${TENANT}`);
  const { page, context, done } = tab;
  await page.getByRole('button', { name: 'All', exact: true }).click();
  await page.getByRole('textbox', { name: 'Search names' }).fill('merge');
  await page.waitForURL(/q=merge/);
  const first = await shownAtLast(tab);
  expect(first).toContain('merge_');
  const other = await context.newPage();
  await other.goto(page.url());
  await expectShown(other, first, 'by its link');
  await other.close();
  await done();
});

test('the link of a change that is not in the view shows it, and that of a change that does not exist says so', async () => {
  const path = '/v1/recommendations?tenant_id=northwind&status=superseded&limit=1';
  const [superseded] = (await world.server.ok('GET', path, { as: world.server.admin })).items;
  const { page, moveTo, expectAnswers, done } = await world.open(
    `/changes?${TENANT}&view=applied&item=${superseded.id}`,
  );
  const panel = page.getByRole('complementary', { name: /^Change/ });
  await panel.getByText('superseded').waitFor();
  expectAnswers(404);
  await moveTo(`/changes?${TENANT}&view=applied&item=rec_none`);
  await panel.getByText('recommendation_not_found').waitFor();
  await done();
});

test('the link of an inventory item shows it, although the first page of the list does not have it', async () => {
  const as = world.server.admin;
  const body = { tenantId: 'northwind', name: 'many-tools', kind: 'mcp' };
  const { id } = await world.server.ok('POST', '/v1/providers', { as, body });
  const path = `/v1/providers/${id}/inventory`;
  const declare = (name: string) => world.server.ok('POST', path, { as, body: { kind: 'tool', name } });
  const items = [await declare('first')];
  for (let index = 0; index < 100; index += 1) items.push(await declare(`tool-${index}`));
  const { items: firstPage } = await world.server.ok('GET', `${path}?limit=100`, { as });
  const shown = new Set(firstPage.map((item: { id: string }) => item.id));
  const beyond = items.find((item) => !shown.has(item.id));
  const { page, done } = await world.open(`/providers/${id}?${TENANT}&view=inventory&item=${beyond.id}`);
  await page.getByRole('complementary', { name: `tool ${beyond.name}` }).waitFor();
  await done();
});

test('the links of a session that has ended and of a person who is not listed show them, or say that they do not exist', async () => {
  const as = world.server.admin;
  const { items: gateways } = await world.server.ok('GET', '/v1/gateways?tenant_id=northwind&limit=100', { as });
  const sessions = await Promise.all(
    gateways.map(async ({ id }: { id: string }) => {
      return (await world.server.ok('GET', `/v1/gateways/${id}/sessions?limit=100`, { as })).items;
    }),
  );
  const ended = sessions.flat().find(({ status }) => status !== 'active');
  const gateway = `/gateways/${ended.gatewayId}?${TENANT}`;
  const person = await firstId('/v1/users?tenant_id=northwind&status=active');
  const { page, moveTo, expectAnswers, done } = await world.open(`${gateway}&item=${ended.id}`);
  const panel = page.getByRole('complementary');
  await panel.getByText(ended.status, { exact: true }).first().waitFor();
  await moveTo(`/people?${TENANT}&status=disabled&item=${person}`);
  await panel.getByText('active', { exact: true }).first().waitFor();
  expectAnswers(404);
  await moveTo(`${gateway}&item=none`);
  await panel.getByText('There is nothing here, or it is out of your reach').waitFor();
  await moveTo(`/people?${TENANT}&item=none`);
  await panel.getByText('There is nothing here, or it is out of your reach').waitFor();
  await done();
});

test('a link with a word in place of the number of days or hours shows the usual time', async () => {
  const { page, moveTo, done } = await world.open(`/accounts?${TENANT}&view=expiring&within=soon`);
  await page.getByRole('row', { name: /ci-deployer/ }).waitFor();
  await moveTo(`/accounts?${TENANT}&view=unused&days=long`);
  await page.getByRole('heading', { name: 'Every key has been used lately' }).waitFor();
  await moveTo(`/agents?${TENANT}&hours=many`);
  await page
    .getByRole('row', { name: /data-platform/ })
    .first()
    .waitFor();
  await done();
});

test('a mistyped tenant is called unknown, because its inbox looks as if nothing waited for a decision', async () => {
  const { page, moveTo, done } = await world.open('/inbox?tenant=nortwhind');
  await page.getByText('There is no such tenant, or it was deleted').waitFor();
  await moveTo(`/inbox?${TENANT}`);
  await page.getByRole('row').nth(2).waitFor();
  expect(await page.getByText('There is no such tenant').count()).toBe(0);
  await done();
});

test('an address with an unknown view shows the first view of its screen', async () => {
  const { page, moveTo, done } = await world.open(`/tenants/northwind?${TENANT}&view=none`);
  await page.getByRole('row').nth(1).waitFor();
  const provider = await firstId('/v1/providers?tenant_id=northwind&name=knowledge-base');
  await moveTo(`/providers/${provider}?${TENANT}&view=none`);
  await page.getByRole('row').nth(1).waitFor();
  await moveTo(`/profile?${TENANT}&view=none`);
  await page.getByText('Signed in by').waitFor();
  expect(new URL(page.url()).searchParams.get('view')).toBeNull();
  await done();
});

test('a step back to another record closes the question that was asked about the one before', async () => {
  const [first, second] = [
    await firstId('/v1/providers?tenant_id=northwind&name=knowledge-base'),
    await firstId('/v1/providers?tenant_id=northwind&name=openai'),
  ];
  const { page, moveTo, done } = await world.open(`/providers/${first}?${TENANT}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await moveTo(`/providers/${second}?${TENANT}`);
  // Without the page between the two that `moveTo` shows.
  await page.evaluate(`history.pushState(null, '', '/console/providers/${first}?${TENANT}')`);
  await page.evaluate(`history.pushState(null, '', '/console/providers/${second}?${TENANT}')`);
  await page.getByRole('heading', { level: 1, name: 'openai' }).waitFor();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('dialog', { name: 'Delete openai?' }).waitFor();
  await page.goBack();
  await page.getByRole('heading', { level: 1, name: /knowledge.base/i }).waitFor();
  expect(await page.getByRole('dialog').count()).toBe(0);
  await done();
});
