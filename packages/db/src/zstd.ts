import { promisify } from 'node:util';
import { constants, zstdCompress, zstdCompressSync, zstdDecompress, zstdDecompressSync } from 'node:zlib';

/** Below this size, handing the work to a thread takes longer than the work. In bytes. */
const SYNC_BYTES = 16 * 1024;

/** Level 1 compresses spans as well as level 3, in two thirds of the time. */
const OPTIONS = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

const compressInThread = promisify(zstdCompress);
const decompressInThread = promisify(zstdDecompress);

/** Compresses in a thread, so that the event loop goes on. */
export async function compress(bytes: Buffer): Promise<Buffer> {
  return bytes.length < SYNC_BYTES ? compressNow(bytes) : compressInThread(bytes, OPTIONS);
}

/** Compresses at once: for small values. */
export function compressNow(bytes: Buffer): Buffer {
  return zstdCompressSync(bytes, OPTIONS);
}

/** @param size of the content; @throws where there is more */
export async function decompress(bytes: Buffer, size: number): Promise<Buffer> {
  if (size < SYNC_BYTES) return decompressNow(bytes, size);
  return decompressInThread(bytes, { maxOutputLength: size });
}

/** @throws where the content has more than `most` bytes */
export function decompressNow(bytes: Buffer, most: number): Buffer {
  return zstdDecompressSync(bytes, { maxOutputLength: Math.max(most, 1) });
}
