import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { chat, exportRequest } from './sending.ts';

export const MIB = 1024 * 1024;
export const MAX_BYTES = 4 * MIB;

export const COMPRESS: Record<string, (bytes: Uint8Array) => Buffer> = {
  gzip: gzipSync,
  'x-gzip': gzipSync,
  deflate: deflateSync,
  zstd: zstdCompressSync,
};
export const CODINGS = Object.keys(COMPRESS);

export const json = (request: object = exportRequest([chat('gpt-5')])) => Buffer.from(JSON.stringify(request));

/** A valid request of `bytes`, which compresses well. */
export function padded(bytes: number): Buffer {
  const body = json();
  return Buffer.concat([body, Buffer.alloc(bytes - body.length, ' ')]);
}
