import { status } from '@grpc/grpc-js';
import { expect, test } from 'vitest';
import { lockTable } from '../support/locked-table.ts';
import { accountWithKey } from '../support/people.ts';
import { serverOfTest } from '../support/server.ts';
import { callGrpc, errorOf, EXPORT_TRACES, keyMetadata, retryAfterOf } from './grpc-calls.ts';
import { toProtobuf } from './otlp/wire.ts';
import { chat, exportRequest } from './traces/sending.ts';

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
