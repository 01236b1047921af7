import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ByteBudget } from '../../../src/telemetry/ingest/byte-budget.ts';
import { accountWithKey } from '../../support/people.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';

test('a sender holds at most two of the largest bodies, all senders four, and both get them back', () => {
  const budget = new ByteBudget(10);
  const first = budget.open('a');
  const second = budget.open('a');
  first.add(10);
  second.add(10);
  expect(() => second.add(1)).toThrow('in memory');
  const other = budget.open('b');
  other.add(20);
  const last = budget.open('c');
  expect(() => last.add(1)).toThrow('in memory');
  first.release();
  last.add(10);
  second.add(0);
  for (const held of [first, second, other, last]) held.release();
  const again = budget.open('a');
  again.add(20);
  again.release();
});

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ QM_OTLP_MAX_BYTES: String(2 * 1024 * 1024) });
});
afterAll(() => server.stop());

test('regression: small bodies that decompress to large ones are refused beyond a budget, and others are served', async () => {
  const hostile = await accountWithKey(server, { tenantId: 'hostile' });
  const other = await accountWithKey(server, { tenantId: 'other' });
  // Valid, and as large as a body may be.
  const raw = new Uint8Array(gzipSync(`{"resourceSpans":[${' '.repeat(2 * 1024 * 1024 - 40)}]}`));
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
  const sent = Array.from({ length: 20 }, () =>
    server.call('POST', '/v1/traces', { as: { key: hostile.key }, raw, headers, unchecked: true }),
  );
  const own = await server.call('POST', '/v1/traces', { as: { key: other.key }, body: { resourceSpans: [] } });
  expect(own.status).toBe(200);
  const answers = await Promise.all(sent);
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
  for (const { headers: answered } of refused) expect(answered.get('retry-after')).toBe('1');
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
  const again = await server.call('POST', '/v1/traces', { as: { key: hostile.key }, raw, headers, unchecked: true });
  expect(again.status).toBe(200);
});
