import { accountWithKey } from '@quartermaster/api/test/support/people.ts';
import { chat, sendSpans, toolRun } from '@quartermaster/api/test/telemetry/traces/sending.ts';
import { scaled } from '@quartermaster/db/testing/scale.ts';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startLoop } from '../testing/loop.ts';
import { startWorld, type World } from '../testing/world.ts';

/** More than the inbox reads in one page, and more than it decides about at once. The full form has more than it sorts. */
const COUNT = scaled({ usual: 1200, full: 5000 });

/** So many of them are of one kind of tool, which a filter finds. */
const EXPORTS = 240;

const BATCH = 500;
const TENANT = 'many';
const INBOX = `/inbox?tenant=${TENANT}`;

let world: World;

beforeAll(async () => {
  world = await startWorld({ isSeeded: false });
  const agent = await accountWithKey(world.server, { tenantId: TENANT }, ['traces:write']);
  const start = BigInt(Date.now()) * 1_000_000n;
  const names = Array.from({ length: COUNT }, (_, index) => (index < EXPORTS ? `export_${index}` : `tool_${index}`));
  for (let from = 0; from < COUNT; from += BATCH) {
    const batch = names.slice(from, from + BATCH);
    await sendSpans(
      world.server,
      agent,
      batch.map((name) => ({ ...toolRun(name), start })),
    );
  }
});
afterAll(() => world.close());

const countOf = async (query: string): Promise<number> => {
  const path = `/v1/runtime-observations/counts?tenant_id=${TENANT}${query}`;
  return (await world.server.ok('GET', path, { as: world.server.admin })).new;
};

/** All that the list reads by itself: everything, or the 2,000 that it sorts. "1,000 loaded, more below" stands between two pages. */
const READ = / in all|^[2-9],\d{3} loaded, more below/;

const listIsRead = (page: Page) => page.getByRole('status').getByText(READ).waitFor();

const activeRow = (page: Page) => page.locator('[role=row][aria-current=true]');

test('thousands of observations: the keys and the scroll bar reach the last one, and the page holds only what is in view', async () => {
  const { page, done } = await world.open(INBOX);
  const table = page.getByRole('table', { name: 'Observations' });
  await table.getByRole('row').nth(2).waitFor();
  for (let step = 0; step < 60; step += 1) await page.keyboard.press('j');
  await activeRow(page).waitFor();
  expect(Number(await activeRow(page).getAttribute('aria-rowindex'))).toBe(61);
  await page.getByRole('complementary').getByRole('button', { name: 'Reject', exact: true }).waitFor();
  await page.keyboard.press('Escape');

  const scroller = page.getByRole('region', { name: 'Observations, scrollable' });
  const total = await countOf('');
  expect(total).toBeGreaterThanOrEqual(COUNT);
  await expect
    .poll(
      async () => {
        await scroller.evaluate((element: { scrollTop: number; scrollHeight: number }) => {
          element.scrollTop = element.scrollHeight;
        });
        return table.locator(`[aria-rowindex="${total + 1}"]`).count();
      },
      { interval: 50 },
    )
    .toBe(1);
  expect(await table.getByRole('row').count()).toBeLessThan(80);
  await page
    .getByRole('status')
    .getByText(`${total.toLocaleString('en-US')} in all`)
    .waitFor();
  // Half a row below the head of the table would count as a target that is too small.
  await scroller.evaluate((element: { scrollTop: number }) => {
    element.scrollTop = 0;
  });
  await table.locator('[aria-rowindex="2"]').waitFor();
  await done();
});

test('former rows stay in view, dimmed, until the filtered list is there, and then all leave', async () => {
  const { page, done } = await world.open(INBOX);
  const scroller = page.getByRole('region', { name: 'Observations, scrollable' });
  await listIsRead(page);
  const answer = Promise.withResolvers<void>();
  await page.route(/runtime-observations\?.*text=export_/, async (route) => {
    await answer.promise;
    await route.continue();
  });
  await page.getByRole('textbox', { name: 'Search names' }).fill('export_');
  await page.locator('[aria-busy=true]').and(scroller).waitFor();
  expect(await scroller.locator('[data-key]').count()).toBeGreaterThan(10);
  await page.getByRole('status').getByText('Filtering').waitFor();
  answer.resolve();
  // A former row that stayed as if a person had decided about it would be counted.
  await page.getByRole('status').getByText(`${EXPORTS} in all`).waitFor();
  expect(await scroller.getAttribute('aria-busy')).toBe('false');
  await done();
});

test('a decision about one observation reads the counts again, and not the pages of the list', async () => {
  const { page, done } = await world.open(INBOX);
  await listIsRead(page);
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  const reject = page.getByRole('complementary').getByRole('button', { name: 'Reject', exact: true });
  await reject.waitFor();
  const newView = page.getByRole('button', { name: /^New/ });
  const before = Number((await newView.textContent())?.replaceAll(/\D/g, ''));
  const asked: string[] = [];
  page.on('request', (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
  await page.keyboard.press('r');
  await activeRow(page).getByText('rejected').waitFor();
  await expect.poll(() => newView.textContent()).toBe(`New${(before - 1).toLocaleString('en')}`);
  expect(asked.filter((request) => request === 'GET /v1/runtime-observations')).toEqual([]);
  expect(asked.filter((request) => request.endsWith('/counts'))).toHaveLength(1);
  // The row keeps its place, and the decision can be withdrawn.
  expect(await activeRow(page).getAttribute('aria-rowindex')).toBe('3');
  await page.keyboard.press('z');
  await expect.poll(() => newView.textContent()).toBe(`New${before.toLocaleString('en')}`);
  expect(await activeRow(page).getByText('rejected').count()).toBe(0);
  expect(asked.filter((request) => request === 'GET /v1/runtime-observations')).toEqual([]);
  await done();
});

test('regression: pages that were read before a decision and come after it do not undo it on the screen', async () => {
  const { page, moveTo, done } = await world.open('/providers');
  const read = Promise.withResolvers<void>();
  const decided = Promise.withResolvers<void>();
  let status = 0;
  await page.route(
    /runtime-observations\?.*cursor=/,
    async (route) => {
      // The browser adds this header by itself, so the copy of the request lacks it, and the server would refuse the session.
      const headers = { ...(await route.request().allHeaders()), 'sec-fetch-site': 'same-origin' };
      const response = await route.fetch({ headers });
      status = response.status();
      read.resolve();
      await decided.promise;
      await route.fulfill({ response });
    },
    { times: 1 },
  );
  await moveTo(INBOX);
  await page.getByRole('row').nth(2).waitFor();
  await read.promise;
  await page.keyboard.press('j');
  await page.getByRole('complementary').getByRole('button', { name: 'Reject', exact: true }).waitFor();
  const key = await activeRow(page).getAttribute('data-key');
  await page.keyboard.press('r');
  await page.getByRole('button', { name: 'Undo' }).waitFor();
  decided.resolve();
  await listIsRead(page);
  expect(status).toBe(200);
  await page.locator(`[data-key="${key}"]`).getByText('rejected').waitFor();
  await page.keyboard.press('z');
  await page.getByText('The decision was withdrawn.').waitFor();
  await done();
});

test('more than can be decided at once: the first 500 are, and the number of new ones is not of those that were read', async () => {
  const { page, done } = await world.open(INBOX);
  const tile = page.getByRole('list', { name: 'The last 14 days' }).getByRole('listitem').filter({ hasText: 'New' });
  // Only the first page was read.
  await tile.getByText('100+').waitFor();
  await listIsRead(page);
  await page.getByRole('checkbox').first().check();
  await page.getByRole('button', { name: 'Take the first 500' }).click();
  await page.getByRole('toolbar').getByText('500 selected').waitFor();
  const reject = page.getByRole('toolbar').getByRole('button', { name: 'Reject' });
  expect(await reject.getAttribute('aria-disabled')).toBeNull();
  await done();
});

test('everything that a filter finds is decided at once, wherever it is in the list', async () => {
  const { page, done } = await world.open(INBOX);
  await page.getByRole('row').nth(2).waitFor();
  await page.getByRole('textbox', { name: 'Search names' }).fill('export_');
  await page.getByRole('status').getByText(`${EXPORTS} in all`).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('row').nth(1).getByRole('checkbox').check();
  await page.getByRole('button', { name: `Take all ${EXPORTS} that match` }).click();
  await page.getByRole('toolbar').getByRole('button', { name: 'Reject' }).click();
  const dialog = page.getByRole('dialog', { name: `Reject ${EXPORTS} observations?` });
  await dialog.getByRole('textbox').fill('No exports.');
  await dialog.getByRole('button', { name: `Reject ${EXPORTS}` }).click();
  await page.getByText(`${EXPORTS} observations rejected.`).waitFor();
  expect(await countOf('&text=export_')).toBe(0);
  expect(await countOf('')).toBeGreaterThanOrEqual(COUNT - EXPORTS);
  await done();
});

test('everything of one provider is one row, and one decision, however much it is', async () => {
  const path = `/v1/runtime-observations/groups?tenant_id=${TENANT}&by=provider&view=new`;
  const { items } = await world.server.ok('GET', path, { as: world.server.admin });
  const { key, count } = items.toSorted((a: { count: number }, b: { count: number }) => b.count - a.count)[0];
  expect(count, 'more than one request decides about').toBeGreaterThan(500);
  const { page, expectFaultless, done } = await world.open(INBOX);
  await page.getByRole('combobox', { name: 'Not grouped' }).click();
  await page.getByRole('option', { name: 'By provider' }).click();
  const row = page.locator(`[role=row][data-key="${key}"]`);
  await row.waitFor();
  await expectFaultless('groups');
  await row.getByRole('button', { name: 'Decide' }).click();
  const dialog = page.getByRole('dialog', { name: /^Decide about/ });
  await dialog.getByRole('textbox').fill('A trial.');
  await expectFaultless('a decision about a group');
  await dialog.getByRole('button', { name: /^Ignore/ }).click();
  await page.getByText(/observations ignored\.$/).waitFor();
  await dialog.waitFor({ state: 'detached' });
  expect(await countOf(`&provider_id=${key}`)).toBe(0);
  await row.waitFor({ state: 'detached' });
  await done();
});

test('a row of the inbox by agent opens what the agent called', async () => {
  const loop = await startLoop(world.server);
  await loop.use('o9-preview');
  const { page, done } = await world.open(`/inbox?tenant=${loop.tenantId}&group=agent`);
  await page.getByRole('row').nth(1).waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.getByRole('table', { name: 'Observations' }).getByText('o9-preview').waitFor();
  const { searchParams } = new URL(page.url());
  expect([searchParams.get('group'), searchParams.get('agent')]).toEqual([null, expect.any(String)]);
  await page.getByRole('combobox', { name: 'Agent' }).waitFor();
  await done();
});

test('a plan has what was approved, although telemetry caused more than a thousand other recommendations since', async () => {
  const { server } = world;
  const tenantId = 'flooded';
  const agent = await accountWithKey(server, { tenantId }, ['traces:write']);
  const body = { name: 'openai', kind: 'llm', tenantId };
  const { id: providerId } = await server.ok('POST', '/v1/providers', { as: server.admin, body });
  await sendSpans(server, agent, [chat('gpt-5', { 'gen_ai.provider.name': 'openai' })]);
  const observations = `/v1/providers/${providerId}/observations`;
  const { items } = await server.ok('GET', observations, { as: server.admin });
  const review = `/v1/runtime-observations/${items[0].id}/review`;
  await server.ok('POST', review, { as: server.admin, body: { decision: 'approved' } });
  for (let from = 0; from <= 1000; from += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, index) => toolRun(`tool_${from + index}`));
    await sendSpans(server, agent, batch);
  }
  const { page, done } = await world.open(`/changes?tenant=${tenantId}`);
  await page.getByRole('heading', { name: '1 added, 0 changed, 0 removed at 1 provider' }).waitFor();
  await page.getByRole('button', { name: 'Apply 1 change' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Apply all 1' }).click();
  await page.getByText('1 change applied.').waitFor();
  await done();
});
