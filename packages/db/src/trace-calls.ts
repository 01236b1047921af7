import { inflateRawSync } from 'node:zlib';
import { compressNow, decompressChunks } from './zstd.ts';

/** The calls of one block of a trace, opaque to storage. */
export type StoredCalls = { sender: string; value: Uint8Array };

/** Calls of at least this many bytes are compressed. Most traces have fewer, and setting up a compressor takes long. */
const MIN_COMPRESSED_BYTES = 2048;

/** The largest value in the format `DEFLATED`, which is read but no longer written. */
const MAX_DEFLATED_BYTES = 16 * 1024;

/** If a sender's calls in a trace exceed this uncompressed size, they are dropped, and calls are resolved per batch only. */
const MAX_CALLS_BYTES = 2 * 1024 * 1024;

const [RAW, ZSTD, DROPPED, DEFLATED] = [0, 1, 2, 3];

/** Encodes calls: 1 byte of format; then for each call the sender after a 2-byte length, and the value after a 4-byte length. */
export function encodeCallsColumn(calls: readonly StoredCalls[]): Buffer | null {
  if (calls.length === 0) return null;
  let size = 1;
  for (const { sender, value } of calls) size += 2 + Buffer.byteLength(sender) + 4 + value.length;
  if (size > MAX_CALLS_BYTES) return DROPPED_CALLS;
  const bytes = Buffer.allocUnsafe(size);
  let at = bytes.writeUInt8(RAW);
  for (const { sender, value } of calls) {
    const length = bytes.write(sender, at + 2);
    at = bytes.writeUInt16BE(length, at) + length;
    at = bytes.writeUInt32BE(value.length, at);
    bytes.set(value, at);
    at += value.length;
  }
  if (size < MIN_COMPRESSED_BYTES) return bytes;
  return Buffer.concat([Buffer.of(ZSTD), compressNow(bytes.subarray(1))]);
}

/** Stored instead of calls that exceed the size limit. */
export const DROPPED_CALLS = Buffer.of(DROPPED);

/** Decodes calls. Null if they were dropped. */
export function decodeCallsColumn(column: Buffer | null): StoredCalls[] | null {
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

/**
 * Decodes the calls of a sender in all parts of a trace. Null if some were dropped, or if the parts together exceed the size
 * limit of one part.
 */
export function decodeAllCalls(columns: readonly (Buffer | null)[]): StoredCalls[] | null {
  const all: StoredCalls[] = [];
  let size = 0;
  for (const column of columns) {
    const calls = decodeCallsColumn(column);
    if (calls === null) return null;
    for (const call of calls) {
      size += call.value.length;
      all.push(call);
    }
    if (size > MAX_CALLS_BYTES) return null;
  }
  return all;
}

function plainCalls(column: Buffer): Buffer {
  const bytes = column.subarray(1);
  if (column[0] === ZSTD) return decompressChunks(bytes, MAX_CALLS_BYTES);
  return column[0] === DEFLATED ? inflateRawSync(bytes, { maxOutputLength: MAX_DEFLATED_BYTES }) : bytes;
}
