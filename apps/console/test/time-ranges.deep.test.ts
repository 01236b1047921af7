import { accountWithKey, unique } from '@quartermaster/api/test/support/people.ts';
import {
  chat,
  newTraceId,
  sendSpans,
  type SpanInput,
  toolRun,
} from '@quartermaster/api/test/telemetry/traces/sending.ts';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWorld, type World } from '../testing/world.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Colombo is five and a half hours ahead of UTC, as all of India, the whole year. */
const AHEAD_MS = 330 * MINUTE_MS;

let world: World;
let tenantId: string;
/** The day before yesterday in Colombo, such as `2026-11-27`, and the day after it. */
let [day, dayAfter] = ['', ''];

beforeAll(async () => {
  world = await startWorld({ isSeeded: false });
  const { server } = world;
  tenantId = unique('ranges');
  const dayOf = (time: number) => new Date(time + AHEAD_MS).toISOString().slice(0, 10);
  const now = server.services.now().getTime();
  day = dayOf(now - 2 * DAY_MS);
  dayAfter = dayOf(now - DAY_MS);
  const at = (time: string, span: SpanInput): SpanInput => {
    const start = BigInt(Date.parse(`${day}T${time}+05:30`)) * 1_000_000n;
    return { ...span, traceId: newTraceId(), start, end: start + 1_000_000n };
  };
  const failing = { ...toolRun('search', { 'error.type': 'TimeoutError' }), failed: true };
  const agent = await accountWithKey(server, { tenantId }, ['traces:write']);
  await sendSpans(server, agent, [
    at('10:30:00', failing),
    at('09:59:59', failing),
    at('11:00:00', failing),
    at('10:31:00', toolRun('search')),
    ...['23:40:00', '23:50:00', '23:59:59'].map((time) => at(time, chat('gpt-5'))),
  ]);
  const midnight = at('00:00:00', chat('gpt-5'));
  // Within the hour of UTC that the midnight of Colombo divides, and after it.
  const after = [10, 29, 31].map((minutes) => {
    const start = (midnight.start ?? 0n) + BigInt(DAY_MS + minutes * MINUTE_MS) * 1_000_000n;
    return { ...midnight, traceId: newTraceId(), start, end: start + 1_000_000n };
  });
  await sendSpans(server, agent, after);
});
afterAll(() => world.close());

/** Opens a page for a reader in Colombo. */
async function openInColombo(width?: number) {
  const tab = await world.open('/profile', { ownWindow: true, ...(width !== undefined && { width }) });
  await tab.page.getByRole('combobox', { name: 'Time zone' }).fill('Colombo');
  await tab.page.getByRole('option', { name: 'Asia/Colombo' }).click();
  await tab.page.getByRole('button', { name: 'Save' }).click();
  await tab.page.getByText('Your profile was saved.').waitFor();
  return tab;
}

async function choose(page: Page, { from, to }: { from: string; to: string }): Promise<void> {
  await page.getByRole('combobox', { name: /Any time|Last 30 days/ }).click();
  await page.getByRole('option', { name: 'Between' }).click();
  await page.getByLabel('From', { exact: true }).fill(from);
  await page.getByLabel('to', { exact: true }).fill(to);
  const instant = (local: string) => new Date(Date.parse(`${local}Z`) - AHEAD_MS).toISOString();
  await page.waitForURL((url) => {
    const { searchParams } = url;
    return searchParams.get('from') === instant(from) && searchParams.get('to') === instant(to);
  });
}

test('a tool call that failed on a day between 10 and 11 is found, with the class of its error, also by the link', async () => {
  const { page, moveTo, settled, done } = await openInColombo(1600);
  await moveTo(`/traces?tenant=${tenantId}`);
  await page.getByRole('row').nth(1).waitFor();
  await choose(page, { from: `${day}T10:00`, to: `${day}T11:00` });
  await page.getByRole('combobox', { name: 'Any call' }).click();
  await page.getByRole('option', { name: 'A tool call failed' }).click();
  await page.getByLabel('Name of failed call').fill('search');
  const found = page.getByRole('row').filter({ hasText: 'search: TimeoutError' });
  await expect.poll(() => found.count()).toBe(1);
  await expect.poll(() => page.getByRole('row').count()).toBe(2);
  await page.reload();
  await found.waitFor();
  await settled();
  expect(await page.getByRole('row').count()).toBe(2);
  await found.getByRole('link').first().click();
  await page.getByRole('treegrid').waitFor();
  await page.getByRole('row').last().click();
  await page.getByRole('complementary').getByText('TimeoutError').first().waitFor();
  await done();
});

test('regression: two days in Colombo that follow each other count each call once, and say from when to when', async () => {
  const { page, moveTo, settled, done } = await openInColombo();
  await moveTo(`/usage?tenant=${tenantId}`);
  const calls = async (from: string, to: string) => {
    await choose(page, { from: `${from}T00:00`, to: `${to}T00:00` });
    await page.getByText(/^Counted: .*00:30 to .*00:30$/).waitFor();
    await settled();
    const row = page.getByRole('table', { name: 'Usage' }).getByRole('row').filter({ hasText: 'gpt-5' });
    return row.getByRole('cell').allTextContents();
  };
  const tomorrow = new Date(Date.parse(`${dayAfter}T00:00Z`) + DAY_MS).toISOString().slice(0, 10);
  expect(await calls(day, dayAfter)).toContain('5');
  expect(await calls(dayAfter, tomorrow)).toContain('1');
  await done();
});

test('a link with a range shows this range on every screen that has one', async () => {
  const { page, moveTo, done } = await world.open('/profile');
  const [from, to] = [`${day}T10:00:00.000Z`, `${dayAfter}T10:00:00.000Z`];
  for (const [path, list, start, end] of [
    ['/usage', '/v1/usage', 'from', 'to'],
    ['/map', '/v1/graph', 'from', 'to'],
    ['/agents', '/v1/agents', 'from', 'to'],
    ['/traces', '/v1/traces', 'started_after', 'started_before'],
    ['/audit', '/v1/audit-events', 'created_after', 'created_before'],
  ] as const) {
    const [request] = await Promise.all([
      page.waitForRequest((each) => new URL(each.url()).pathname === list),
      moveTo(`${path}?tenant=${tenantId}&from=${from}&to=${to}`),
    ]);
    const { searchParams } = new URL(request.url());
    expect([searchParams.get(start), searchParams.get(end)], path).toEqual([from, to]);
    await page.getByLabel('From', { exact: true }).waitFor();
  }
  await done();
});

test('charts show the whole range with titles, and words where nothing was called', async () => {
  const { page, moveTo, done } = await world.open(`/usage?tenant=${tenantId}`);
  await page.getByRole('img', { name: 'Calls and errors of all models: 30 days' }).waitFor();
  await page.getByText('Calls and errors per day of UTC').waitFor();
  // These calls report no tokens.
  await page.getByRole('figure').filter({ hasText: 'Tokens per day' }).getByText('None in this time.').waitFor();
  await moveTo(`/usage?tenant=${tenantId}&hours=168`);
  await page.getByRole('img', { name: 'Calls and errors of all models: 7 days' }).waitFor();
  await moveTo(`/usage?tenant=${tenantId}&from=${day}T00:00:00Z&to=${dayAfter}T00:00:00Z`);
  await page.getByRole('img', { name: 'Calls and errors of all models: 24 hours' }).waitFor();
  await moveTo(`/usage?tenant=${tenantId}&from=2026-01-01T00:00:00Z&to=2026-01-31T00:00:00Z`);
  await page.getByText('No call in this time.').waitFor();
  expect(await page.getByRole('img', { name: 'Calls and errors' }).count()).toBe(0);
  await done();
});
