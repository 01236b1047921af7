import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWorld, type World } from '../testing/world.ts';

const TENANT = 'tenant=northwind';

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

const recommendations = async (query: string) => {
  const path = `/v1/recommendations?tenant_id=northwind&limit=100&${query}`;
  return (await world.server.ok('GET', path, { as: world.server.admin })).items;
};

/** Open recommendations that wait for a review, and were not undone. */
async function waiting() {
  const open = await recommendations('status=open&kind=register_item');
  const providerIds = new Set<string>(open.map(({ providerId }: { providerId: string }) => providerId));
  const skipped: { id: string; reason: string }[] = [];
  for (const providerId of providerIds) {
    const plan = { as: world.server.admin, body: { dryRun: true } };
    skipped.push(...(await world.server.ok('POST', `/v1/providers/${providerId}/recommendations/apply`, plan)).skipped);
  }
  const ids = new Set(skipped.filter(({ reason }) => reason === 'needs_review').map(({ id }) => id));
  return open.filter(({ id }: { id: string }) => ids.has(id));
}

test('the plan of a tenant applies what was approved at all providers, and nothing else', async () => {
  const as = world.server.admin;
  const registering = await recommendations('status=open&kind=register_item');
  const [first] = registering;
  const other = registering.find(({ providerId }: { providerId: string }) => providerId !== first.providerId);
  for (const { observationIds } of [first, other]) {
    await world.server.ok('POST', `/v1/runtime-observations/${observationIds[0]}/review`, {
      as,
      body: { decision: 'approved' },
    });
  }
  const { page, expectFaultless, done } = await world.open(`/changes?${TENANT}`);
  const button = page.getByRole('button', { name: /^Apply \d+ changes$/ });
  await button.waitFor();
  await expectFaultless('the plan of a tenant');
  const announced = Number(/\d+/.exec(await button.innerText())?.[0]);
  const before = (await recommendations('status=applied')).length;
  await button.click();
  const dialog = page.getByRole('dialog', { name: new RegExp(`^Apply ${announced} changes at \\d+ providers\\?$`) });
  await dialog.waitFor();
  await expectFaultless('the question before a plan is applied');
  expect((await recommendations('status=applied')).length).toBe(before);
  await dialog.getByRole('button', { name: `Apply all ${announced}` }).click();
  await page.getByText(`${announced} changes applied.`).waitFor();
  const applied = await recommendations('status=applied');
  expect(applied.length - before).toBe(announced);
  const ids = applied.map(({ id }: { id: string }) => id);
  expect(ids).toEqual(expect.arrayContaining([first.id, other.id]));
  const receipt = page.getByRole('region', { name: 'Receipt' });
  await page.getByRole('heading', { name: 'Everything that was decided is applied' }).waitFor();
  await receipt.getByRole('button', { name: 'Undo all of it' }).click();
  await page.getByText(`${announced} changes undone.`).waitFor();
  await receipt.waitFor({ state: 'detached' });
  expect((await recommendations('status=applied')).length).toBe(before);
  await done();
});

test('a plan that another person has applied meanwhile says that nothing was applied', async () => {
  const as = world.server.admin;
  const [{ providerId, observationIds }] = await waiting();
  const body = { decision: 'approved' };
  await world.server.ok('POST', `/v1/runtime-observations/${observationIds[0]}/review`, { as, body });
  const { page, done } = await world.open(`/changes?${TENANT}`);
  const button = page.getByRole('button', { name: /^Apply \d+ changes?$/ });
  await button.waitFor();
  await world.server.ok('POST', `/v1/providers/${providerId}/recommendations/apply`, { as, body: {} });
  await button.click();
  await page.getByRole('button', { name: /^Apply all/ }).click();
  await page
    .getByText('Nothing was applied: another person has changed what was planned. This is the plan as it is now.')
    .waitFor();
  await done();
});

test('a change that was applied earlier is undone', async () => {
  const as = world.server.admin;
  const [recommendation] = await recommendations('status=open&kind=register_item');
  await world.server.ok('POST', `/v1/providers/${recommendation.providerId}/recommendations/apply`, {
    as,
    body: { recommendationIds: [recommendation.id] },
  });
  const { page, expectFaultless, done } = await world.open(`/changes?${TENANT}&view=applied&item=${recommendation.id}`);
  await page.getByRole('complementary').getByRole('button', { name: 'Undo' }).waitFor();
  await expectFaultless('an applied change');
  await page.getByRole('complementary').getByRole('button', { name: 'Undo' }).click();
  await page.getByText('The recommendation is open again.').waitFor();
  const open = await recommendations('status=open');
  expect(open.map(({ id }: { id: string }) => id)).toContain(recommendation.id);
  await done();
});

test('one change is applied by itself after it was undone, and another one is dismissed with a reason', async () => {
  const as = world.server.admin;
  const [undone, ...others] = await recommendations('status=open&kind=register_item');
  const plan = { as, body: { dryRun: true } };
  const plans = await Promise.all(
    others.map(({ providerId }: { providerId: string }) =>
      world.server.ok('POST', `/v1/providers/${providerId}/recommendations/apply`, plan),
    ),
  );
  const skipped = plans.flatMap((planned) => planned.skipped);
  const dismissed = others.find((other: { id: string }) =>
    skipped.some(({ id, reason }) => id === other.id && reason === 'needs_review'),
  );
  const body = { recommendationIds: [undone.id] };
  const review = { as, body: { decision: 'approved' } };
  await world.server.ok('POST', `/v1/runtime-observations/${undone.observationIds[0]}/review`, review);
  await world.server.ok('POST', `/v1/providers/${undone.providerId}/recommendations/apply`, { as, body });
  await world.server.ok('POST', `/v1/recommendations/${undone.id}/undo`, { as });
  const { page, moveTo, expectFaultless, done } = await world.open(`/changes?${TENANT}`);
  await page.getByText('more is left out.').first().waitFor();
  await moveTo(`/providers/${undone.providerId}/plan?${TENANT}`);
  const changeOf = ({ change: { after } }: { change: { after: { kind: string; name: string } } }) =>
    page.locator('li:has(> details)').filter({ has: page.getByText(`${after.kind} ${after.name}`, { exact: true }) });
  await changeOf(undone).locator('summary').click();
  await expectFaultless('an opened change');
  await changeOf(undone).getByRole('button', { name: 'Apply only this' }).click();
  await page.getByText('was applied. It can be undone under Changes.').waitFor();

  await moveTo(`/providers/${dismissed.providerId}/plan?${TENANT}`);
  await changeOf(dismissed).locator('summary').click();
  expect(await changeOf(dismissed).getByRole('button', { name: 'Apply only this' }).count()).toBe(0);
  await changeOf(dismissed).getByRole('button', { name: 'Dismiss' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'Reason' }).fill('It was a trial.');
  await dialog.getByRole('button', { name: 'Dismiss' }).click();
  await page.getByText('was dismissed.').waitFor();
  const [closed] = (await recommendations('status=dismissed')).filter(({ id }: { id: string }) => id === dismissed.id);
  expect(closed.dismissal.reason).toBe('It was a trial.');
  await done();
});

test('regression: what was applied at once is undone at once, also when its receipt is gone', async () => {
  const as = world.server.admin;
  const [first, ...others] = await waiting();
  const second = others.find(({ providerId }: { providerId: string }) => providerId !== first.providerId);
  const apply = (recommendation: { id: string; providerId: string }, applyId?: string) =>
    world.server.ok('POST', `/v1/providers/${recommendation.providerId}/recommendations/apply`, {
      as,
      body: { recommendationIds: [recommendation.id], ...(applyId !== undefined && { applyId }) },
    });
  await apply(second, (await apply(first)).applied[0].applyId);
  const { page, expectFaultless, done } = await world.open(`/changes?${TENANT}&view=applied&item=${first.id}`);
  await page.getByRole('complementary').getByRole('button', { name: 'Undo all of it' }).click();
  const question = page.getByRole('dialog', { name: /^Undo 2 changes/ });
  await question.getByText('They were applied at once, at 2 providers').waitFor();
  await expectFaultless('the question before a batch is undone');
  await question.getByRole('button', { name: 'Undo all of it' }).click();
  await page.getByText('2 changes undone.').waitFor();
  const open = (await recommendations('status=open')).map(({ id }: { id: string }) => id);
  expect(open).toEqual(expect.arrayContaining([first.id, second.id]));
  await done();
});

test('a viewer sees what was changed, by whom and why, and the plan without the right to apply it', async () => {
  const { page, expectFaultless, done } = await world.open(`/changes?${TENANT}&view=applied`, {
    as: 'jonas.weber@northwind.example',
  });
  await page.getByRole('row').nth(1).waitFor();
  await page.keyboard.press('j');
  await page.getByText('You need the scope recommendations:apply').first().waitFor({ state: 'attached' });
  await expectFaultless('changes for a viewer');
  await page.getByRole('button', { name: 'Plan' }).click();
  const apply = page.getByRole('button', { name: /^Apply \d+ changes?$/ });
  await apply
    .or(page.getByRole('heading', { name: 'Nothing to apply' }))
    .first()
    .waitFor();
  if ((await apply.count()) > 0) expect(await apply.getAttribute('aria-disabled')).toBe('true');
  await expectFaultless('the plan for a viewer');
  await done();
});
