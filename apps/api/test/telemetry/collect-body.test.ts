import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
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

test('regression: what arrives of a body after it was refused holds no bytes', async () => {
  const budget = new ByteBudget(LARGEST);
  const [other, held] = [budget.open('acme'), budget.open('acme')];
  // A tenant may hold half of the budget. Each request holds 16 KiB at least.
  other.add(1.5 * LARGEST - 32 * 1024);
  const stream = new Readable({ read() {} });
  stream.push(Buffer.alloc(16 * 1024));
  const refused = collectBody(stream, { maxBytes: LARGEST, timeoutMs: 10_000, held });
  await expect(refused).rejects.toMatchObject({ reason: 'rate_limited' });
  held.release();
  other.release();
  stream.push(Buffer.alloc(16 * 1024));
  stream.push(null);
  await finished(stream.resume());
  budget.open('acme').add(1.5 * LARGEST - 16 * 1024);
});
