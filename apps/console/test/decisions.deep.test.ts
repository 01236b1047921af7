import { decidingWorld } from '@quartermaster/api/test/gateway-decisions/sessions.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startLoop } from '../testing/loop.ts';
import { startWorld, type World } from '../testing/world.ts';

const TENANT = 'tenant=northwind';

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

const observations = async (query: string) => {
  const path = `/v1/runtime-observations?tenant_id=northwind&${query}`;
  const { items } = await world.server.ok('GET', path, { as: world.server.admin });
  return items;
};

/** An observation that waits for a decision and for which something is recommended. */
const openObservation = async (index: number) => (await observations('view=new&kind=tool&limit=50'))[index];

/** The kinds of what is recommended for an observation, sorted. */
const recommendedFor = async (id: string): Promise<string[]> => {
  const path = `/v1/recommendations?status=open&observation_id=${id}`;
  const { items } = await world.server.ok('GET', path, { as: world.server.admin });
  return items.map(({ kind }: { kind: string }) => kind).toSorted();
};

/** An observation that waits for a decision, and for which exactly this is recommended. */
const openObservationWith = async (...kinds: string[]) => {
  for (const observation of await observations('view=new&kind=tool&limit=100')) {
    const recommended = await recommendedFor(observation.id);
    if (recommended.join(' ') === kinds.join(' ')) return observation;
  }
  throw new Error(`nothing is open for which ${kinds.join(' and ')} is recommended`);
};

test('the inbox is narrowed to an environment, and an observation says where it was seen', async () => {
  const { page, moveTo, done } = await world.open(`/inbox?${TENANT}`);
  await page.getByRole('row').nth(2).waitFor();
  await page.getByRole('combobox', { name: 'Environment' }).click();
  await page.getByRole('option', { name: 'staging' }).click();
  const inStaging = await observations('view=new&environment=staging&limit=100');
  const [first] = inStaging;
  await page.getByRole('button', { name: `New ${inStaging.length}` }).waitFor();
  expect(new URL(page.url()).searchParams.get('environment')).toBe('staging');
  await moveTo(`/inbox?${TENANT}&environment=staging&item=${first.id}`);
  await page.getByRole('complementary').getByText(first.evidence.environments.join(', '), { exact: true }).waitFor();
  await done();
});

// Regression: the marked row changed, and the focus stayed where it was, so a screen reader said nothing.
test('j and k move the focus from row to row, and Tab leads into the row', async () => {
  const { page, done } = await world.open(`/inbox?${TENANT}`);
  await page.getByRole('row').nth(4).waitFor();
  const focused = page.locator(':focus');
  const rowOf = (index: number) => page.locator(`[role=row][aria-rowindex="${index}"]`);
  for (const [key, index] of [
    ['j', 2],
    ['j', 3],
    ['j', 4],
    ['k', 3],
  ] as const) {
    await page.keyboard.press(key);
    await expect.poll(() => focused.getAttribute('aria-rowindex'), { message: key }).toBe(String(index));
    expect(await rowOf(index).getAttribute('aria-current')).toBe('true');
  }
  await page.keyboard.press('Tab');
  expect(await rowOf(3).getByRole('checkbox').and(focused).count()).toBe(1);
  await done();
});

describe('a decision', () => {
  test('is made and undone with the keyboard only', async () => {
    const { page, done } = await world.open(`/inbox?${TENANT}`);
    await page.getByRole('row').nth(2).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    const panel = page.getByRole('complementary');
    await panel.getByRole('button', { name: 'Reject' }).waitFor();
    const id = new URL(page.url()).searchParams.get('item');
    const statusOf = async () =>
      (await world.server.ok('GET', `/v1/runtime-observations/${id}`, { as: world.server.admin })).status;
    await page.keyboard.press('r');
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    expect(await statusOf()).toBe('rejected');
    // The row stays in its place, and shows the decision.
    await page.locator('[role=row][aria-current=true]').getByText('rejected').waitFor();
    await page.keyboard.press('z');
    await page.getByText('The decision was withdrawn.').waitFor();
    expect(await statusOf()).toBe('open');
    await done();
  });

  const item = 'One item becomes available to agents.';
  const providerAndItem = `The provider becomes active, and agents may use it. ${item}`;
  const both = ['adopt_provider', 'register_item'];
  test.for([
    { recommended: ['register_item'], effect: item, undone: ['register_item'] },
    { recommended: both, effect: providerAndItem, undone: both },
    // The item was dismissed before. The approval recommends it anew.
    { recommended: ['adopt_provider'], effect: providerAndItem, undone: both },
  ])(
    'to approve applies what is recommended at once, here $recommended, and the change can be undone',
    async ({ recommended, effect, undone }) => {
      const { id, providerId } = await openObservationWith(...recommended);
      const providerStatus = async () =>
        (await world.server.ok('GET', `/v1/providers/${providerId}`, { as: world.server.admin })).status;
      const statusBefore = await providerStatus();
      const { page, done } = await world.open(`/inbox?${TENANT}&item=${id}`);
      await page.getByRole('textbox', { name: 'Note' }).fill('Asked for by the support team.');
      await page.getByText(effect, { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Approve and apply' }).click();
      await page.getByRole('button', { name: 'Undo the change' }).waitFor();
      await page.locator(`[role=row][data-key="${id}"]`).getByText('declared').waitFor();
      expect(await recommendedFor(id)).toEqual([]);
      expect(await providerStatus()).toBe('active');
      const decided = await world.server.ok('GET', `/v1/runtime-observations/${id}`, { as: world.server.admin });
      expect(decided.review).toMatchObject({ decision: 'approved', note: 'Asked for by the support team.' });
      await page.getByRole('button', { name: 'Undo the change' }).click();
      await page.getByText('The change was undone.').waitFor();
      expect(await recommendedFor(id)).toEqual(undone);
      expect(await providerStatus()).toBe(statusBefore);
      await done();
    },
  );

  test('is applied at once with the key p, which the button and the help show', async () => {
    const loop = await startLoop(world.server);
    await loop.use('o9-preview');
    const { page, expectFaultless, done } = await world.open(`/inbox?tenant=${loop.tenantId}`);
    await page.getByRole('row').nth(1).waitFor();
    await page.keyboard.press('?');
    const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await help.getByText('Approve and apply, or block').waitFor();
    await page.keyboard.press('Escape');
    await help.waitFor({ state: 'detached' });
    await page.keyboard.press('j');
    const approveAndApply = page.getByRole('button', { name: 'Approve and apply' });
    await approveAndApply.getByText('p', { exact: true }).waitFor();
    await page.getByText(item, { exact: true }).waitFor();
    await expectFaultless('keys on buttons');
    await page.keyboard.press('p');
    await page.getByRole('button', { name: 'Undo the change' }).waitFor();
    expect(await loop.inventory()).toEqual(['gpt-5: available', 'o9-preview: available']);
    await done();
  });

  test('of another person is not withdrawn by undoing the decision before it', async () => {
    const { id } = await openObservation(3);
    const { page, expectAnswers, done } = await world.open(`/inbox?${TENANT}&item=${id}`);
    await page.getByRole('complementary').getByRole('button', { name: 'Ignore' }).click();
    const undo = page.getByRole('button', { name: 'Undo' });
    await undo.waitFor();
    const as = await world.server.tokenOf('admin@example.com');
    await world.server.ok('POST', `/v1/runtime-observations/${id}/review`, { as, body: { decision: 'rejected' } });
    expectAnswers(412);
    await undo.click();
    await page.getByText('It has changed since you saw it, so nothing was done.').waitFor();
    const { status } = await world.server.ok('GET', `/v1/runtime-observations/${id}`, { as });
    expect(status).toBe('rejected');
    await done();
  });

  test('about several selected rows asks once for a note, and shows their number', async () => {
    const { page, done } = await world.open(`/inbox?${TENANT}`);
    await page.getByRole('row').nth(3).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.getByRole('toolbar').getByRole('button', { name: 'Ignore' }).click();
    const dialog = page.getByRole('dialog', { name: 'Ignore 2 observations?' });
    await dialog.getByRole('textbox').fill('Noise.');
    await dialog.getByRole('button', { name: 'Ignore 2' }).click();
    await page.getByText('2 observations ignored.').waitFor();
    expect(
      (await observations('status=ignored&limit=100')).filter((each: Reviewed) => each.review?.note === 'Noise.'),
    ).toHaveLength(2);
    await done();
  });

  test('is in the list with the person and the time, in the panel with its note, and in the audit', async () => {
    const { id, name } = await openObservation(2);
    const as = await world.server.tokenOf('admin@example.com');
    const body = { decision: 'rejected', note: 'Not without a contract.' };
    const { review } = await world.server.ok('POST', `/v1/runtime-observations/${id}/review`, { as, body });
    const { displayName } = await world.server.ok('GET', `/v1/users/${review.reviewedBy.slice('user:'.length)}`, {
      as: world.server.admin,
    });
    const { page, moveTo, expectFaultless, done } = await world.open(`/inbox?${TENANT}&view=all&q=${name}`);
    const row = page.locator(`[role=row][data-key="${id}"]`);
    await row.getByText(displayName).waitFor();
    const headers = await page.getByRole('columnheader').allTextContents();
    const cells = await row.getByRole('cell').allTextContents();
    const cellOf = (header: string) => cells[headers.indexOf(header)];
    expect([cellOf('Status'), cellOf('Decided by'), cellOf('Decided')]).toEqual(['rejected', displayName, 'just now']);
    await expectFaultless();
    await moveTo(`/inbox?${TENANT}&view=all&item=${id}`);
    const panel = page.getByRole('complementary');
    await panel.getByText(`rejected by ${displayName} just now`).waitFor();
    await panel.getByText('Not without a contract.').waitFor();
    await panel.getByRole('link', { name: 'All decisions about it' }).click();
    await page.getByRole('row', { name: /Rejected/ }).waitFor();
    await done();
  });

  test('replaces a decision that another user made meanwhile', async () => {
    const { id, name } = await openObservation(1);
    const { page, done } = await world.open(`/inbox?${TENANT}&item=${id}`);
    await page.getByRole('heading', { name, level: 2 }).waitFor();
    const review = { as: world.server.admin, body: { decision: 'ignored' } };
    await world.server.ok('POST', `/v1/runtime-observations/${id}/review`, review);
    // The next decision of this user loads the list again.
    await page.keyboard.press('r');
    await page.getByText(`${name}: rejected.`).waitFor();
    await page.getByText('This is rejected, decided by').waitFor();
    await done();
  });

  test('about all matches of a filter is made with one request', async () => {
    const { page, done } = await world.open(`/inbox?${TENANT}&kind=tool&q=_`);
    await page.getByRole('row', { name: /_/ }).nth(1).waitFor();
    const matching = (await observations('view=new&kind=tool&text=_&limit=100')).length;
    expect(matching).toBeGreaterThan(1);
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.getByRole('button', { name: `Take all ${matching} that match` }).click();
    await page.getByRole('toolbar').getByRole('button', { name: 'Reject' }).click();
    const dialog = page.getByRole('dialog', { name: `Reject ${matching} observations?` });
    await dialog.getByRole('textbox').fill('No exports.');
    await dialog.getByRole('button', { name: `Reject ${matching}` }).click();
    await page.getByText(`${matching} observations rejected.`).waitFor();
    expect(await observations('view=new&kind=tool&text=_&limit=100')).toEqual([]);
    await done();
  });
});

type Reviewed = { review: { note: string | null } | null };

test('an observation does not say that nothing is recommended before that is known', async () => {
  const { page, done } = await world.open(`/inbox?${TENANT}`);
  await page.getByRole('row').nth(1).waitFor();
  const answer = Promise.withResolvers<void>();
  await page.route(/\/v1\/recommendations\?/, async (route) => {
    await answer.promise;
    await route.continue();
  });
  await page.keyboard.press('j');
  await page.getByText('Reading what is recommended for it.').first().waitFor();
  answer.resolve();
  await page.getByText('Reading what is recommended for it.').first().waitFor({ state: 'detached' });
  await page.getByText('One item becomes available to agents.').waitFor();
  await done();
});

test('regression: the figures of the inbox have the filters of its list', async () => {
  const as = world.server.admin;
  const { items } = await world.server.ok('GET', '/v1/runtime-observations?tenant_id=northwind&view=new', { as });
  const { providerId } = items[0];
  const counted = async (filter: string): Promise<number> =>
    (await world.server.ok('GET', `/v1/runtime-observations/counts?tenant_id=northwind&${filter}`, { as })).new;
  const { page, moveTo, done } = await world.open(`/inbox?tenant=northwind&provider=${providerId}`);
  const figures = page.getByRole('list', { name: 'The last 14 days' });
  const asked = page.waitForRequest((request) => request.url().includes('/v1/usage?'));
  await page.reload();
  expect(new URL((await asked).url()).searchParams.get('provider_id')).toBe(providerId);
  await figures.getByText('Calls').waitFor();
  const view = page.getByRole('group', { name: 'View' }).getByRole('button', { name: /^New/ });
  await moveTo('/inbox?tenant=northwind&risk=high');
  await expect.poll(() => view.innerText()).toMatch(new RegExp(`\\b${await counted('min_risk=high')}$`));
  const asksForAgent = page.waitForRequest((request) => request.url().includes('/v1/usage?'));
  await moveTo('/inbox?tenant=northwind&agent=report-writer');
  expect(new URL((await asksForAgent).url()).searchParams.get('agent')).toBe('report-writer');
  await moveTo('/inbox?tenant=northwind&risk=high');
  // Usage knows no risk, so its figures would be about more than the list.
  await figures.getByText('New').waitFor();
  expect(await figures.getByText('Calls').count()).toBe(0);
  await done();
});

test('what a gateway denied stays in the view Denied after a decision, with its status', async () => {
  const { tenantId, gatewayId, providerName, token } = await decidingWorld(world.server);
  const { status } = await world.server.call('POST', `/v1/gateways/${gatewayId}/decisions`, {
    headers: { Authorization: `Bearer ${token}` },
    body: { provider: providerName, kind: 'tool', name: 'drop_table' },
  });
  expect(status).toBe(200);
  const { page, moveTo, done } = await world.open(`/inbox?tenant=${tenantId}&view=denied`);
  await page.getByText('What gateways denied to agents').waitFor();
  const row = page.getByRole('row', { name: /drop_table/ });
  await row.getByText('open', { exact: true }).waitFor();
  await page.keyboard.press('j');
  await page.getByRole('complementary').getByRole('button', { name: 'Approve', exact: true }).click();
  await row.getByText('approved', { exact: true }).waitFor();
  await moveTo(`/inbox?tenant=${tenantId}`);
  await page.getByRole('heading', { name: 'Nothing to decide' }).waitFor();
  await moveTo(`/inbox?tenant=${tenantId}&view=denied`);
  await row.getByText('approved', { exact: true }).waitFor();
  await done();
});

test('a viewer sees why they cannot decide', async () => {
  const { page, done } = await world.open(`/inbox?${TENANT}`, { as: 'jonas.weber@northwind.example' });
  await page.getByRole('row').nth(1).waitFor();
  await page.keyboard.press('j');
  const approve = page.getByRole('button', { name: 'Approve', exact: true });
  await approve.waitFor();
  expect(await approve.getAttribute('aria-disabled')).toBe('true');
  expect(await approve.getAttribute('aria-describedby')).not.toBeNull();
  await page.getByText('You need the scope runtime_observations:review in northwind.').first().waitFor();
  await page.keyboard.press('a');
  expect(await page.getByRole('button', { name: 'Undo' }).count()).toBe(0);
  await done();
});

test('texts of agents are shown unchanged, and never run as code', async () => {
  const evil = '<img src=x onerror=window.hacked=1>"\'><script>window.hacked=1</script>\u202etxt.exe\u200b';
  const as = world.server.admin;
  const { id } = await world.server.ok('POST', '/v1/providers', {
    as,
    body: { name: 'evil-provider', displayName: evil, description: evil, kind: 'mcp', tenantId: 'northwind' },
  });
  const attributes = { note: evil, link: 'javascript:alert(1)' };
  const item = { kind: 'tool', name: 'evil-tool', title: evil, description: evil, attributes };
  await world.server.ok('POST', `/v1/providers/${id}/inventory`, { as, body: item });
  const { page, moveTo, done } = await world.open(`/providers/${id}?${TENANT}`);
  await page.getByText('evil-tool').click();
  await page.keyboard.press('j');
  await page.getByRole('complementary').getByText('<script>window.hacked=1</script>').first().waitFor();
  await moveTo(`/providers?${TENANT}`);
  await page.getByText('<img src=x onerror').first().waitFor();
  expect(await page.evaluate('window.hacked')).toBeUndefined();
  expect(await page.locator('img[src=x]').count()).toBe(0);
  await done();
});
