import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Tab } from '../testing/tab.ts';
import { startWorld, type World } from '../testing/world.ts';

const TENANT = 'tenant=northwind';

type Screen = {
  /** As the router has it. */
  route: string;
  /** What follows the route in the address. */
  search?: string;
  /** What is there once the screen has its data. Default: the first row of a table. */
  shows?: (page: Page) => Locator;
  /** Whether `j` opens a panel about the first row. */
  hasPanel?: boolean;
};

const SCREENS: Screen[] = [
  { route: '/inbox', hasPanel: true },
  { route: '/inbox', search: 'view=changed_definition', hasPanel: true },
  { route: '/inbox', search: 'group=agent' },
  {
    route: '/connect',
    search: 'framework=pydantic-ai&account=data-platform&of=northwind',
    shows: (page) => page.getByText('understood, the last'),
  },
  { route: '/changes', search: 'view=applied', hasPanel: true },
  { route: '/tasks', hasPanel: true },
  { route: '/agents' },
  { route: '/agents/$agentId', shows: (page) => page.getByRole('table', { name: 'What it uses' }) },
  { route: '/map', shows: (page) => page.getByRole('group', { name: 'Map of agents' }) },
  { route: '/usage' },
  { route: '/traces', search: 'errors=1' },
  { route: '/traces/$traceId', shows: (page) => page.getByRole('treegrid') },
  { route: '/providers' },
  { route: '/providers/$providerId', search: 'view=inventory' },
  { route: '/providers/$providerId', search: 'view=observations' },
  { route: '/providers/$providerId', search: 'view=syncs' },
  { route: '/providers/$providerId/plan', shows: (page) => page.getByText('1 changed') },
  { route: '/manifests' },
  { route: '/manifests/$manifestId', shows: (page) => page.getByRole('button', { name: 'JSON' }) },
  { route: '/gateways' },
  { route: '/gateways/$gatewayId', hasPanel: true },
  { route: '/gateways/$gatewayId', search: 'view=connect', shows: (page) => page.getByText('Then point the client') },
  {
    route: '/gateways/$gatewayId',
    search: 'view=denied',
    shows: (page) => page.getByText('Nothing was denied in the last 7 days'),
  },
  { route: '/coverage' },
  { route: '/accounts' },
  { route: '/accounts', search: 'view=expiring' },
  { route: '/accounts/$accountId', hasPanel: true },
  { route: '/people', hasPanel: true },
  { route: '/access', search: 'source=service_account:default/bootstrap' },
  { route: '/tenants' },
  { route: '/tenants/$tenantId' },
  { route: '/tenants/$tenantId', search: 'view=limits' },
  {
    route: '/tenants/$tenantId',
    search: 'view=prices',
    shows: (page) => page.getByText('List prices alone'),
  },
  { route: '/tenants/$tenantId', search: 'view=settings', shows: (page) => page.getByRole('button', { name: 'Save' }) },
  { route: '/audit', hasPanel: true },
  { route: '/profile', search: 'view=sessions', shows: (page) => page.getByText('this one') },
];

const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

let world: World;
let tab: Tab;
let ids: Record<string, string>;

beforeAll(async () => {
  world = await startWorld();
  ids = {
    $agentId: await firstOf('/v1/agents?tenant_id=northwind&text=support'),
    $traceId: await firstOf('/v1/traces?tenant_id=northwind&errors_only=true', 'traceId'),
    $providerId: await firstOf('/v1/providers?tenant_id=northwind&name=knowledge-base'),
    $manifestId: await firstOf('/v1/manifests?tenant_id=northwind&kind=agent'),
    $gatewayId: await firstOf('/v1/gateways?tenant_id=northwind&status=active'),
    $accountId: 'data-platform',
    $tenantId: 'northwind',
  };
  tab = await world.open('/profile');
});
afterAll(async () => {
  await tab.done();
  await world.close();
});

async function firstOf(path: string, field = 'id'): Promise<string> {
  const { items } = await world.server.ok('GET', path, { as: world.server.admin });
  return items[0][field];
}

test('the list of screens has every route of the console', async () => {
  const router = await readFile(join(import.meta.dirname, '../src/app/router.tsx'), 'utf8');
  const routes = [...router.matchAll(/path: '([^']+)',\n  component/g)].map(([, route]) => route);
  expect(new Set(SCREENS.map(({ route }) => route))).toEqual(new Set(routes));
});

test.each(SCREENS.map((screen) => [[screen.route, screen.search].filter(Boolean).join('?'), screen] as const))(
  '%s shows its data, without an error or a violation of the security policy, and fits the window of a phone',
  async (_name, { route, search = '', shows = firstRow, hasPanel = false }) => {
    const { page, moveTo, settled, faults } = tab;
    const path = route.replace(/\$\w+/, (name) => ids[name] ?? '');
    await moveTo(`${path}?${TENANT}&${search}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await shows(page).waitFor();
    if (hasPanel) {
      await page.keyboard.press('j');
      await page.getByRole('complementary').waitFor();
    }
    expect(faults).toEqual([]);
    expect(await page.getByRole('alert').allTextContents()).toEqual([]);
    // Regression: on a phone some screens could only be read by scrolling sideways.
    await page.setViewportSize(PHONE);
    await settled();
    expect(await overflow(page), 'pixels that the page scrolls sideways').toBeLessThanOrEqual(0);
    await page.setViewportSize(DESKTOP);
  },
);

function firstRow(page: Page): Locator {
  return page.getByRole('row').nth(1);
}

function overflow(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
}

test('the inbox asks for its first rows while its code is still loading, and for nothing twice', async () => {
  const { page, goTo, done } = await world.open('/providers');
  const first = ['/console/session', '/v1/me', '/v1/runtime-observations'];
  const asked: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (first.includes(pathname)) asked.push(pathname);
  });
  const { promise: rowsAreAsked, resolve: goOn } = Promise.withResolvers<void>();
  await page.route('**/console/assets/shared-*.js', async (route) => {
    await rowsAreAsked;
    await route.continue();
  });
  const shown = goTo(`/inbox?${TENANT}`);
  await expect.poll(() => asked).toEqual(first);
  goOn();
  await shown;
  await page.getByRole('table', { name: 'Observations' }).getByRole('row').nth(2).waitFor();
  expect(asked).toEqual(first);
  await page.unroute('**/console/assets/shared-*.js');
  await done();
});
