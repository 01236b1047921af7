import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startLoop } from '../testing/loop.ts';
import { signInByForm } from '../testing/sign-in.ts';
import { startWorld, type World } from '../testing/world.ts';

let world: World;

beforeAll(async () => {
  world = await startWorld({ isSeeded: false });
});
afterAll(() => world.close());

test('the governance loop by mouse, from the sign-in to the sign-out: approve, plan, apply, undo; a rejected model that is used again is blocked', async () => {
  const loop = await startLoop(world.server);
  await loop.use('gpt-5', 'o9-preview', 'o9-dark');
  const { email } = await loop.operator();
  const { page, expectFaultless, done } = await world.open(`/inbox?tenant=${loop.tenantId}`, { as: null });
  await signInByForm(page, world.server, email);
  const panel = page.getByRole('complementary');

  await openRow(page, 'o9-preview');
  await panel.getByRole('textbox', { name: 'Note' }).fill('Asked for by billing.');
  await panel.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByText('o9-preview: approved.').waitFor();
  expect(await loop.inventory()).toEqual(['gpt-5: available']);
  await expectFaultless('approved');

  await openRow(page, 'o9-dark');
  await panel.getByRole('button', { name: 'Reject', exact: true }).click();
  await page.getByText('o9-dark: rejected.').waitFor();

  await panel.getByRole('link', { name: 'openai' }).click();
  await page.getByRole('button', { name: 'Plan changes' }).click();
  await page.getByRole('heading', { name: '1 added, 0 changed, 0 removed' }).waitFor();
  await expectFaultless('the plan');
  await page.getByRole('button', { name: 'Apply 1 change' }).click();
  const question = page.getByRole('dialog', { name: 'Apply 1 change at openai?' });
  await question.getByText('1 added, 0 changed, 0 removed. No running session ends.').waitFor();
  expect(await loop.inventory()).toEqual(['gpt-5: available']);
  await question.getByRole('button', { name: 'Apply all 1' }).click();
  const receipt = page.getByRole('region', { name: 'Receipt' });
  await receipt.getByText('Applied: 1 added').waitFor();
  expect(await loop.inventory()).toEqual(['gpt-5: available', 'o9-preview: available']);
  await expectFaultless('the receipt');
  await receipt.getByRole('button', { name: 'Undo all of it' }).click();
  await page.getByText('1 change undone.').waitFor();
  expect(await loop.inventory()).toEqual(['gpt-5: available']);

  await loop.use('o9-dark');
  await page.getByRole('link', { name: 'Inbox' }).click();
  await page.getByRole('button', { name: /Seen again after rejection/ }).click();
  await openRow(page, 'o9-dark');
  await panel.getByText('Rejected, and used again').waitFor();
  await panel.getByRole('button', { name: 'Block', exact: true }).click();
  await page.getByText('Blocked.', { exact: true }).waitFor();
  expect(await loop.inventory()).toEqual(['gpt-5: available', 'o9-dark: blocked']);

  await page.getByRole('button', { name: /account and settings/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Signed out' }).waitFor();
  await done();
});

async function openRow(page: Page, name: string): Promise<void> {
  await page.getByRole('row', { name: new RegExp(name) }).click({ position: { x: 300, y: 18 } });
  await page.getByRole('complementary').getByRole('heading', { name }).waitFor();
}
