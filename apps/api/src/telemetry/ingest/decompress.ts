import { gunzip } from 'node:zlib';
import { OtlpDecodeError } from '../otlp/span.ts';

type ContentCoding = 'identity' | 'gzip';

/** A body as it was sent. */
export type EncodedBody = { bytes: Buffer; coding: ContentCoding };

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
    gunzip(bytes, { maxOutputLength: maxBytes, chunkSize: Math.min(CHUNK_BYTES, maxBytes) }, (error, decompressed) => {
      if (error === null) resolve(decompressed);
      else if ('code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') resolve(null);
      else reject(new OtlpDecodeError('The body is not gzip.', { cause: error }));
    });
  });
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
