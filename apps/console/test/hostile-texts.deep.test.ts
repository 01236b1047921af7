import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HostileScreen, plantHostileTexts, TRAP } from '../testing/hostile-texts.ts';
import { startWorld, type World } from '../testing/world.ts';

/** Reads what a part of the page shows: its texts, and the attributes that people see or hear. Runs in the page. */
const READ_TEXTS = `(selector) => {
  const texts = [];
  const part = document.querySelector(selector);
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) texts.push(walker.currentNode.data);
  for (const element of part.querySelectorAll('*')) {
    for (const name of ['title', 'aria-label', 'placeholder', 'alt']) texts.push(element.getAttribute(name) ?? '');
  }
  return texts;
}`;

/** The elements that a click or the browser itself would run. */
const DANGEROUS = '[href^="javascript:" i], [src^="javascript:" i], [onerror], [onload], #root script, #root iframe';

/** What the API and the console show as marks. Line feeds and tabs are layout. */
const HIDDEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]/u;

let world: World;
let screens: HostileScreen[];

beforeAll(async () => {
  world = await startWorld({ isSeeded: false, environment: { QM_ALLOW_PRIVATE_ADDRESSES: '127.0.0.0/8,::1' } });
  screens = await plantHostileTexts(world.server);
});
afterAll(() => world.close());

test('every route of the console is in the list', async () => {
  const router = await readFile(join(import.meta.dirname, '../src/app/router.tsx'), 'utf8');
  const routes = [...router.matchAll(/path: '([^']+)',\n  component/g)].map(([, route]) => route);
  expect(new Set(screens.map(({ route }) => route))).toEqual(new Set(routes));
});

test('a tenant that only the address names is an option with its invisible characters as marks', async () => {
  const { page, done } = await world.open(`/profile?tenant=${encodeURIComponent('a\u202egnp\u200b')}`);
  const box = page.getByRole('combobox', { name: 'Tenant' }).or(page.getByRole('textbox', { name: 'Tenant' }));
  await expect.poll(() => box.inputValue()).toBe('a\\u{202e}gnp\\u{200b}');
  await box.click();
  const options = await page.getByRole('option').allTextContents();
  expect(options).toContain('a\\u{202e}gnp\\u{200b}');
  expect(options.filter((text) => HIDDEN.test(text))).toEqual([]);
  await page.keyboard.press('Escape');
  await done();
});

test('hostile texts are inert on every screen, and their invisible characters are shown as marks', async () => {
  const { page, context, moveTo, settled, faults } = await world.open('/profile');
  const ran: string[] = [];
  await context.exposeFunction(TRAP, () => ran.push(page.url()));
  for (const { path, keys = [], hasOnlyNames = false } of screens) {
    await moveTo(path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await settled();
    // The first row is the header.
    if (keys.length > 0) await page.getByRole('row').nth(1).waitFor();
    for (const key of keys) await page.keyboard.press(key);
    if (keys.length > 0) await settled();
    const isShown = async () => {
      const main = (await page.evaluate<string[]>(`(${READ_TEXTS})('main')`)).join('\n');
      return main.includes('<img src=x') && (hasOnlyNames || main.includes('\\u{202e}'));
    };
    // The test proves something only for the screens that show such a text.
    await expect.poll(isShown, { message: path }).toBe(true);
    const shown = await page.evaluate<string[]>(`(${READ_TEXTS})('body')`);
    expect(
      shown.filter((text) => HIDDEN.test(text)),
      path,
    ).toEqual([]);
    expect(await page.locator(DANGEROUS).count(), path).toBe(0);
    expect(ran, path).toEqual([]);
    expect(faults, path).toEqual([]);
  }
  await context.close();
});

test('a long name does not squeeze the mark beside it', async () => {
  const as = world.server.admin;
  const name = 'long-name-'.repeat(20);
  await world.server.ok('POST', '/v1/providers', { as, body: { name, kind: 'mcp', tenantId: 'default' } });
  const { page, done } = await world.open('/providers?tenant=default');
  const mark = page
    .getByRole('row', { name: /long-name/ })
    .locator('svg')
    .first();
  await mark.waitFor();
  expect((await mark.boundingBox())?.width).toBe(12);
  await done();
});
