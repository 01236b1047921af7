import { promisify } from 'node:util';
import {
  constants,
  gunzip,
  gunzipSync,
  inflate,
  inflateSync,
  type ZlibOptions,
  type ZstdOptions,
  zstdDecompress,
  zstdDecompressSync,
} from 'node:zlib';
import { OtlpDecodeError, RequestTooLargeError } from '../otlp/span.ts';

type Compression = {
  decompress: (bytes: Uint8Array, options: ZlibOptions & ZstdOptions) => Promise<Buffer>;
  decompressSync: (bytes: Uint8Array, options: ZlibOptions & ZstdOptions) => Buffer;
  options: ZlibOptions & ZstdOptions;
  /** How many bytes one byte can become at most. */
  maxRatio: number;
};

/** The highest compression ratio of deflate, which gzip contains. */
const DEFLATE_RATIO = 1032;

/** By default Node ignores what follows the first stream, so the records in it would be lost silently. */
const ONE_STREAM = { rejectGarbageAfterEnd: true };

const COMPRESSIONS = {
  // A gzip body may have several members, and zeros after the last one. Node refuses other bytes after it.
  gzip: { decompress: promisify(gunzip), decompressSync: gunzipSync, options: {}, maxRatio: DEFLATE_RATIO },
  // RFC 9110 8.4.1.2: this is the zlib format.
  deflate: {
    decompress: promisify(inflate),
    decompressSync: inflateSync,
    options: ONE_STREAM,
    maxRatio: DEFLATE_RATIO,
  },
  zstd: {
    decompress: promisify(zstdDecompress),
    decompressSync: zstdDecompressSync,
    // RFC 9659: a window has at most 8 MiB. The decoder allocates as much as the body asks for.
    options: { ...ONE_STREAM, params: { [constants.ZSTD_d_windowLogMax]: 23 } },
    // RFC 8878: a block of 128 KiB with one repeated byte takes 4 bytes.
    maxRatio: 32 * 1024,
  },
} as const satisfies Record<string, Compression>;

type ContentCoding = 'identity' | keyof typeof COMPRESSIONS;

/** The compressions that senders may use, for an `Accept-Encoding` or a message. */
export const COMPRESSION_NAMES = Object.keys(COMPRESSIONS);

/** A body as it was sent. */
export type EncodedBody = { bytes: Buffer; coding: ContentCoding };

/** A body for the worker thread: as it was sent, and the most bytes that it may have when it is decompressed. */
export type BoundedBody = { bytes: Uint8Array; coding: ContentCoding; maxBytes: number };

/** The smallest size of zlib's output buffers, in bytes. */
const CHUNK_BYTES = 64 * 1024;

/** The content coding that a header names, or null if it is not supported. RFC 9110 8.4.1.3: `x-gzip` is gzip. */
export function contentCodingOf(header: string): ContentCoding | null {
  const name = header.trim().toLowerCase();
  if (name === 'identity') return name;
  if (name === 'x-gzip') return 'gzip';
  return isCompression(name) ? name : null;
}

function isCompression(name: string): name is keyof typeof COMPRESSIONS {
  return Object.hasOwn(COMPRESSIONS, name);
}

/**
 * Decompresses a body. Stops and returns null once it has more than `maxBytes`, and never allocates more than that. The size
 * that a body declares is not used, because the sender may have set it wrong.
 *
 * @throws OtlpDecodeError if it does not have its coding
 */
export async function decompress({ bytes, coding }: EncodedBody, maxBytes: number): Promise<Buffer | null> {
  if (coding === 'identity') return bytes.length <= maxBytes ? bytes : null;
  const compression: Compression = COMPRESSIONS[coding];
  try {
    return await compression.decompress(bytes, optionsFor(compression, maxBytes, CHUNK_BYTES));
  } catch (error) {
    if (isTooLarge(error)) return null;
    throw notDecompressed(coding, error);
  }
}

/**
 * {@link decompress} for the worker thread. The main thread would copy a large body twice: out of zlib's buffers, and to the
 * worker thread. Here the body is written into one buffer, which is not copied. The buffer has the largest size that the body
 * can have. It costs no more memory than the body, because the system provides memory only for the pages that are written.
 *
 * @throws OtlpDecodeError if it does not have its coding; RequestTooLargeError
 */
export function decompressNow({ bytes, coding, maxBytes }: BoundedBody): Uint8Array {
  if (coding === 'identity') return bytes;
  const compression: Compression = COMPRESSIONS[coding];
  const chunkBytes = Math.max(CHUNK_BYTES, maxDecompressedBytes({ bytes, coding }));
  try {
    return compression.decompressSync(bytes, optionsFor(compression, maxBytes, chunkBytes));
  } catch (error) {
    throw isTooLarge(error) ? new RequestTooLargeError(tooLargeDetail(maxBytes)) : notDecompressed(coding, error);
  }
}

function optionsFor({ options }: Compression, maxBytes: number, chunkBytes: number): ZlibOptions & ZstdOptions {
  return { ...options, maxOutputLength: maxBytes, chunkSize: Math.min(chunkBytes, maxBytes) };
}

function isTooLarge(error: unknown): boolean {
  return codeOf(error) === 'ERR_BUFFER_TOO_LARGE';
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

function notDecompressed(coding: ContentCoding, cause: unknown): OtlpDecodeError {
  return new OtlpDecodeError(faultOf(coding, codeOf(cause)), { cause });
}

function faultOf(coding: ContentCoding, code: string): string {
  switch (code) {
    case 'Z_BUF_ERROR':
      return `The body ends before its ${coding} data does.`;
    case 'ERR_TRAILING_JUNK_AFTER_STREAM_END':
      return `The body has other bytes after its ${coding} data.`;
    case 'ZSTD_error_frameParameter_windowTooLarge':
      return 'The zstd data of the body needs a window of more than 8 MiB. Compress it with a lower level.';
    default:
      return `The body is not ${coding}, or is damaged, or has other bytes after its ${coding} data.`;
  }
}

/** What a client reads about a body that is too large. */
export function tooLargeDetail(maxBytes: number): string {
  return `The body has more than ${maxBytes} bytes.`;
}

/** An upper bound of the decompressed size in bytes, from the size of the body alone. */
export function maxDecompressedBytes({ bytes, coding }: Pick<BoundedBody, 'bytes' | 'coding'>): number {
  return coding === 'identity' ? bytes.length : bytes.length * COMPRESSIONS[coding].maxRatio;
}
