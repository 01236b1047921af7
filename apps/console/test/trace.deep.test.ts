import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWorld, type World } from '../testing/world.ts';

const TENANT = 'tenant=northwind';
const TRACE = 'f0'.repeat(16);
const MANY = 'f1'.repeat(16);

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

type SpanInput = {
  id: number;
  name: string;
  parent?: number;
  attributes?: Record<string, string>;
  hasFailed?: boolean;
};

async function sendSpans(traceId: string, spans: readonly SpanInput[]): Promise<void> {
  const { ok, admin } = world.server;
  const path = '/v1/service-accounts/data-platform/keys?tenant_id=northwind';
  const { key } = await ok('POST', path, { as: admin, body: { scopes: ['traces:write'] } });
  const idOf = (number: number) => number.toString(16).padStart(16, '0');
  const start = BigInt(Date.now()) * 1_000_000n;
  const body = {
    resourceSpans: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'data-platform' } }] },
        scopeSpans: [
          {
            spans: spans.map(({ id, name, parent, attributes = {}, hasFailed = false }) => ({
              traceId,
              spanId: idOf(id),
              ...(parent !== undefined && { parentSpanId: idOf(parent) }),
              name,
              kind: 3,
              startTimeUnixNano: String(start + BigInt(id) * 1_000_000n),
              endTimeUnixNano: String(start + BigInt(id + 1) * 1_000_000n),
              attributes: Object.entries(attributes).map(([name, stringValue]) => ({
                key: name,
                value: { stringValue },
              })),
              ...(hasFailed && { status: { code: 2 } }),
            })),
          },
        ],
      },
    ],
  };
  await ok('POST', '/v1/traces', { as: { key }, body });
}

/** The paths of the API that a page asks from now on. */
function requestsOf(page: Page): string[] {
  const paths: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith('/v1/traces/')) paths.push(pathname);
  });
  return paths;
}

const chat = (id: number, model: string): SpanInput => ({
  id,
  parent: 1,
  name: `chat ${model}`,
  attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': model },
});

test('a row says whether its model is declared, and leads to its observation; attributes are read on demand', async () => {
  await sendSpans(TRACE, [{ id: 1, name: 'run' }, chat(2, 'gpt-undeclared')]);
  const { page, moveTo, expectFaultless, done } = await world.open('/profile');
  const requests = requestsOf(page);
  await moveTo(`/traces/${TRACE}?${TENANT}`);
  const row = page.getByRole('row', { name: /chat gpt-undeclared/ });
  await row.getByText('unknown').waitFor();
  expect(requests).toEqual([`/v1/traces/${TRACE}/waterfall`]);
  await row.click({ position: { x: 60, y: 13 } });
  await page.getByRole('complementary').getByText('gen_ai.request.model').waitFor();
  expect(requests).toEqual([`/v1/traces/${TRACE}/waterfall`, `/v1/traces/${TRACE}/spans`]);
  await expectFaultless('a trace with marks');
  await row.getByRole('link', { name: 'unknown' }).click();
  await page.getByRole('complementary', { name: 'model gpt-undeclared' }).waitFor();
  await done();
});

test('a trace of 10,000 spans comes in one request and can be scrolled completely, and the page contains only the visible rows', async () => {
  const step = (index: number): SpanInput => ({
    id: index,
    name: `step ${index}`,
    ...(index > 1 && { parent: Math.max(1, index - (index % 10) - 1) }),
    hasFailed: index === 9000,
  });
  for (let first = 0; first < 10_000; first += 2000) {
    await sendSpans(
      MANY,
      Array.from({ length: 2000 }, (_, index) => step(first + index + 1)),
    );
  }
  const { page, moveTo, done } = await world.open('/profile');
  const requests = requestsOf(page);
  await moveTo(`/traces/${MANY}?${TENANT}`);
  await page.getByText('10,000 spans').waitFor();
  expect(requests).toEqual([`/v1/traces/${MANY}/waterfall`]);
  expect(await page.getByRole('treegrid').getByRole('row').count()).toBeLessThan(80);
  await page.keyboard.press('n');
  await page.getByRole('row', { name: /step 9000/, selected: true }).waitFor();
  await done();
});
