import { accountWithKey, unique } from '@quartermaster/api/test/support/people.ts';
import { chat, newTraceId, nowInNanoseconds, sendSpans } from '@quartermaster/api/test/telemetry/traces/sending.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWorld, type World } from '../testing/world.ts';

/** More than a page of a list. */
const RECORDS = 110;

let world: World;
let tenantId: string;

beforeAll(async () => {
  world = await startWorld({ isSeeded: false });
  const { server } = world;
  tenantId = unique('periods');
  const agent = await accountWithKey(server, { tenantId }, ['traces:write']);
  const start = nowInNanoseconds(server);
  await sendSpans(
    server,
    agent,
    Array.from({ length: RECORDS }, () => ({ ...chat('gpt-5'), start, traceId: newTraceId() })),
  );
  const as = server.admin;
  const { id } = await server.ok('POST', '/v1/providers', { as, body: { name: 'changing', kind: 'mcp', tenantId } });
  for (let index = 0; index < RECORDS; index += 1) {
    await server.ok('PUT', `/v1/providers/${id}`, { as, body: { description: `change ${index}` } });
  }
});
afterAll(() => world.close());

test.each([
  ['/traces?hours=24', '/v1/traces', 'started_after'],
  ['/audit?hours=24', '/v1/audit-events', 'created_after'],
])('the list of %s goes on after its first page, although minutes have passed', async (path, list, after) => {
  const { page, settled, done } = await world.open('/profile', { ownWindow: true });
  await page.clock.install();
  const starts: (string | null)[] = [];
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (pathname === list) starts.push(searchParams.get(after));
  });
  await page.goto(`${world.server.url}/console${path}&tenant=${tenantId}`);
  await page.getByText('100 loaded, more below').waitFor();
  await page.clock.fastForward(150_000);
  await page
    .getByRole('table')
    .locator('..')
    .evaluate((scroller) => scroller.scrollTo({ top: scroller.scrollHeight }));
  await page.keyboard.press('j');
  await page.getByText(/in all/).waitFor();
  await settled();
  expect(starts).toHaveLength(2);
  expect(new Set(starts).size).toBe(1);
  await done();
});
