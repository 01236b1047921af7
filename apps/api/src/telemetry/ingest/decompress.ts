import { gunzip, gunzipSync } from 'node:zlib';
import { OtlpDecodeError, RequestTooLargeError } from '../otlp/span.ts';

type ContentCoding = 'identity' | 'gzip';

/** A body as it was sent. */
export type EncodedBody = { bytes: Buffer; coding: ContentCoding };

/** A body for the worker thread: as it was sent, and the most bytes that it may have when it is decompressed. */
export type BoundedBody = { bytes: Uint8Array; coding: ContentCoding; maxBytes: number };

/** The highest compression ratio of deflate. */
const MAX_RATIO = 1032;

/** Size of zlib's output buffers, in bytes. */
const CHUNK_BYTES = 64 * 1024;

/**
 * Decompresses a body. Stops and returns null once it has more than `maxBytes`, and never allocates more than that.
 *
 * @throws OtlpDecodeError if it is not gzip
 */
export function decompress({ bytes, coding }: EncodedBody, maxBytes: number): Promise<Buffer | null> {
  if (coding === 'identity') return Promise.resolve(bytes.length <= maxBytes ? bytes : null);
  return new Promise((resolve, reject) => {
    gunzip(bytes, optionsFor(maxBytes), (error, decompressed) => {
      if (error === null) resolve(decompressed);
      else if (isTooLarge(error)) resolve(null);
      else reject(notGzip(error));
    });
  });
}

/**
 * {@link decompress} for the worker thread. The main thread would copy a large body twice: out of zlib's buffers, and to the worker
 * thread.
 *
 * @throws OtlpDecodeError if it is not gzip; RequestTooLargeError
 */
export function decompressNow({ bytes, coding, maxBytes }: BoundedBody): Uint8Array {
  if (coding === 'identity') return bytes;
  try {
    return gunzipSync(bytes, optionsFor(maxBytes));
  } catch (error) {
    throw isTooLarge(error) ? new RequestTooLargeError(tooLargeDetail(maxBytes)) : notGzip(error);
  }
}

function optionsFor(maxBytes: number) {
  return { maxOutputLength: maxBytes, chunkSize: Math.min(CHUNK_BYTES, maxBytes) };
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
export function declaredDecompressedBytes({ bytes, coding }: EncodedBody): number {
  if (coding === 'identity') return bytes.length;
  return bytes.length < 18 ? 0 : bytes.readUInt32LE(bytes.length - 4);
}
