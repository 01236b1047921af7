import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signInByForm } from '../testing/sign-in.ts';
import { startWorld, type World } from '../testing/world.ts';

const TENANT = 'tenant=northwind';
const PRIYA = 'priya.nair@northwind.example';
const ADA = 'ada.fischer@northwind.example';

/** Longer than a session lasts without a request. */
const IDLE_MS = 3 * 60 * 60 * 1000;

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

const signIn = (page: Page) => signInByForm(page, world.server, PRIYA);

const dialogOf = (page: Page) => page.getByRole('dialog', { name: 'Your session has ended' });

test('a link that is opened without a session signs in and shows its view; the sign-out ends it', async () => {
  const { page, context, expectFaultless, done } = await world.open(`/traces?${TENANT}&errors=1`, { as: null });
  await signIn(page);
  await page.waitForURL(`${world.server.url}/console/traces?${TENANT}&errors=1`);
  await page.getByRole('row').nth(1).waitFor();
  await expectFaultless('after the sign-in');
  await page.getByRole('button', { name: /Priya Nair/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Signed out' }).waitFor();
  await expectFaultless('signed out');
  expect((await context.cookies()).filter(({ name }) => name.startsWith('quartermaster'))).toEqual([]);
  await done();
});

test('a sign-out that does not reach the server says so, and the user is still signed in', async () => {
  const { page, context, expectErrors, done } = await world.open(`/profile?${TENANT}`, { as: null });
  await signIn(page);
  const signOut = page.getByRole('button', { name: 'Sign out' });
  await signOut.waitFor();
  expectErrors(/ERR_INTERNET_DISCONNECTED/);
  await context.setOffline(true);
  await signOut.click();
  await page.getByText('The server did not answer.').waitFor();
  await context.setOffline(false);
  await signOut.click();
  await page.getByRole('heading', { name: 'Signed out' }).waitFor();
  await done();
});

test('a session that expired asks to sign in, and goes on at the same item', async () => {
  const { page, context, expectAnswers, expectFaultless, done } = await world.open(`/inbox?${TENANT}&kind=tool`, {
    as: null,
  });
  await signIn(page);
  await page.getByRole('row').nth(2).waitFor();
  await page.keyboard.press('j');
  await page.getByRole('complementary').getByRole('button', { name: 'Reject' }).waitFor();
  const url = page.url();
  world.server.travel(IDLE_MS);
  expectAnswers(401);
  await page.keyboard.press('r');
  await dialogOf(page).waitFor();
  await expectFaultless('the dialog');
  expect(await page.getByText('rejected').count()).toBe(0);
  // The identity provider still knows the browser.
  await dialogOf(page).getByRole('button', { name: 'Sign in' }).click();
  await dialogOf(page).waitFor({ state: 'detached' });
  await page.getByRole('complementary').getByRole('button', { name: 'Reject' }).waitFor();
  expect(page.url()).toBe(url);
  await page.keyboard.press('r');
  await page.getByRole('button', { name: 'Undo' }).waitFor();
  expect(context.pages()).toHaveLength(1);
  await done();
});

test('a session that its user ends in another browser asks to sign in, and keeps what was typed', async () => {
  const { page, context, expectAnswers, done } = await world.open(`/inbox?${TENANT}`, { as: null });
  await signIn(page);
  await page.getByRole('row').nth(2).waitFor();
  await page.keyboard.press('j');
  const note = page.getByRole('textbox', { name: 'Note' });
  await note.fill('Half a sentence');

  const other = await world.open('/profile?view=sessions', { as: null });
  await signIn(other.page);
  await other.page.getByText('this one').waitFor();
  await other.page
    .getByText(/^Headless Chrome \d+ on Linux$|^Chrome \d+ on Linux$/)
    .first()
    .waitFor();
  const revoke = other.page.getByRole('button', { name: 'Revoke' });
  while ((await revoke.count()) > 0) {
    const left = (await revoke.count()) - 1;
    await revoke.first().click();
    await expect.poll(() => revoke.count()).toBe(left);
  }
  await other.done();

  expectAnswers(401);
  await page.getByRole('button', { name: 'Reject', exact: true }).click();
  await dialogOf(page).waitFor();
  const opened = context.waitForEvent('page');
  await dialogOf(page).getByRole('link', { name: 'sign in in a new tab' }).click();
  const second = await opened;
  await second.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();
  await second.close();
  await dialogOf(page).waitFor({ state: 'detached' });
  expect(await note.inputValue()).toBe('Half a sentence');
  await page.getByRole('button', { name: 'Reject', exact: true }).click();
  await page.getByRole('button', { name: 'Undo' }).waitFor();
  await done();
});

test('a form that is being filled is left by its buttons alone, and outlives the end of the session', async () => {
  const { page, expectAnswers, done } = await world.open(`/accounts?${TENANT}&new=1`, { as: ADA, ownWindow: true });
  const form = page.getByRole('dialog', { name: 'Create a service account' });
  const id = form.getByRole('textbox', { name: 'Id' });
  await id.fill('night-agent');
  await page.mouse.click(5, 400);
  await page.keyboard.press('Escape');
  expect(await id.inputValue()).toBe('night-agent');

  const cookies = await page.context().cookies();
  await page.context().clearCookies();
  expectAnswers(401);
  await form.getByRole('button', { name: 'Create', exact: true }).click();
  await dialogOf(page).waitFor();
  await page.keyboard.press('Escape');
  await page.context().addCookies(cookies);
  await dialogOf(page).waitFor({ state: 'detached' });
  expect(await id.inputValue()).toBe('night-agent');
  expect(await form.getByRole('alert').count()).toBe(0);
  await form.getByRole('button', { name: 'Cancel' }).click();
  await form.waitFor({ state: 'detached' });
  await done();
});

test('the page asks who is signed in while the code of its screen loads', async () => {
  const { page, done } = await world.open('/inbox');
  // The first page asks, too.
  await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  const code = Promise.withResolvers<void>();
  await page.route(/assets\/inbox-screen.*\.js/, async (route) => {
    await code.promise;
    await route.continue();
  });
  const asked = page.waitForRequest(/\/v1\/me$/);
  await page.reload({ waitUntil: 'commit' });
  await asked;
  code.resolve();
  await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  await done();
});
