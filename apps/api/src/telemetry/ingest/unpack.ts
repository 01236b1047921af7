import { gunzip } from 'node:zlib';
import { OtlpDecodeError } from '../otlp/span.ts';

type Coding = 'identity' | 'gzip';

/** A body as it came in. */
export type PackedBody = { bytes: Buffer; coding: Coding };

/** Deflate makes of one byte at most so many. */
const MAX_RATIO = 1032;

/** Of zlib's output, in bytes. */
const CHUNK_BYTES = 64 * 1024;

/**
 * Unpacks a body. Answers null where it has more than `most` bytes: then it stopped there, and took no more memory.
 *
 * @throws OtlpDecodeError where it is not gzip
 */
export function unpack({ bytes, coding }: PackedBody, most: number): Promise<Buffer | null> {
  if (coding === 'identity') return Promise.resolve(bytes.length <= most ? bytes : null);
  return new Promise((resolve, reject) => {
    gunzip(bytes, { maxOutputLength: most, chunkSize: Math.min(CHUNK_BYTES, most) }, (error, unpacked) => {
      if (error === null) resolve(unpacked);
      else if ('code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') resolve(null);
      else reject(new OtlpDecodeError('The body is not gzip.', { cause: error }));
    });
  });
}

/** What a body may unpack to at the most, known before it is unpacked. */
export function mostUnpacked({ bytes, coding }: PackedBody): number {
  return coding === 'identity' ? bytes.length : bytes.length * MAX_RATIO;
}

/** What a body says that it unpacks to: the size at the end of gzip (RFC 1952, ISIZE, of the last member). It may lie. */
export function saidUnpacked({ bytes, coding }: PackedBody): number {
  if (coding === 'identity') return bytes.length;
  return bytes.length < 18 ? 0 : bytes.readUInt32LE(bytes.length - 4);
}
