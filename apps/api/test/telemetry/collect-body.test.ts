import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { ByteBudget } from '../../src/telemetry/ingest/byte-budget.ts';
import { collectBody } from '../../src/telemetry/ingest/collect-body.ts';

const LARGEST = 1024 * 1024;

function collected(chunks: Iterable<Buffer>): Promise<Buffer> {
  const held = new ByteBudget(LARGEST).open('acme');
  return collectBody(Readable.from(chunks), { maxBytes: LARGEST, timeoutMs: 10_000, held });
}

test('a body is read from its chunks', async () => {
  const chunks = Array.from({ length: 1000 }, (_, at) => Buffer.from([at % 256]));
  expect(await collected(chunks)).toEqual(Buffer.concat(chunks));
});

test('regression: many small chunks count with the memory of their Buffers', async () => {
  const chunks = Array.from({ length: 10_000 }, () => Buffer.from('x'));
  await expect(collected(chunks)).rejects.toMatchObject({ reason: 'rate_limited' });
});
