import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import type { PageKey } from '@quartermaster/db/queries.ts';
import { z } from 'zod';

/**
 * Encodes the key of a page's last row as an opaque cursor, and back. A cursor works only for the query and scope in `binding`.
 */
export type CursorCodec = {
  encode(key: PageKey, binding: string): string;
  /** Null for a text that this codec did not encode with this binding. */
  decode(cursor: string, binding: string): PageKey | null;
};

const KeySchema = z.tuple([z.string(), z.string()]);
const TAG_BYTES = 16;

/** @param key 32 bytes, for the HMAC that proves that we made a cursor */
export function cursorCodec(key: Buffer): CursorCodec {
  // Given a plain key, Node would create this object for each HMAC, which takes longer than the HMAC itself.
  const secret = createSecretKey(key);
  const tagOf = (payload: Buffer, binding: string) =>
    createHmac('sha256', secret).update(payload).update('\0').update(binding).digest().subarray(0, TAG_BYTES);
  return {
    encode(pageKey, binding) {
      const payload = Buffer.from(JSON.stringify(pageKey));
      return Buffer.concat([tagOf(payload, binding), payload]).toString('base64url');
    },
    decode(cursor, binding) {
      const bytes = Buffer.from(cursor, 'base64url');
      // Base64 decoding skips invalid characters, so accept only the exact text that we would write.
      if (bytes.length <= TAG_BYTES || bytes.toString('base64url') !== cursor) return null;
      const payload = bytes.subarray(TAG_BYTES);
      if (!timingSafeEqual(bytes.subarray(0, TAG_BYTES), tagOf(payload, binding))) return null;
      return KeySchema.parse(JSON.parse(payload.toString('utf8')));
    },
  };
}
