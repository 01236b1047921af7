import { afterAll, beforeAll, expect, test } from 'vitest';
import { startLoop } from '../testing/loop.ts';
import { startWorld, type World } from '../testing/world.ts';

const WIDTH = 390;

let world: World;

beforeAll(async () => {
  world = await startWorld({ isSeeded: false });
});
afterAll(() => world.close());

test('a menu leads to every screen on a phone, and closes on the way', async () => {
  const { page, expectFaultless, done } = await world.open('/inbox', { width: WIDTH });
  const menu = page.getByRole('button', { name: 'Menu' });
  const links = page.getByRole('navigation', { name: 'Screens' }).getByRole('link');
  await menu.waitFor();
  expect(await links.count()).toBe(0);
  await menu.click();
  expect(await links.allTextContents()).toEqual(expect.arrayContaining(['Inbox', 'Tasks', 'Traces', 'Audit']));
  await expectFaultless('the open menu');
  await links.getByText('Tasks').click();
  await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor();
  expect(await links.count()).toBe(0);
  await done();
});

test('on a phone each row of a table is a card that names its values', async () => {
  const loop = await startLoop(world.server);
  await loop.use('o9-preview');
  const { page, done } = await world.open(`/inbox?tenant=${loop.tenantId}`, { width: WIDTH });
  const row = page.getByRole('row').nth(1);
  await row.waitFor();
  for (const header of ['What', 'Risk', 'At provider', 'Called by', 'Last seen']) {
    const value = row.locator(`[role=cell][data-header="${header}"]`);
    const box = await value.boundingBox();
    expect((box?.x ?? 0) + (box?.width ?? 0), `${header}: in view`).toBeLessThanOrEqual(WIDTH);
    expect(box?.height, `${header}: not cut off`).toBeGreaterThan(10);
  }
  await done();
});

test('on a phone an observation is approved or rejected with the thumb: the buttons are at the bottom, however much is above', async () => {
  const loop = await startLoop(world.server);
  await loop.use('o9-preview', 'o9-mini');
  const { page, done } = await world.open(`/inbox?tenant=${loop.tenantId}`, { width: WIDTH });
  const panel = page.getByRole('complementary');
  await page.getByText('o9-preview').click();
  for (const name of ['Approve', 'Approve and apply', 'Reject', 'Ignore']) {
    const box = await panel.getByRole('button', { name, exact: true }).boundingBox();
    expect(box?.y, `${name}: in the lower half`).toBeGreaterThan(400);
    expect((box?.y ?? 0) + (box?.height ?? 0), `${name}: in view`).toBeLessThanOrEqual(800);
    expect(box?.height, `${name}: large enough`).toBeGreaterThanOrEqual(44);
  }
  await panel.getByRole('button', { name: 'Reject' }).click();
  await page.getByText('o9-preview: rejected.').waitFor();
  const next = panel.getByRole('button', { name: 'Next open one' });
  expect((await next.boundingBox())?.height, 'Next open one: large enough').toBeGreaterThanOrEqual(44);
  await next.click();
  await panel.getByRole('heading', { name: 'o9-mini' }).waitFor();
  expect(await next.count()).toBe(0);
  await panel.getByRole('button', { name: 'Close panel' }).click();
  await page.getByRole('row').filter({ hasText: 'o9-mini' }).getByRole('checkbox').click();
  const approve = page.getByRole('toolbar').getByRole('button', { name: 'Approve' });
  const box = await approve.boundingBox();
  expect((box?.y ?? 0) + (box?.height ?? 0), 'the decision about the selection is in view').toBeLessThanOrEqual(800);
  await approve.click();
  await page.getByRole('dialog').getByRole('button', { name: 'Approve 1' }).click();
  await page.getByText('1 observation approved.').waitFor();
  expect(await loop.observationOf('o9-mini')).toMatchObject({ review: { decision: 'approved' } });
  await done();
});
