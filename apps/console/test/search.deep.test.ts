import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWorld, type World } from '../testing/world.ts';

const TENANT = 'tenant=northwind';

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

const read = (path: string) => world.server.ok('GET', path, { as: world.server.admin });

test.each([
  ['/providers', 'Search providers', 'KNOWledge', 'knowledge-base'],
  ['/people', 'Search names and emails', 'FISCH', 'Ada Fischer'],
  ['/people', 'Search names and emails', 'ada.fischer@', 'Ada Fischer'],
  ['/tenants/northwind', 'Search members', 'PRIYA', 'priya.nair@northwind.example'],
])('%s finds a part of a name, and says when nothing has it', async (path, label, part, name) => {
  const { page, done } = await world.open(`${path}?${TENANT}`);
  const box = page.getByRole('textbox', { name: label });
  const rows = page.getByRole('row');
  await rows.nth(1).waitFor();
  await box.fill(part);
  await page.waitForURL(/[?&]q=/);
  await expect.poll(() => rows.count()).toBe(2);
  expect(await rows.nth(1).textContent()).toContain(name);
  await box.fill('%');
  await page.getByRole('heading', { name: /matches/ }).waitFor();
  await done();
});

test.each([
  ['/providers', 'Providers', ['Provider', 'Kind', 'Status', 'Health', 'Last sync'], '/v1/providers'],
  [
    '/inbox?view=all',
    'Observations',
    ['Risk', 'What', 'Status', 'Decided', 'At provider', 'Last seen', 'Calls'],
    '/v1/runtime-observations',
  ],
  [
    '/inbox',
    'Observations',
    ['Risk', 'What', 'At provider', 'First seen', 'Last seen', 'Calls'],
    '/v1/runtime-observations',
  ],
])('%s is sorted from the header of each column that the API can sort', async (path, label, headers, api) => {
  // All columns fit into a wide window.
  const { page, settled, done } = await world.open(`${path}${path.includes('?') ? '&' : '?'}${TENANT}`, {
    width: 1900,
  });
  const table = page.getByRole('table', { name: label });
  await table.getByRole('row').nth(1).waitFor();
  for (const header of headers) {
    const column = table.getByRole('columnheader', { name: header, exact: true });
    await column.getByRole('button').click();
    await expect.poll(() => column.getAttribute('aria-sort')).toMatch(/ascending|descending/);
    await settled();
    const { searchParams } = new URL(page.url());
    const query = new URLSearchParams({ tenant_id: 'northwind', limit: '1', sort: searchParams.get('sort') ?? '' });
    if (path === '/inbox') query.set('view', 'new');
    const [first] = (await read(`${api}?${query.toString()}`)).items;
    await expect
      .poll(() => table.getByRole('row').nth(1).textContent(), { message: header })
      .toContain(first.displayName ?? first.name);
    await column.getByRole('button').click();
    await expect.poll(() => column.getAttribute('aria-sort')).toBe('none');
  }
  await done();
});
