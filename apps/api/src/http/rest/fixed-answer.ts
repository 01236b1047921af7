import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, gzip, constants as zlib } from 'node:zlib';
import type { RequestHandler } from 'express';
import { acceptedCoding } from './accepted-coding.ts';

type FixedContent = {
  contentType: string;
  /** Called once, on the first request, or earlier: see `madeAfterMs`. */
  read: () => Buffer | Promise<Buffer>;
  /** After this time `read` is called even without a request, in milliseconds. For content that takes long to make. */
  madeAfterMs?: number;
  cacheControl: string;
  /** Whether to compress it. Images are already compressed, and small texts do not get smaller. */
  compress: boolean;
};

/** Content codings, the smallest result first. */
const CODINGS = ['br', 'gzip'] as const;
type Coding = (typeof CODINGS)[number] | 'identity';

/** The content in one coding. Every coding has its own strong ETag, because its bytes differ (RFC 9110, section 8.8.1). */
type Variant = { bytes: Buffer; etag: string };

/** Brotli's highest quality takes ten times as long and saves a few percent. */
const BROTLI_QUALITY = 9;

const ENCODERS: Record<Coding, (content: Buffer) => Buffer | Promise<Buffer>> = {
  br: (content) => promisify(brotliCompress)(content, { params: { [zlib.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
  gzip: (content) => promisify(gzip)(content, { level: 9 }),
  identity: (content) => content,
};

/**
 * Serves content that never changes while the process runs: with a strong ETag, 304 for If-None-Match, and compressed
 * where the client accepts it. Each coding is made once, when the first client asks for it, in zlib's thread pool.
 */
export function fixedAnswer({ contentType, read, madeAfterMs, cacheControl, compress }: FixedContent): RequestHandler {
  const content = lazily(async () => read());
  const variantOf = (coding: Coding) =>
    lazily(async (): Promise<Variant> => {
      const bytes = await ENCODERS[coding](await content());
      return { bytes, etag: `"${hash('sha256', bytes, 'base64url')}"` };
    });
  const variants = { br: variantOf('br'), gzip: variantOf('gzip'), identity: variantOf('identity') };

  if (madeAfterMs !== undefined) setTimeout(() => void content().catch(() => {}), madeAfterMs).unref();

  return async (req, res) => {
    const coding = compress ? acceptedCoding(req, CODINGS) : 'identity';
    const { bytes, etag } = await variants[coding]();
    res.set({ ETag: etag, 'Cache-Control': cacheControl });
    if (compress) res.vary('Accept-Encoding');
    if (req.fresh) {
      res.status(304).end();
      return;
    }
    res.set('Content-Type', contentType);
    if (coding !== 'identity') res.set('Content-Encoding', coding);
    res.send(bytes);
  };
}

/** Calls `make` once, and again after a failure. */
function lazily<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}
