import { promisify } from 'node:util';
import { constants, zstdCompress, zstdCompressSync, zstdDecompress, zstdDecompressSync } from 'node:zlib';

/**
 * Up to this size the work takes less than a millisecond, and is done at once: to hand it to a thread takes a tenth of that
 * itself. In bytes.
 */
const SYNC_BYTES = 512 * 1024;

/** Level 1 compresses spans as well as level 3, in two thirds of the time. Most results fit into one chunk. */
const OPTIONS = { params: { [constants.ZSTD_c_compressionLevel]: 1 }, chunkSize: 64 * 1024 };

const compressInThread = promisify(zstdCompress);
const decompressInThread = promisify(zstdDecompress);

/** Compresses; large bodies in a thread, so that the event loop goes on. */
export async function compress(bytes: Buffer): Promise<Buffer> {
  return bytes.length <= SYNC_BYTES ? compressNow(bytes) : compressInThread(bytes, OPTIONS);
}

/** Compresses at once: for small values. */
export function compressNow(bytes: Buffer): Buffer {
  return zstdCompressSync(bytes, OPTIONS);
}

/** @param size of the content; @throws where there is more */
export async function decompress(bytes: Buffer, size: number): Promise<Buffer> {
  if (size <= SYNC_BYTES) return decompressNow(bytes, size);
  return decompressInThread(bytes, limitedTo(size));
}

/** @throws where the content has more than `most` bytes */
export function decompressNow(bytes: Buffer, most: number): Buffer {
  return zstdDecompressSync(bytes, limitedTo(most));
}

/** One chunk takes all of it: otherwise Node makes a chunk of each 16 KiB and joins them. */
function limitedTo(size: number): { maxOutputLength: number; chunkSize: number } {
  return { maxOutputLength: Math.max(size, 1), chunkSize: Math.max(size + 1, constants.Z_MIN_CHUNK) };
}
