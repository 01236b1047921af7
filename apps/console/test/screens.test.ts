import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWorld, type World } from '../testing/world.ts';

const TENANT = 'tenant=northwind';

type Screen = {
  route: string;
  path: string;
  /** What is there once the screen has its data. Default: the first row of a table. */
  shows?: (page: Page) => Locator;
  /** Whether `j` opens a panel about the first row. */
  hasPanel?: boolean;
};

let world: World;
let screens: Screen[];

beforeAll(async () => {
  world = await startWorld();
  screens = await listScreens();
});
afterAll(() => world.close());

async function listScreens(): Promise<Screen[]> {
  const agent = await firstOf('/v1/agents?tenant_id=northwind&text=support');
  const trace = await firstOf('/v1/traces?tenant_id=northwind&errors_only=true', 'traceId');
  const provider = await firstOf('/v1/providers?tenant_id=northwind&name=knowledge-base');
  const manifest = await firstOf('/v1/manifests?tenant_id=northwind&kind=agent');
  const gateway = await firstOf('/v1/gateways?tenant_id=northwind&status=active');
  return [
    { route: '/inbox', path: '/inbox', hasPanel: true },
    { route: '/inbox', path: '/inbox?view=changed_definition', hasPanel: true },
    { route: '/changes', path: '/changes?view=applied', hasPanel: true },
    { route: '/tasks', path: '/tasks', hasPanel: true },
    { route: '/agents', path: '/agents' },
    {
      route: '/agents/$agentId',
      path: `/agents/${agent}`,
      shows: (page) => page.getByRole('table', { name: 'What it uses' }),
    },
    { route: '/map', path: '/map', shows: (page) => page.getByRole('group', { name: 'Map of agents' }) },
    { route: '/usage', path: '/usage' },
    { route: '/traces', path: '/traces?errors=1' },
    { route: '/traces/$traceId', path: `/traces/${trace}`, shows: (page) => page.getByRole('treegrid') },
    { route: '/providers', path: '/providers' },
    ...['inventory', 'observations', 'syncs'].map((view) => ({
      route: '/providers/$providerId',
      path: `/providers/${provider}?view=${view}`,
      hasPanel: view !== 'inventory',
    })),
    {
      route: '/providers/$providerId',
      path: `/providers/${provider}?view=credential`,
      shows: (page) => page.getByText('Credential').first(),
    },
    {
      route: '/providers/$providerId/plan',
      path: `/providers/${provider}/plan`,
      shows: (page) => page.getByText('1 changed'),
    },
    { route: '/manifests', path: '/manifests' },
    {
      route: '/manifests/$manifestId',
      path: `/manifests/${manifest}`,
      shows: (page) => page.getByRole('button', { name: 'JSON' }),
    },
    { route: '/gateways', path: '/gateways' },
    { route: '/gateways/$gatewayId', path: `/gateways/${gateway}`, hasPanel: true },
    { route: '/accounts', path: '/accounts' },
    { route: '/accounts', path: '/accounts?view=expiring' },
    { route: '/accounts/$accountId', path: '/accounts/data-platform', hasPanel: true },
    { route: '/people', path: '/people', hasPanel: true },
    { route: '/access', path: '/access?source=service_account:default/bootstrap' },
    { route: '/tenants', path: '/tenants' },
    ...['members', 'limits'].map((view) => ({ route: '/tenants/$tenantId', path: `/tenants/northwind?view=${view}` })),
    {
      route: '/tenants/$tenantId',
      path: '/tenants/northwind?view=settings',
      shows: (page) => page.getByRole('button', { name: 'Save' }),
    },
    { route: '/audit', path: '/audit', hasPanel: true },
    { route: '/profile', path: '/profile?view=sessions', shows: (page) => page.getByText('this one') },
  ];
}

const firstRow = (page: Page) => page.getByRole('row').nth(1);

async function firstOf(path: string, field = 'id'): Promise<string> {
  const { items } = await world.server.ok('GET', path, { as: world.server.admin });
  return items[0][field];
}

test('the list of screens has every route of the console', async () => {
  const router = await readFile(join(import.meta.dirname, '../src/app/router.tsx'), 'utf8');
  const routes = [...router.matchAll(/path: '([^']+)',\n  component/g)].map(([, route]) => route);
  expect(new Set(screens.map(({ route }) => route))).toEqual(new Set(routes));
});

test('every screen shows its data, without an error or a violation of the security policy', async () => {
  const { page, moveTo, faults, done } = await world.open('/profile');
  for (const { path, shows = firstRow, hasPanel = false } of screens) {
    await moveTo(`${path}${path.includes('?') ? '&' : '?'}${TENANT}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await shows(page).waitFor();
    if (hasPanel) {
      await page.keyboard.press('j');
      await page.getByRole('complementary').getByRole('heading').first().waitFor();
    }
    expect(faults, path).toEqual([]);
    expect(await page.getByRole('alert').allTextContents(), path).toEqual([]);
  }
  await done();
});
