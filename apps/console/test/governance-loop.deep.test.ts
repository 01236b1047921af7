import { FULL } from '@quartermaster/db/testing/scale.ts';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startLoop } from '../testing/loop.ts';
import { signInByForm } from '../testing/sign-in.ts';
import type { Tab } from '../testing/tab.ts';
import { startWorld, type World } from '../testing/world.ts';

/** More than the time after which the inbox reads again what others decide. */
const REFRESH_MS = 31_000;

let world: World;

beforeAll(async () => {
  world = await startWorld({ isSeeded: false });
});
afterAll(() => world.close());

test.skipIf(onPostgres() && !FULL)(
  'the governance loop by the keyboard alone, from the sign-in to the sign-out: approve with a note, plan, apply, undo',
  async () => {
    const loop = await startLoop(world.server);
    await loop.use('gpt-5', 'o9-preview', 'o9-dark');
    const { email } = await loop.operator();
    const { page, done } = await world.open(`/inbox?tenant=${loop.tenantId}`, { as: null });
    await signInByForm(page, world.server, email);
    const { keyboard } = page;
    const panel = page.getByRole('complementary');

    await page.getByRole('row').nth(2).waitFor();
    await keyboard.press('j');
    await panel.waitFor();
    if (!(await panel.getByRole('heading', { name: 'o9-preview' }).isVisible())) await keyboard.press('j');
    await panel.getByRole('heading', { name: 'o9-preview' }).waitFor();
    await tabTo(page, panel.getByRole('textbox', { name: 'Note' }));
    await keyboard.type('Asked for by billing.');
    await tabTo(page, panel.getByRole('button', { name: 'Approve', exact: true }));
    await keyboard.press('Enter');
    await page.getByText('o9-preview: approved.').waitFor();
    expect((await loop.observationOf('o9-preview')).review).toMatchObject({ note: 'Asked for by billing.' });

    await keyboard.press('g');
    await keyboard.press('p');
    await page
      .getByRole('table', { name: 'Providers' })
      .getByRole('row', { name: /openai/ })
      .waitFor();
    await keyboard.press('j');
    await keyboard.press('Enter');
    await tabTo(page, page.getByRole('button', { name: 'Plan changes' }));
    await keyboard.press('Enter');
    await tabTo(page, page.getByRole('button', { name: 'Apply 1 change' }));
    await keyboard.press('Enter');
    await tabTo(page, page.getByRole('button', { name: 'Apply all 1' }));
    await keyboard.press('Enter');
    const receipt = page.getByRole('region', { name: 'Receipt' });
    await receipt.waitFor();
    expect(await loop.inventory()).toEqual(['gpt-5: available', 'o9-preview: available']);
    await tabTo(page, receipt.getByRole('button', { name: 'Undo all of it' }));
    await keyboard.press('Enter');
    await page.getByText('1 change undone.').waitFor();
    expect(await loop.inventory()).toEqual(['gpt-5: available']);

    await keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Command' }).waitFor();
    await keyboard.type('sign out');
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Signed out' }).waitFor();
    await done();
  },
);

// The full form runs everything on both databases. Two who write at once depend on the locks of PostgreSQL.
describe.skipIf(!onPostgres() && !FULL)('two people at once', () => {
  type Person = { page: Page; button: Locator; message: Locator };

  /** A loop with one observed model, and two people in front of the same address. */
  async function twoPeople(
    model: string,
    pathOf: (ids: { item: string; providerId: string }) => string,
    { hasClock = false } = {},
  ) {
    const loop = await startLoop(world.server);
    await loop.use('gpt-5', model);
    const { id } = await loop.observationOf(model);
    const path = `${pathOf({ item: id, providerId: loop.providerId })}tenant=${loop.tenantId}`;
    const openAs = async ({ email }: { email: string }) => {
      if (!hasClock) return world.open(path, { as: email });
      // The clock has to be there before the console is.
      const tab = await world.open('/signed-out', { as: email, ownWindow: true });
      await tab.page.clock.install({ time: new Date() });
      await tab.goTo(path);
      return tab;
    };
    const tabs = [await openAs(await loop.operator()), await openAs(await loop.operator())] as const;
    return { loop, id, tabs };
  }

  test('who decide differently about an item: the later decision counts, and both see it', async () => {
    const { loop, id, tabs } = await twoPeople('o9-preview', ({ item }) => `/inbox?item=${item}&`, {
      hasClock: true,
    });
    const [ann, bob] = tabs;
    const reject = ann.page.getByRole('button', { name: 'Reject', exact: true });
    const ignore = bob.page.getByRole('button', { name: 'Ignore', exact: true });
    await Promise.all([reject.waitFor(), ignore.waitFor()]);
    await Promise.all([reject.click(), ignore.click()]);
    await ann.page.getByText('o9-preview: rejected.').waitFor();
    await bob.page.getByText('o9-preview: ignored.').waitFor();
    const { status } = await loop.observationOf('o9-preview');
    for (const { page } of tabs) {
      await page.clock.fastForward(REFRESH_MS);
      await page.getByText(`This is ${status}, decided by`).waitFor();
    }
    const audit = `/v1/audit-events?tenant_id=${loop.tenantId}&operation=review_runtime_observation&target_id=${id}`;
    const { items } = await world.server.ok('GET', audit, { as: world.server.admin });
    expect(items).toHaveLength(2);
    await closeAll(tabs);
  });

  test.for([
    { late: 'neither', request: null },
    { late: 'the decision of one', request: /\/review$/ },
    { late: 'what one reads between decision and change', request: /\/v1\/recommendations\?/ },
    { late: 'the change of one', request: /\/recommendations\/apply$/ },
  ])(
    'who approve and apply an item: one change is made, and both see that it is; late is $late',
    async ({ request }) => {
      const { loop, tabs } = await twoPeople('o9-preview', ({ item }) => `/inbox?item=${item}&`);
      const [first, second] = tabs.map(({ page }) => ({
        page,
        button: page.getByRole('button', { name: 'Approve and apply' }),
        message: page.getByRole('region', { name: 'Messages' }).getByText(/pproved/),
      })) as [Person, Person];
      await Promise.all(tabs.map(({ page }) => page.getByText('One item becomes available to agents.').waitFor()));
      if (request !== null) {
        await second.page.route(request, async (route) => {
          await first.message.waitFor();
          await route.continue();
        });
      }
      await Promise.all([first.button.click(), second.button.click()]);
      const outcomes = [await first.message.innerText(), await second.message.innerText()];
      expect(outcomes.toSorted()).toEqual([
        'Approved and applied.',
        'Approved, but nothing was applied: it is not open any more.',
      ]);
      expect(await loop.inventory()).toEqual(['gpt-5: available', 'o9-preview: available']);
      await closeAll(tabs);
    },
  );

  test('who apply the same plan: it is applied once, and the other one is told', async () => {
    const { loop, id, tabs } = await twoPeople('o9-preview', ({ providerId }) => `/providers/${providerId}/plan?`);
    const body = { decision: 'approved' };
    await world.server.ok('POST', `/v1/runtime-observations/${id}/review`, { as: world.server.admin, body });
    await Promise.all(tabs.map(({ page }) => page.reload()));
    const buttons = tabs.map(({ page }) => page.getByRole('button', { name: 'Apply 1 change' }));
    await Promise.all(buttons.map((button) => button.waitFor()));
    await Promise.all(buttons.map((button) => button.click()));
    await Promise.all(tabs.map(({ page }) => page.getByRole('button', { name: 'Apply all 1' }).click()));
    await Promise.all(tabs.map(({ page }) => page.getByRole('heading', { name: 'Nothing to apply' }).waitFor()));
    const results = await Promise.all(
      tabs.map(({ page }) =>
        page
          .getByRole('region', { name: 'Messages' })
          .getByText(/applied/)
          .innerText(),
      ),
    );
    expect(results.toSorted()).toEqual([
      '1 change applied.',
      'Nothing was applied: another person has changed what was planned. This is the plan as it is now.',
    ]);
    const receipts = await Promise.all(tabs.map(({ page }) => page.getByRole('region', { name: 'Receipt' }).count()));
    expect(receipts.toSorted((a, b) => a - b)).toEqual([0, 1]);
    expect(await loop.inventory()).toEqual(['gpt-5: available', 'o9-preview: available']);
    await closeAll(tabs);
  });
});

/** How many stops of the tab key a screen has at most. */
const MAX_STOPS = 100;

/** Presses the tab key until an element has the focus. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  for (let stop = 0; stop < MAX_STOPS; stop += 1) {
    if ((await target.and(page.locator(':focus')).count()) > 0) return;
    await page.keyboard.press('Tab');
  }
  throw new Error('the tab key does not get there');
}

async function closeAll(tabs: readonly Tab[]): Promise<void> {
  for (const { done } of tabs) await done();
}
