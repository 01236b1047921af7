import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWorld, type World } from '../testing/world.ts';

const FORMULA = '=HYPERLINK("https://attacker.example")';
const TENANT = 'northwind';

let world: World;
let secret: string;

beforeAll(async () => {
  world = await startWorld();
  const as = world.server.admin;
  await world.server.ok('POST', '/v1/service-accounts', {
    as,
    body: { tenantId: TENANT, id: 'sheets', name: 'sheets' },
  });
  const path = `/v1/service-accounts/sheets/keys?tenant_id=${TENANT}`;
  const created = await world.server.ok('POST', path, { as, body: { name: FORMULA, scopes: ['traces:write'] } });
  secret = created.key;
});
afterAll(async () => {
  await world.server.ok('DELETE', `/v1/service-accounts/sheets?tenant_id=${TENANT}`, { as: world.server.admin });
  await world.close();
});

/** How many records a list of the API has. */
async function countAll(path: string, body?: object): Promise<number> {
  let count = 0;
  let cursor: string | null = null;
  do {
    const options = { as: world.server.admin };
    const page: { items: unknown[]; nextCursor: string | null } =
      body === undefined
        ? await world.server.ok('GET', `${path}${cursor === null ? '' : `&cursor=${cursor}`}`, options)
        : await world.server.ok('POST', path, { ...options, body: { ...body, ...(cursor !== null && { cursor }) } });
    count += page.items.length;
    cursor = page.nextCursor;
  } while (cursor !== null);
  return count;
}

const IN_TENANT = `tenant_id=${TENANT}&limit=100`;

test.each([
  [
    '/usage?',
    'usage',
    () => countAll(`/v1/usage?${IN_TENANT}&kind=model&group_by=kind&group_by=provider&group_by=name`),
  ],
  ['/inbox?view=all&', 'observations', () => countAll(`/v1/runtime-observations?${IN_TENANT}`)],
  ['/inbox?view=all&kind=tool&', 'observations', () => countAll(`/v1/runtime-observations?${IN_TENANT}&kind=tool`)],
  // The file has the observations of the groups.
  ['/inbox?view=all&group=provider&', 'observations', () => countAll(`/v1/runtime-observations?${IN_TENANT}`)],
  ['/agents?', 'agents', () => countAll(`/v1/agents?${IN_TENANT}`)],
  ['/accounts?view=keys&', 'keys', () => countAll('/v1/credentials/search', { kind: 'api_key', tenantId: TENANT })],
  [
    '/audit?operation=create_provider&',
    'audit',
    () => countAll(`/v1/audit-events?${IN_TENANT}&operation=create_provider`),
  ],
])('%s saves everything that its filter finds as CSV', async (path, name, count) => {
  const { page, done } = await world.open(`${path}tenant=${TENANT}`);
  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save as CSV' }).click();
  const download = await saved;
  expect(download.suggestedFilename()).toMatch(new RegExp(`^${name}-\\d{4}-\\d\\d-\\d\\d\\.csv$`));
  const text = await readFile(await download.path(), 'utf8');
  const rows = await count();
  expect(rows).toBeGreaterThan(0);
  expect(text.trimEnd().split('\r\n')).toHaveLength(rows + 1);
  await page.getByText(`Saved ${rows} row`).waitFor();
  expect(text).not.toContain(secret);
  // Each price by its id in the list and the version of the list.
  if (name === 'usage') expect(text).toMatch(/,[\w.-]+\/[\w.:-]+@[\w.-]+\r\n/);
  if (name === 'keys') {
    expect(text).toContain(`"'${FORMULA.replaceAll('"', '""')}"`);
    expect(text).not.toContain(secret.slice(-20));
  }
  await done();
});
