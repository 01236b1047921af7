import type { Services } from '../../../src/platform/services.ts';
import { Intake } from '../../../src/telemetry/ingest/intake.ts';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ByteBudget } from '../../../src/telemetry/ingest/byte-budget.ts';
import { accountWithKey } from '../../support/people.ts';
import { principalIn } from '../../support/principals.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';

test('a sender may hold half of the free bytes, and releases them', () => {
  const budget = new ByteBudget(640);
  const base = 30;
  const first = budget.open('a');
  first.add(930);
  expect(() => first.add(1)).toThrow('Too many requests are being read');
  expect(() => budget.open('a')).toThrow('Too many requests are being read');
  // 960 of 1920 bytes are free. Another sender gets half of them, and the next one half of the rest.
  const other = budget.open('b');
  other.add(480 - base);
  expect(() => other.add(1)).toThrow('Too many requests are being read');
  const last = budget.open('c');
  last.add(240 - base);
  expect(() => last.add(1)).toThrow('Too many requests are being read');
  for (const held of [first, other, last]) held.release();
  const again = budget.open('a');
  again.add(930);
  again.release();
});

test('requests without bytes count too', () => {
  const budget = new ByteBudget(64 * 1024 * 1024);
  const held = Array.from({ length: 6144 }, () => budget.open('a'));
  expect(() => budget.open('a')).toThrow('Too many requests are being read');
  budget.open('b');
  for (const one of held) one.release();
  budget.open('a');
});

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ QM_OTLP_MAX_BYTES: String(2 * 1024 * 1024) });
});
afterAll(() => server.stop());

test('regression: small bodies that decompress to large ones wait for free bytes, and other tenants are served meanwhile', async () => {
  const hostile = await accountWithKey(server, { tenantId: 'hostile' });
  const other = await accountWithKey(server, { tenantId: 'other' });
  // A valid request of the maximum size.
  const raw = new Uint8Array(gzipSync(`{"resourceSpans":[${' '.repeat(2 * 1024 * 1024 - 40)}]}`));
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
  let done = 0;
  const sent = Array.from({ length: 20 }, async () => {
    const answer = await server.call('POST', '/v1/traces', { as: { key: hostile.key }, raw, headers, unchecked: true });
    done += 1;
    return answer;
  });
  const own = await server.call('POST', '/v1/traces', { as: { key: other.key }, body: { resourceSpans: [] } });
  expect(own.status).toBe(200);
  expect(done).toBeLessThan(20);
  const answers = await Promise.all(sent);
  for (const { status, headers: answered } of answers) {
    expect([200, 429]).toContain(status);
    if (status === 429) expect(answered.get('retry-after')).toBe('1');
  }
  const again = await server.call('POST', '/v1/traces', { as: { key: hostile.key }, raw, headers, unchecked: true });
  expect(again.status).toBe(200);
});

test('regression: all users and accounts of a tenant share the memory of its bodies; another tenant has its own', () => {
  const intake = new Intake({} as Services, 1024 * 1024);
  // Half of the budget is 1.5 MiB.
  intake.open(principalIn('acme', { kind: 'user', id: 'ada' })).add(1300 * 1024);
  for (const [kind, id] of [
    ['user', 'bob'],
    ['service_account', 'agent'],
  ] as const) {
    const held = intake.open(principalIn('acme', { kind, id }));
    expect(() => held.add(300 * 1024), id).toThrow('Too many requests are being read');
    held.release();
  }
  intake.open(principalIn('globex', { kind: 'user', id: 'eve' })).add(300 * 1024);
});
