import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { compressNow, decompressNow } from './zstd.ts';

/** The calls of one block of a trace, opaque to storage. */
export type StoredCalls = { sender: string; value: Uint8Array };

/** From so many bytes on, calls are compressed. */
const COMPRESSED_FROM = 300;

/** From so many on with zstd: for small values its tables take longer to set up than the compression itself. */
const ZSTD_FROM = 16 * 1024;

/** Little memory to set up. The matches in a small value are near. */
const SMALL = { level: 1, memLevel: 3, windowBits: 11, chunkSize: 1024 };

/** Where a sender's calls of a trace take more bytes, uncompressed, they are resolved per batch only. */
const MAX_CALLS_BYTES = 2 * 1024 * 1024;

const [RAW, ZSTD, DROPPED, DEFLATED] = [0, 1, 2, 3];

/** Writes calls into a column: 1 byte of kind, then for each 2 bytes of length and the sender, 4 of length and the value. */
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
  if (plain.length < COMPRESSED_FROM) return Buffer.concat([Buffer.of(RAW), plain]);
  if (plain.length < ZSTD_FROM) return Buffer.concat([Buffer.of(DEFLATED), deflateRawSync(plain, SMALL)]);
  return Buffer.concat([Buffer.of(ZSTD), compressNow(plain)]);
}

/** In the place of calls that were too many. */
export const DROPPED_CALLS = Buffer.of(DROPPED);

/** Null where the calls were dropped. */
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
  if (column[0] === ZSTD) return decompressNow(bytes, MAX_CALLS_BYTES);
  return column[0] === DEFLATED ? inflateRawSync(bytes, { maxOutputLength: ZSTD_FROM }) : bytes;
}
