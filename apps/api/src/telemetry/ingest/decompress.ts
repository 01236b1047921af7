import { gunzip, gunzipSync } from 'node:zlib';
import { OtlpDecodeError, RequestTooLargeError } from '../otlp/span.ts';

type ContentCoding = 'identity' | 'gzip';

/** A body as it was sent. */
export type EncodedBody = { bytes: Buffer; coding: ContentCoding };

/** A body for the worker thread: as it was sent, and the most bytes that it may have when it is decompressed. */
export type BoundedBody = { bytes: Uint8Array; coding: ContentCoding; maxBytes: number };

/** The highest compression ratio of deflate. */
const MAX_RATIO = 1032;

/** The smallest size of zlib's output buffers, in bytes. */
const CHUNK_BYTES = 64 * 1024;

/**
 * Decompresses a body. Stops and returns null once it has more than `maxBytes`, and never allocates more than that.
 *
 * @throws OtlpDecodeError if it is not gzip
 */
export function decompress({ bytes, coding }: EncodedBody, maxBytes: number): Promise<Buffer | null> {
  if (coding === 'identity') return Promise.resolve(bytes.length <= maxBytes ? bytes : null);
  return new Promise((resolve, reject) => {
    gunzip(bytes, optionsFor(maxBytes, CHUNK_BYTES), (error, decompressed) => {
      if (error === null) resolve(decompressed);
      else if (isTooLarge(error)) resolve(null);
      else reject(notGzip(error));
    });
  });
}

/**
 * {@link decompress} for the worker thread. The main thread would copy a large body twice: out of zlib's buffers, and to the
 * worker thread. In the worker thread, a body fills one buffer of the size that it declares, and this buffer is not copied. A
 * declared size that is too large costs nothing, because the operating system provides memory only for the written parts of a
 * buffer.
 *
 * @throws OtlpDecodeError if it is not gzip; RequestTooLargeError
 */
export function decompressNow(body: BoundedBody): Uint8Array {
  const { bytes, coding, maxBytes } = body;
  if (coding === 'identity') return bytes;
  // With one byte more than declared, zlib sees the end without asking for another buffer.
  const chunkBytes = Math.max(CHUNK_BYTES, declaredDecompressedBytes(body) + 1);
  try {
    return gunzipSync(bytes, optionsFor(maxBytes, chunkBytes));
  } catch (error) {
    throw isTooLarge(error) ? new RequestTooLargeError(tooLargeDetail(maxBytes)) : notGzip(error);
  }
}

function optionsFor(maxBytes: number, chunkBytes: number) {
  return { maxOutputLength: maxBytes, chunkSize: Math.min(chunkBytes, maxBytes) };
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}

function notGzip(cause: unknown): OtlpDecodeError {
  return new OtlpDecodeError('The body is not gzip.', { cause });
}

/** What a client reads about a body that is too large. */
export function tooLargeDetail(maxBytes: number): string {
  return `The body has more than ${maxBytes} bytes.`;
}

/** An upper bound of the decompressed size in bytes, from the size of the body alone. */
export function maxDecompressedBytes({ bytes, coding }: EncodedBody): number {
  return coding === 'identity' ? bytes.length : bytes.length * MAX_RATIO;
}

/**
 * The decompressed size that the body claims, in bytes: ISIZE of RFC 1952, at the end of the last gzip member. The sender
 * may have set it wrong.
 */
export function declaredDecompressedBytes({ bytes, coding }: Pick<BoundedBody, 'bytes' | 'coding'>): number {
  if (coding === 'identity') return bytes.length;
  if (bytes.length < 18) return 0;
  return new DataView(bytes.buffer, bytes.byteOffset + bytes.length - 4).getUint32(0, true);
}
