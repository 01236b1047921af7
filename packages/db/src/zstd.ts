import { promisify } from 'node:util';
import { constants, zstdCompress, zstdCompressSync, zstdDecompress, zstdDecompressSync } from 'node:zlib';

/**
 * Up to this size, in bytes, the work is done synchronously. It takes less than a millisecond, and handing it to a thread would
 * add a tenth of that.
 */
const SYNC_BYTES = 512 * 1024;

/** Level 1 compresses spans as well as level 3, in two thirds of the time. Most results fit into one chunk. */
const OPTIONS = { params: { [constants.ZSTD_c_compressionLevel]: 1 }, chunkSize: 64 * 1024 };

const compressInThread = promisify(zstdCompress);
const decompressInThread = promisify(zstdDecompress);

/** Compresses. Large bodies are compressed in a thread, so that the event loop is not blocked. */
export async function compress(bytes: Buffer): Promise<Buffer> {
  return bytes.length <= SYNC_BYTES ? compressNow(bytes) : compressInThread(bytes, OPTIONS);
}

/** Compresses synchronously: for small values. */
export function compressNow(bytes: Buffer): Buffer {
  return zstdCompressSync(bytes, OPTIONS);
}

/** @param size of the uncompressed content, in bytes. @throws if there is more */
export async function decompress(bytes: Buffer, size: number): Promise<Buffer> {
  if (size <= SYNC_BYTES) return decompressNow(bytes, size);
  return decompressInThread(bytes, limitedTo(size));
}

/** @throws if the content has more than `maxBytes` bytes */
function decompressNow(bytes: Buffer, maxBytes: number): Buffer {
  return zstdDecompressSync(bytes, limitedTo(maxBytes));
}

/** Decompresses content of an unknown size, which is usually small. @throws if it has more than `maxBytes` bytes */
export function decompressChunks(bytes: Buffer, maxBytes: number): Buffer {
  return zstdDecompressSync(bytes, { maxOutputLength: maxBytes });
}

/** One chunk for all of the content. By default, Node makes chunks of 16 KiB and joins them. */
function limitedTo(size: number): { maxOutputLength: number; chunkSize: number } {
  return { maxOutputLength: Math.max(size, 1), chunkSize: Math.max(size + 1, constants.Z_MIN_CHUNK) };
}
