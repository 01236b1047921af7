import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWorld, type World } from '../testing/world.ts';

const TENANT = 'tenant=northwind';

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

const read = (path: string) => world.server.ok('GET', path, { as: world.server.admin });

test('the palette finds records of each kind, and opens them', async () => {
  const { items: agents } = await read(`/v1/agents?tenant_id=northwind&limit=1`);
  const first = async (kind: string) =>
    (await read(`/v1/runtime-observations?tenant_id=northwind&kind=${kind}`)).items[0];
  const body = { kind: 'api_key', tenantId: 'northwind', limit: 1 };
  const { items: keys } = await world.server.ok('POST', '/v1/credentials/search', { as: world.server.admin, body });
  const { items: traces } = await read('/v1/traces?tenant_id=northwind&limit=1');
  const [model, tool] = [await first('model'), await first('tool')];
  const { page, settled, done } = await world.open(`/profile?${TENANT}`);
  const choose = async (typed: string, option: RegExp) => {
    await page.getByRole('heading', { level: 1 }).waitFor();
    await settled();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Command' }).fill(typed);
    await page.getByRole('option', { name: option }).first().click();
  };
  await choose(agents[0].name, /Agent, northwind$/);
  await page.waitForURL(new RegExp(`/agents/${agents[0].id}\\?${TENANT}`));
  for (const [{ id, name }, group] of [
    [model, 'Model'],
    [tool, 'Tool'],
  ]) {
    await choose(name, new RegExp(`^${name} ?${group}, `));
    await page.waitForURL(new RegExp(`/inbox\\?.*item=${id}`));
    await page.getByRole('complementary').getByRole('heading', { name }).waitFor();
  }
  await choose('fischer', /^Ada Fischer ?Person/);
  await page.getByRole('complementary', { name: 'Ada Fischer' }).waitFor();
  await choose(keys[0].id, /Key of/);
  await page.waitForURL(new RegExp(`/accounts/${keys[0].ownerId}\\?.*item=${keys[0].id}`));
  await choose(traces[0].traceId, /Trace$/);
  await page.waitForURL(new RegExp(`/traces/${traces[0].traceId}`));
  await choose(keys[0].ownerId, /^Create a key for/);
  await page.getByRole('dialog', { name: /key/i }).waitFor();
  await page.keyboard.press('Escape');
  await done();
});

test('the palette finds actions, and says that nothing has a name', async () => {
  const { page, expectFaultless, done } = await world.open(`/profile?${TENANT}`);
  const box = page.getByRole('combobox', { name: 'Command' });
  await page.getByRole('heading', { level: 1 }).waitFor();
  for (const action of [
    'Create a key',
    'Connect an agent',
    'Declare a provider',
    'Invite a person',
    'Create a tenant',
  ]) {
    await page.keyboard.press('Control+k');
    await box.fill(action);
    await page.getByRole('option', { name: action }).first().waitFor();
    await page.keyboard.press('Escape');
    await box.waitFor({ state: 'detached' });
  }
  await page.keyboard.press('Control+k');
  await box.fill('no record has this name');
  await page.getByText('Nothing has this name.').waitFor();
  await expectFaultless('palette without a result');
  await box.fill('invite a person');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: /Invite a person to/ }).waitFor();
  await page.keyboard.press('Escape');
  await done();
});

test('the palette finds a model that is declared and was never used, at its provider', async () => {
  const { items } = await read('/v1/providers?tenant_id=northwind&status=active&kind=llm');
  const path = `/v1/providers/${items[0].id}/inventory`;
  const body = { kind: 'model', name: 'never-used-model' };
  const item = await world.server.ok('POST', path, { as: world.server.admin, body });
  const { page, done } = await world.open(`/profile?${TENANT}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Command' }).fill('NEVER-used');
  const option = page.getByRole('option', { name: /^never-used-model ?Model, declared as available/ });
  await option.click();
  await page.waitForURL(new RegExp(`/providers/${items[0].id}\\?.*item=${item.id}`));
  await page.getByRole('complementary').getByRole('heading', { name: 'never-used-model' }).waitFor();
  await done();
});

test('the palette asks nothing that the scopes of the user do not permit', async () => {
  const { page, settled, done } = await world.open(`/inbox?${TENANT}`, { as: 'jonas.weber@northwind.example' });
  await page.getByRole('row').nth(1).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Command' }).fill('fischer');
  await page.getByText('Nothing has this name.').waitFor();
  await settled();
  await done();
});

test('the key of the palette is shown as the keyboard of the user has it', async () => {
  const { page, context, done } = await world.open('/profile', { ownWindow: true });
  const button = page.getByRole('button', { name: 'Go to or do' });
  await expect.poll(() => button.textContent()).toContain('Ctrl K');
  const agent = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)';
  await context.addInitScript(`Object.defineProperty(navigator, 'userAgent', { get: () => '${agent}' })`);
  await page.reload();
  await expect.poll(() => button.textContent()).toContain('⌘K');
  await done();
});
