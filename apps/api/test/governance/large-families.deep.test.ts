import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { LOOPBACK, startPeer } from '../inventory-sync/peers.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { all, chat, sendSpans } from '../telemetry/traces/sending.ts';
import { newTenant } from './loop-support.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK, { syncLimits: { pauseMs: 1 } });
});
afterAll(() => server.stop());

/** The variants of one name that the provider lists. */
const LISTED = 600;

/** Those of them that agents use. */
const OBSERVED = 40;

const variant = (index: number) => `model:${index}`;

/** How many JSON texts are parsed meanwhile. Each item and each observation that is read has a few of them. */
async function textsParsed(work: () => Promise<unknown>): Promise<number> {
  const parse = vi.spyOn(JSON, 'parse');
  try {
    await work();
    return parse.mock.calls.length;
  } finally {
    parse.mockRestore();
  }
}

// Each batch of names read all items of their family, several times. With 5,000 variants and 1,100 observations of them, a block of
// the base name took 0.5 s of CPU time in one transaction, and the spans took 1.3 s.
test('regression: names of a large family are observed and blocked without reading all items of the family', async () => {
  const { operator: as, sender } = await newTenant(server);
  const peer = await startPeer((_req, res) => {
    const data = Array.from({ length: LISTED }, (_, index) => ({ id: variant(index) }));
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ object: 'list', data }));
  });
  const body = { name: 'variants', kind: 'llm', baseUrl: `${peer.url}/v1` };
  const provider: Body = await server.ok('POST', '/v1/providers', { as, body });
  const path = `/v1/providers/${provider.id}`;
  expect(await server.ok('POST', `${path}/sync`, { as })).toMatchObject({ added: LISTED });

  const spans = Array.from({ length: OBSERVED }, (_, index) =>
    chat(variant(index), { 'gen_ai.provider.name': 'variants' }),
  );
  const toObserve = await textsParsed(() => sendSpans(server, sender, spans));
  expect(toObserve).toBeLessThan(LISTED);

  // A name that has no item is compared with all names of the family.
  await sendSpans(server, sender, [chat(`${variant(7)}-20260101`, { 'gen_ai.provider.name': 'variants' })]);
  const [dated] = await all(
    server,
    `/v1/runtime-observations?name=${encodeURIComponent(`${variant(7)}-20260101`)}`,
    as,
  );
  const [listed] = (await all(server, `${path}/inventory?limit=100&text=${encodeURIComponent(variant(7))}`, as)).filter(
    ({ name }) => name === variant(7),
  );
  expect([dated?.inventoryItemId, dated?.unknown]).toEqual([listed?.id, false]);

  const toBlock = await textsParsed(() =>
    server.ok('POST', `${path}/inventory`, { as, body: { kind: 'model', name: 'model', status: 'blocked' } }),
  );
  expect(toBlock).toBeLessThan(LISTED);

  const observations = await all(server, `${path}/observations?limit=100`, as);
  expect(observations).toHaveLength(OBSERVED + 1);
  const items = await all(server, `${path}/inventory?limit=100&text=model`, as);
  const block = items.find(({ name }) => name === 'model');
  for (const { inventoryItemId, unknown } of observations) {
    expect([inventoryItemId, unknown]).toEqual([block?.id, false]);
  }
});
