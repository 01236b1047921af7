import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWorld, type World } from '../testing/world.ts';

let world: World;

beforeAll(async () => {
  world = await startWorld({ isSeeded: false });
});
afterAll(() => world.close());

/** As when the user comes back to the tab: it reads again what it shows. */
const COME_BACK = `document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`;

test('a form does not overwrite what another person changed while it was open', async () => {
  const { server } = world;
  const as = server.admin;
  const body = { name: 'openai', kind: 'llm', description: 'first' };
  const { id } = await server.ok('POST', '/v1/providers', { as, body });
  const { page, expectAnswers, done } = await world.open(`/providers/${id}?edit=1`, { ownWindow: true });
  await page.getByRole('textbox', { name: 'Display name' }).fill('OpenAI');
  await server.ok('PUT', `/v1/providers/${id}`, { as, body: { ...body, description: 'of the other person' } });
  const read = page.waitForResponse((response) => response.url().includes(`/v1/providers/${id}`));
  await page.clock.install();
  await page.clock.fastForward(60_000);
  await page.evaluate(COME_BACK);
  await read;
  await page.getByText('of the other person').first().waitFor();
  expectAnswers(412);
  const save = page.getByRole('dialog').getByRole('button', { name: 'Save' });
  // The second click does not overwrite it either.
  for (let click = 0; click < 2; click += 1) {
    const refused = page.waitForResponse((response) => response.status() === 412);
    await save.click();
    await refused;
    await page.getByRole('alert').getByText('Another person has changed it since you opened this form').waitFor();
  }
  expect((await server.ok('GET', `/v1/providers/${id}`, { as })).description).toBe('of the other person');
  await done();
});

test('setting one limit of a tenant keeps the limits that another person set while the form was open', async () => {
  const { server } = world;
  const as = server.admin;
  const { id } = await server.ok('POST', '/v1/tenants', { as, body: { id: 'limited' } });
  const { page, done } = await world.open(`/tenants/${id}?view=limits&edit=1`);
  await page.getByRole('textbox', { name: 'Gateways' }).fill('7');
  await server.ok('PUT', `/v1/tenants/${id}/limits`, { as, body: { providers: 11 } });
  await page.getByRole('button', { name: 'Set the limits' }).click();
  await page.getByText('The limits were set.').waitFor();
  const { providers, gateways } = await server.ok('GET', `/v1/tenants/${id}/usage`, { as });
  expect([providers.limit, gateways.limit]).toEqual([11, 7]);
  await done();
});

test('the settings of a tenant keep what the user has typed, and what another person has saved meanwhile', async () => {
  const { server } = world;
  const as = server.admin;
  const { id } = await server.ok('POST', '/v1/tenants', { as, body: { id: 'settings' } });
  const { page, done } = await world.open(`/tenants/${id}?view=settings`, { ownWindow: true });
  const name = page.getByRole('textbox', { name: 'Name' });
  await name.fill('Of this person');
  await server.ok('PUT', `/v1/tenants/${id}`, { as, body: { settings: { spanRetentionDays: 30 } } });
  await page.clock.install();
  await page.clock.fastForward(60_000);
  await page.evaluate(COME_BACK);
  const kept = page.getByRole('textbox', { name: 'Days that traces are kept' });
  await expect.poll(() => kept.inputValue()).toBe('30');
  expect(await name.inputValue()).toBe('Of this person');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The settings were saved.').waitFor();
  const saved = await server.ok('GET', `/v1/tenants/${id}`, { as });
  expect(saved).toMatchObject({ displayName: 'Of this person', settings: { spanRetentionDays: 30 } });
  await done();
});
