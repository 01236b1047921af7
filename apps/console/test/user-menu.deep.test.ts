import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWorld, type World } from '../testing/world.ts';

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

test('the menu of the user chooses the colours, and is accessible', async () => {
  const { page, expectFaultless, done } = await world.open('/profile');
  await page.getByRole('button', { name: 'account and settings' }).click();
  await expectFaultless('the open menu');
  const dark = page.getByRole('menuitemradio', { name: 'Dark' });
  await dark.click();
  await page.locator('html[data-mantine-color-scheme=dark]').waitFor();
  expect(await dark.getAttribute('aria-checked')).toBe('true');
  await page.keyboard.press('Escape');
  await done();
});

test('every time is in the zone that the user chose, which is said on hover', async () => {
  const { page, moveTo, done } = await world.open('/profile');
  await page.getByRole('combobox', { name: 'Time zone' }).fill('Marquesas');
  await page.getByRole('option', { name: 'Pacific/Marquesas' }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Your profile was saved.').waitFor();
  await moveTo('/audit');
  const shown = page.getByRole('row').nth(1).locator('time');
  await shown.waitFor();
  const [time, title] = [await shown.getAttribute('datetime'), await shown.getAttribute('title')];
  // The Marquesas are 9 h 30 min behind UTC, the whole year.
  const there = new Date(Date.parse(time ?? '') - (9 * 60 + 30) * 60_000).toISOString();
  expect(title).toContain(there.slice(11, 19));
  expect(title).toMatch(/GMT[-−]9:30 \(Pacific\/Marquesas\)$/);

  // A day of the filter is a day in that zone, too.
  await page.getByRole('combobox', { name: 'Any time' }).click();
  await page.getByRole('option', { name: 'Between' }).click();
  const [request] = await Promise.all([
    page.waitForRequest((each) => each.url().includes('created_after=2026-03-10')),
    page.getByLabel('From').fill('2026-03-10T00:00'),
  ]);
  expect(new URL(request.url()).searchParams.get('created_after')).toBe('2026-03-10T09:30:00.000Z');
  await done();
});
