import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startWorld, type World } from '../testing/world.ts';

const TENANT = 'tenant=northwind';

/** Of common windows, in pixels. */
const WIDTHS = [1024, 1200, 1280, 1440];

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

const firstId = async (path: string, idOf = (item: { id: string }) => item.id): Promise<string> => {
  const { items } = await world.server.ok('GET', path, { as: world.server.admin });
  return idOf(items[0]);
};

describe('every screen has a heading, no error, no violation of the security policy, and no accessibility failure', () => {
  test('the screens for decisions', async () => {
    const { page, moveTo, expectFaultless, done } = await world.open(`/inbox?${TENANT}`);
    await page.getByRole('row').nth(3).waitFor();
    await expectFaultless('inbox');
    await page.keyboard.press('j');
    await page.getByRole('complementary').waitFor();
    await expectFaultless('inbox with a panel');
    await moveTo(`/inbox?${TENANT}&view=changed_definition`);
    await page
      .getByRole('row')
      .nth(1)
      .click({ position: { x: 300, y: 18 } });
    await page.getByText('What changed').waitFor();
    await expectFaultless('a changed definition');
    await moveTo(`/tasks?${TENANT}`);
    await page.getByRole('row').nth(1).waitFor();
    await page.keyboard.press('j');
    await page.getByRole('complementary').waitFor();
    await done();
  });

  test('the screens for observations', async () => {
    const { page, moveTo, expectFaultless, done } = await world.open(`/agents?${TENANT}`);
    await page.getByRole('row').nth(1).waitFor();
    await expectFaultless('agents');
    await page.setViewportSize({ width: 1440, height: 900 });
    const tokens = await page.getByRole('columnheader', { name: 'Tokens' }).boundingBox();
    expect(tokens === null ? Number.NaN : tokens.x + tokens.width, 'the last column is in view').toBeLessThanOrEqual(
      1440,
    );
    await page.getByRole('row').nth(1).getByRole('link').first().click();
    await page.getByRole('table', { name: 'What it uses' }).waitFor();
    await page.getByRole('img').first().waitFor();
    await expectFaultless('an agent');
    await moveTo(`/map?${TENANT}`);
    const map = page.getByRole('group', { name: 'Map of agents' });
    await map.waitFor();
    await map.locator('[data-state="bypassed"]').first().waitFor();
    await expectFaultless('map');
    await moveTo(`/map?${TENANT}&as=table`);
    await page.getByRole('row').nth(1).waitFor();
    await page.getByRole('row').getByText('bypasses its gateway').first().waitFor();
    await expectFaultless('map as a table');
    await moveTo(`/usage?${TENANT}`);
    await page.getByRole('row').nth(1).waitFor();
    await page.getByRole('img', { name: 'Tokens of' }).waitFor();
    await expectFaultless('usage');
    await moveTo(`/traces?${TENANT}&errors=1`);
    await page.getByRole('row').nth(1).waitFor();
    await expectFaultless('traces');
    await page.getByRole('row').nth(1).getByRole('link').first().click();
    await page.getByRole('treegrid').waitFor();
    await page.keyboard.press('n');
    await page.getByRole('complementary').getByText('What it used').waitFor();
    await done();
  });

  test('a provider shows what is known of its MCP server, and a person may trust its headers', async () => {
    const { id } = await world.server.ok('POST', '/v1/providers', {
      as: world.server.admin,
      body: { name: 'mcp-notes', kind: 'mcp', tenantId: 'northwind' },
    });
    const { page, expectFaultless, done } = await world.open(`/providers/${id}?${TENANT}`);
    await page.getByRole('button', { name: 'Trust headers' }).click();
    await page.getByRole('button', { name: 'Trust the headers' }).click();
    await page.getByText('trusted to compare headers with bodies').waitFor();
    await page.getByText('never tried').waitFor();
    await expectFaultless('a provider whose headers are trusted');
    await page.getByRole('button', { name: 'Stop trusting headers' }).click();
    await page.getByText('trusted to compare headers with bodies').waitFor({ state: 'detached' });
    await done();
  });

  test('an agent has charts in a browser that names a language that Intl refuses', async () => {
    const { page, done } = await world.open('/profile', { ownWindow: true });
    await page.addInitScript(() => {
      Object.defineProperty(navigator, 'language', { value: 'en-US@posix', configurable: true });
    });
    const agent = await firstId('/v1/agents?tenant_id=northwind');
    await page.goto(new URL(`/console/agents/${encodeURIComponent(agent)}?${TENANT}`, page.url()).href);
    await page.getByRole('img', { name: 'Tokens of' }).waitFor();
    await done();
  });

  test('the screens for declarations', async () => {
    const { page, moveTo, expectFaultless, done } = await world.open(`/providers?${TENANT}`);
    await page.getByRole('row').nth(1).waitFor();
    await expectFaultless('providers');
    const provider = await firstId('/v1/providers?tenant_id=northwind&name=knowledge-base');
    for (const view of ['inventory', 'observations', 'credential', 'syncs']) {
      await moveTo(`/providers/${provider}?${TENANT}&view=${view}`);
      await page.getByRole('heading', { level: 1, name: 'Knowledge base' }).waitFor();
      await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' });
      await expectFaultless(`provider, ${view}`);
    }
    await moveTo(`/providers/${provider}/plan?${TENANT}`);
    await page.getByText('1 changed').waitFor();
    await expectFaultless('plan');
    await moveTo(`/manifests?${TENANT}`);
    await page.getByRole('row').nth(1).getByRole('link').first().click();
    await page.getByRole('button', { name: 'JSON' }).click();
    await page.getByRole('textbox', { name: 'Manifest as JSON' }).waitFor();
    await expectFaultless('a manifest');
    await moveTo(`/gateways?${TENANT}`);
    await page.getByRole('row').nth(1).waitFor();
    await expectFaultless('gateways');
    await page.getByRole('row').nth(2).getByRole('link').first().click();
    await page.getByRole('button', { name: 'All', exact: true }).click();
    await page.getByRole('row').nth(1).waitFor();
    await page.keyboard.press('j');
    await page.getByText('What it grants').waitFor();
    await done();
  });

  test('the screens for administration', async () => {
    const { page, moveTo, expectFaultless, done } = await world.open(`/accounts?${TENANT}`);
    await page.getByRole('row').nth(1).waitFor();
    await expectFaultless('accounts');
    await moveTo(`/accounts?${TENANT}&view=expiring`);
    await page.getByRole('row').nth(1).waitFor();
    await expectFaultless('keys that expire');
    await moveTo(`/accounts/data-platform?${TENANT}`);
    await page.getByRole('row').nth(1).waitFor();
    await page.keyboard.press('j');
    await page.getByRole('complementary').getByText('understood, the last').waitFor();
    await expectFaultless('the telemetry of an account and of a key');
    await moveTo(`/connect?${TENANT}`);
    await page.getByRole('button', { name: 'Create account and key' }).waitFor();
    await expectFaultless('nothing is connected');
    await moveTo(`/connect?${TENANT}&framework=pydantic-ai&account=data-platform&of=northwind`);
    await page.getByText('understood, the last').waitFor();
    await expectFaultless('a connected agent');
    await moveTo(`/accounts/data-platform?${TENANT}&new=1`);
    await page.getByRole('checkbox', { name: 'traces:write' }).waitFor();
    await expectFaultless('a new key');
    await moveTo(`/tenants/northwind?${TENANT}`);
    await page.getByRole('row').nth(1).waitFor();
    await expectFaultless('members');
    await moveTo(`/tenants/northwind?${TENANT}&view=settings`);
    await page.getByRole('button', { name: 'Save' }).waitFor();
    await expectFaultless('settings');
    await moveTo(`/tenants/northwind?${TENANT}&view=limits`);
    await page.getByRole('row').nth(1).waitFor();
    await expectFaultless('limits');
    await moveTo(`/audit?${TENANT}`);
    await page.getByRole('row').nth(1).waitFor();
    await page.getByText('The chain is intact').waitFor();
    await expectFaultless('audit');
    await moveTo('/profile?view=sessions');
    await page.getByText('this one').waitFor();
    await done();
  });
});

test('tables fit in windows of 1024 to 1440 pixels, also beside an open panel', async () => {
  const { page, moveTo, done } = await world.open('/tenants');
  const table = page.getByRole('region', { name: /, scrollable$/ });
  const expectFit = async (what: string, width: number) => {
    await page.setViewportSize({ width, height: 768 });
    const cut = () =>
      table.evaluate(
        (element: { scrollWidth: number; clientWidth: number }) => element.scrollWidth - element.clientWidth,
      );
    await expect.poll(cut, { message: `${what}: pixels that are cut off at ${width}` }).toBe(0);
    // Regression: in windows below 1,200 pixels a panel lay over the right part of the rows.
    const covered = await page.evaluate<number>(`(() => {
      const [list, panel] = ['[role=region][aria-label$=", scrollable"]', 'aside'].map((each) => document.querySelector(each));
      return panel === null ? 0 : list.getBoundingClientRect().right - panel.getBoundingClientRect().left;
    })()`);
    expect(covered, `${what}: pixels that the panel covers at ${width}`).toBeLessThanOrEqual(0);
  };
  const provider = `/providers/${await firstId('/v1/providers?tenant_id=northwind&name=knowledge-base')}`;
  const gateway = `/gateways/${await firstId('/v1/gateways?tenant_id=northwind&status=active')}`;
  for (const path of [
    '/tenants',
    '/inbox',
    '/inbox?group=provider',
    '/agents',
    '/traces',
    '/usage',
    '/usage?view=pairs',
    '/providers',
    '/manifests',
    '/accounts',
    '/accounts?view=expiring',
    '/people',
    '/gateways',
    '/tasks',
    '/audit',
    '/changes?view=applied',
    '/tenants/northwind',
    '/access?source=service_account:default/bootstrap',
    '/accounts/data-platform',
    gateway,
    provider,
    `${provider}?view=observations`,
    `${provider}?view=syncs`,
  ]) {
    await moveTo(`${path}${path.includes('?') ? '&' : '?'}${TENANT}`);
    await table.getByRole('row').nth(1).waitFor();
    for (const width of WIDTHS) await expectFit(path, width);
  }
  for (const view of ['new', 'seen_again', 'changed_definition', 'blocked', 'all']) {
    await moveTo(`/inbox?view=${view}&${TENANT}`);
    await table.getByRole('row').nth(1).waitFor();
    await page.keyboard.press('j');
    await page.getByRole('complementary').waitFor();
    for (const width of WIDTHS) await expectFit(`${view}, beside the panel`, width);
  }
  // The most important word of the most important list.
  await page.setViewportSize({ width: 1280, height: 800 });
  await moveTo(`/inbox?view=blocked&${TENANT}`);
  const name = table.getByText('delete_repository', { exact: true });
  await name.waitFor();
  expect(await name.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBeLessThanOrEqual(0);
  for (const path of [
    '/tasks',
    '/people',
    '/audit',
    '/changes?view=applied',
    '/accounts/data-platform',
    gateway,
    provider,
  ]) {
    await moveTo(`${path}${path.includes('?') ? '&' : '?'}${TENANT}`);
    await table.getByRole('row').nth(1).waitFor();
    await page.keyboard.press('j');
    await page.getByRole('complementary').waitFor();
    for (const width of WIDTHS) await expectFit(`${path}, beside the panel`, width);
  }
  await done();
});

test('a window of 320 pixels shows every screen without a horizontal scroll bar, and the menu and the palette lead from one to the other', async () => {
  const provider = await firstId('/v1/providers?tenant_id=northwind&name=knowledge-base');
  const agent = await firstId('/v1/agents?tenant_id=northwind&text=support');
  const gateway = await firstId('/v1/gateways?tenant_id=northwind&status=active');
  const trace = await firstId(
    '/v1/traces?tenant_id=northwind&errors_only=true',
    (item) => (item as unknown as { traceId: string }).traceId,
  );
  const { page, moveTo, settled, expectFaultless, done } = await world.open(`/inbox?${TENANT}`, { width: 320 });
  const overflow = () => page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
  const cutButtons = () =>
    page.evaluate<string[]>(`[...document.querySelectorAll(':is(form, aside) :is(button, input[type=text])')]
      .filter((each) => each.getBoundingClientRect().right > window.innerWidth).map((each) => each.outerHTML)`);
  for (const path of [
    '/changes',
    '/tasks',
    `/agents/${agent}`,
    '/map',
    '/usage',
    '/traces',
    `/traces/${trace}`,
    `/providers/${provider}`,
    `/providers/${provider}/plan`,
    '/manifests',
    `/gateways/${gateway}`,
    '/accounts',
    '/accounts/data-platform',
    '/people',
    '/tenants/northwind?view=limits',
    '/audit',
    '/profile',
    '/inbox',
  ]) {
    await moveTo(`${path}${path.includes('?') ? '&' : '?'}${TENANT}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await settled();
    expect(await overflow(), path).toBeLessThanOrEqual(0);
  }
  await moveTo('/accounts/data-platform?of=northwind&new=1');
  await page.getByRole('dialog').waitFor();
  expect(await cutButtons(), 'a new key').toEqual([]);
  await moveTo('/tenants/northwind?view=settings');
  const name = await page.getByRole('textbox', { name: 'Name' }).boundingBox();
  expect(name?.width, 'the form is as wide as the window').toBeGreaterThan(240);
  await moveTo(`/audit?${TENANT}`);
  await page.getByRole('row').nth(1).waitFor();
  await page.keyboard.press('j');
  await page.getByRole('complementary').waitFor();
  expect(await cutButtons(), 'an event').toEqual([]);
  await moveTo(`/inbox?${TENANT}`);
  await page.getByRole('row').nth(1).waitFor();
  await page.keyboard.press('j');
  await page.getByRole('complementary').getByRole('button', { name: 'Reject' }).click({ trial: true });
  await expectFaultless('an observation in a small window');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Go to or do' }).click();
  await page.getByRole('option', { name: 'Tasks' }).click();
  await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor();
  await done();
});

test('the address of the server redirects to the inbox of the console', async () => {
  const { page, done } = await world.open('/');
  await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  expect(page.url()).toBe(`${world.server.url}/console/inbox`);
  await done();
});

test('the command palette finds a screen by its name, and a list shows the keyboard shortcuts', async () => {
  const { page, expectFaultless, done } = await world.open(`/inbox?${TENANT}`);
  await page.getByRole('row').nth(1).waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  await expectFaultless('help');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  // Regression: the first letters were lost while the palette was shown step by step, as it is unless motion is reduced.
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  await page.keyboard.press('Control+k');
  await page.keyboard.type('trac');
  await page.emulateMedia({ reducedMotion: 'reduce' });
  expect(await page.getByRole('combobox', { name: 'Command' }).inputValue()).toBe('trac');
  await expectFaultless('palette');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Traces', level: 1 }).waitFor();
  expect(new URL(page.url()).search).toBe(`?${TENANT}`);
  await done();
});

test('a missing asset is 404, not the page', async () => {
  const answer = await fetch(`${world.server.url}/console/assets/index-none.js`);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([404, 'application/problem+json']);
});

test('the page is not cached; its assets are immutable and compressed', async () => {
  const page = await fetch(`${world.server.url}/console/inbox`);
  expect(page.headers.get('cache-control')).toBe('no-store');
  const html = await page.text();
  const nonce = /nonce-([^']+)'/.exec(page.headers.get('content-security-policy') ?? '')?.[1];
  expect(html).toContain(`nonce="${nonce}"`);
  const [script] = /\/console\/assets\/index-[^"]+\.js/.exec(html) ?? [''];
  const asset = await fetch(world.server.url + script, { headers: { 'accept-encoding': 'br' } });
  expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  expect(asset.headers.get('content-encoding')).toBe('br');
});
