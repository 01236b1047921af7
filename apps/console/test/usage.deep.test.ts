import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWorld, type World } from '../testing/world.ts';

const TENANT = 'tenant=northwind';

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

type Row = {
  name: string;
  agent: string;
  account: string;
  calls: number;
  inputTokens: number;
  outputTokens: number;
  cost: { unpricedCalls: number; prices: object[] } | null;
};

/** The usage of the tenant, as the API answers it. */
async function usage(query: string): Promise<Row[]> {
  const path = `/v1/usage?tenant_id=northwind&limit=1000&${query}`;
  return (await world.server.ok('GET', path, { as: world.server.admin })).items;
}

const total = (rows: readonly Row[], valueOf: (row: Row) => number) => rows.reduce((sum, row) => sum + valueOf(row), 0);
const tokensOf = ({ inputTokens, outputTokens }: Row) => inputTokens + outputTokens;

test('models are sorted by calls, cost or tokens, and lead to the agents that used them, and these to all that they used', async () => {
  const { page, settled, done } = await world.open(`/usage?${TENANT}`);
  const names = () => page.getByRole('row').getByRole('link').allTextContents();
  const firstOf = (rows: readonly Row[], valueOf: (row: Row) => number) =>
    rows.toSorted((a, b) => valueOf(b) - valueOf(a))[0]?.name;
  const models = await usage('kind=model&group_by=provider&group_by=name');
  const mostCalled = firstOf(models, ({ calls }) => calls);
  const mostTokens = firstOf(models, tokensOf);
  await expect.poll(async () => (await names())[0]).toBe(mostCalled);
  const [mostExpensive] = await usage('kind=model&group_by=kind&group_by=provider&group_by=name&sort=cost');
  await page.getByRole('columnheader', { name: 'Cost' }).getByRole('button').click();
  await expect.poll(async () => (await names())[0]).toBe(mostExpensive?.name);
  await page.getByRole('columnheader', { name: 'Tokens' }).getByRole('button').click();
  await expect.poll(async () => (await names())[0]).toBe(mostTokens);

  const agents = await usage(`kind=model&name=${mostTokens}&group_by=agent`);
  expect(agents.length).toBeGreaterThan(0);
  await page
    .getByRole('link', { name: mostTokens ?? '', exact: true })
    .first()
    .click();
  await page.getByText(`Only calls of the model ${mostTokens}`).waitFor();
  await settled();
  expect((await names()).toSorted()).toEqual(agents.map(({ agent }) => agent).toSorted());

  const agent = agents[0]?.agent ?? '';
  const used = await usage(`kind=model&agent=${agent}&group_by=provider&group_by=name`);
  await page.getByRole('link', { name: agent, exact: true }).click();
  await page.getByText(`Only calls by ${agent}`).waitFor();
  await settled();
  for (const { name } of used) await page.getByRole('link', { name, exact: true }).first().waitFor();
  // Also with a filter.
  await page.getByText('Costs are an estimate by list prices').waitFor();
  await page.getByRole('button', { name: 'Show all again' }).click();
  await page.getByText('an estimate by list prices').waitFor();
  const unpriced = total(models, ({ cost }) => cost?.unpricedCalls ?? 0);
  expect(unpriced).toBeGreaterThan(0);
  await page.getByText(`, without ${unpriced.toLocaleString('en-US')} call`).waitFor();
  await done();
});

test('the models of each agent add up to all tokens, and the request can be copied', async () => {
  const { page, context, moveTo, done } = await world.open(`/usage?${TENANT}`);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'Models of each agent' }).click();
  await page.getByRole('columnheader', { name: 'Agent' }).waitFor();
  const pairs = await usage('kind=model&group_by=agent&group_by=kind&group_by=provider&group_by=name');
  expect(total(pairs, tokensOf)).toBe(total(await usage('kind=model'), tokensOf));
  await expect.poll(() => page.getByRole('table', { name: 'Usage' }).getByRole('row').count()).toBe(pairs.length + 1);
  await page.getByRole('button', { name: 'More', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Copy as curl' }).click();
  const copied = await page.evaluate<string>('navigator.clipboard.readText()');
  expect(copied).toContain('group_by=agent&group_by=kind&group_by=provider&group_by=name&sort=calls');
  // The account is a link within a sentence.
  const [{ account } = { account: '' }] = await usage('group_by=account');
  await moveTo(`/usage?${TENANT}&view=agents&account=${account}`);
  await page.getByText('Only calls, reported by').waitFor();
  await page.getByRole('table', { name: 'Usage' }).waitFor();
  await done();
});

test('a price is set in a form that names a wrong amount, costs are computed with it, and it is deleted again', async () => {
  const { page, done } = await world.open(`/tenants/northwind?${TENANT}&view=prices`);
  await page.getByText('List prices alone').waitFor();
  await page.getByRole('button', { name: 'Set a price' }).click();
  const form = page.getByRole('dialog');
  await form.getByLabel('Models').fill('*');
  await form.getByLabel('From this day on').fill('2020-01-01');
  await form.getByLabel('Input, $').fill('a dollar');
  await form.getByText('Dollars, such as 1.25').waitFor();
  await form.getByLabel('Input, $').fill('2.5');
  await form.getByLabel('Output, $').fill('10');
  await form.getByRole('button', { name: 'Set the price' }).click();
  await page.getByText('The price of * is set.').waitFor();
  const { items } = await world.server.ok('GET', '/v1/prices?tenant_id=northwind', { as: world.server.admin });
  expect(items).toMatchObject([
    {
      tenantId: 'northwind',
      modelPattern: '*',
      validFrom: '2020-01-01',
      inputPrice: 2_500_000,
      outputPrice: 10_000_000,
      cacheReadPrice: null,
      cacheWritePrice: null,
    },
  ]);
  const [all] = await usage('kind=model');
  expect(all?.cost?.prices).toEqual([{ source: 'tenant', id: items[0].id, version: null }]);

  const table = page.getByRole('table', { name: 'Prices' });
  await table.getByText('$2.50').waitFor();
  await table.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete the price' }).click();
  await page.getByText('The price of * was deleted.').waitFor();
  await page.getByText('List prices alone').waitFor();
  await done();
});
