import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { compressNow, decompressChunks } from './zstd.ts';

/** The calls of one block of a trace, opaque to storage. */
export type StoredCalls = { sender: string; value: Uint8Array };

/** Calls of at least this many bytes are compressed. */
const MIN_COMPRESSED_BYTES = 300;

/** From this many bytes on zstd is used, which then writes in half of the time. Smaller values are read faster with deflate. */
const MIN_ZSTD_BYTES = 4096;

/** The largest value that was ever stored with deflate. */
const MAX_DEFLATED_BYTES = 16 * 1024;

/** Deflate with little memory to set up. A small value needs no large window. */
const SMALL = { level: 1, memLevel: 3, windowBits: 11, chunkSize: 1024 };

/** If a sender's calls in a trace exceed this uncompressed size, they are dropped, and calls are resolved per batch only. */
const MAX_CALLS_BYTES = 2 * 1024 * 1024;

const [RAW, ZSTD, DROPPED, DEFLATED] = [0, 1, 2, 3];

/** Encodes calls: 1 byte of format; then for each call the sender after a 2-byte length, and the value after a 4-byte length. */
export function encodeCalls(calls: readonly StoredCalls[]): Buffer | null {
  if (calls.length === 0) return null;
  const parts = calls.flatMap(({ sender, value }) => {
    const text = Buffer.from(sender);
    const head = Buffer.alloc(2 + text.length + 4);
    head.writeUInt16BE(text.length);
    text.copy(head, 2);
    head.writeUInt32BE(value.length, 2 + text.length);
    return [head, value];
  });
  const plain = Buffer.concat(parts);
  if (plain.length > MAX_CALLS_BYTES) return DROPPED_CALLS;
  if (plain.length < MIN_COMPRESSED_BYTES) return Buffer.concat([Buffer.of(RAW), plain]);
  if (plain.length < MIN_ZSTD_BYTES) return Buffer.concat([Buffer.of(DEFLATED), deflateRawSync(plain, SMALL)]);
  return Buffer.concat([Buffer.of(ZSTD), compressNow(plain)]);
}

/** Stored instead of calls that exceed the size limit. */
export const DROPPED_CALLS = Buffer.of(DROPPED);

/** Decodes calls. Null if they were dropped. */
export function decodeCalls(column: Buffer | null): StoredCalls[] | null {
  if (column === null) return [];
  if (column[0] === DROPPED) return null;
  const plain = plainCalls(column);
  const calls: StoredCalls[] = [];
  for (let at = 0; at < plain.length; ) {
    const senderEnd = at + 2 + plain.readUInt16BE(at);
    const valueEnd = senderEnd + 4 + plain.readUInt32BE(senderEnd);
    calls.push({ sender: plain.toString('utf8', at + 2, senderEnd), value: plain.subarray(senderEnd + 4, valueEnd) });
    at = valueEnd;
  }
  return calls;
}

function plainCalls(column: Buffer): Buffer {
  const bytes = column.subarray(1);
  if (column[0] === ZSTD) return decompressChunks(bytes, MAX_CALLS_BYTES);
  return column[0] === DEFLATED ? inflateRawSync(bytes, { maxOutputLength: MAX_DEFLATED_BYTES }) : bytes;
}
