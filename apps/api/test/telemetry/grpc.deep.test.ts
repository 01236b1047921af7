import { status } from '@grpc/grpc-js';
import pino from 'pino';
import { expect, test } from 'vitest';
import { lockTable } from '../support/locked-table.ts';
import { accountWithKey } from '../support/people.ts';
import { serverOfTest } from '../support/server.ts';
import { callGrpc, errorOf, EXPORT_TRACES, keyMetadata, retryAfterOf } from './grpc-calls.ts';
import { toProtobuf } from './otlp/wire.ts';
import { chat, exportRequest } from './traces/sending.ts';

test('regression: the line of a call whose tenant uses its points too fast says how long it waited', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const at = await serverOfTest({ QM_OTLP_GRPC_PORT: '0', QM_RATE_LIMITS: 'on' }, { log });
  // At the beginning of a minute.
  at.freeze();
  at.travel(60_000 - (at.services.now().getTime() % 60_000));
  const fast = await accountWithKey(at, { tenantId: 'fast' });
  const other = await accountWithKey(at, { tenantId: 'other' });
  // Ten points each. 300 points may be used at once.
  for (let index = 0; index < 40; index += 1) await at.call('POST', '/v1/providers/none/sync', { as: fast });
  await at.ok('GET', '/v1/providers', { as: other });
  expect(
    await callGrpc(at, EXPORT_TRACES, toProtobuf(exportRequest([{}])), { metadata: keyMetadata(fast.key) }),
  ).toHaveProperty('bytes');
  const line = lines.map((each) => JSON.parse(each)).find(({ method }) => method === 'gRPC');
  expect(line.waitMs).toBeGreaterThan(200);
});

test('a locked database is UNAVAILABLE with RetryInfo', async () => {
  const server = await serverOfTest({ QM_OTLP_GRPC_PORT: '0' });
  const { key } = await accountWithKey(server, { tenantId: 'grpc' }, ['traces:write']);
  const spans = toProtobuf(exportRequest([chat('gpt-5')]));
  const release = await lockTable(server.databaseUrl, 'traces');
  try {
    const error = errorOf(await callGrpc(server, EXPORT_TRACES, spans, { metadata: keyMetadata(key) }));
    expect(error.code).toBe(status.UNAVAILABLE);
    expect(retryAfterOf(error)).toBeGreaterThan(0);
  } finally {
    await release();
  }
});

test('a message that decompresses to ten times the limit is RESOURCE_EXHAUSTED', async () => {
  const limit = 4 * 1024 * 1024;
  const server = await serverOfTest({ QM_OTLP_GRPC_PORT: '0', QM_OTLP_MAX_BYTES: String(limit) });
  const { key } = await accountWithKey(server, { tenantId: 'grpc' }, ['traces:write']);
  const sent = { metadata: keyMetadata(key), compression: 2 };
  const error = errorOf(await callGrpc(server, EXPORT_TRACES, Buffer.alloc(limit * 10), sent));
  expect(error.code).toBe(status.RESOURCE_EXHAUSTED);
  expect(retryAfterOf(error)).toBeNull();
});
