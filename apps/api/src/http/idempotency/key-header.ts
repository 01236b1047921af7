import type { IncomingMessage } from 'node:http';
import { type ValidationFailure, valueError } from '../../platform/errors.ts';

const MAX_LENGTH = 255;

/** A Structured Fields string (RFC 9651, section 3.3.3), as draft-ietf-httpapi-idempotency-key-header specifies. */
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;

/** Most clients send the key without quotes. */
const BARE = /^[\x21\x23-\x7e][\x21-\x7e]*$/;

/**
 * The Idempotency-Key of a request, or undefined. Quotes around the key make no difference.
 *
 * @throws ValidationFailure if the key is empty, longer than 255, not printable ASCII, or sent more than once
 */
export function idempotencyKeyOf(req: Pick<IncomingMessage, 'headers' | 'headersDistinct'>): string | undefined {
  if (req.headers['idempotency-key'] === undefined) return undefined;
  const [text = '', another] = req.headersDistinct['idempotency-key'] ?? [];
  if (another !== undefined) throw keyFailure('a request should have at most one Idempotency-Key');
  const key = QUOTED.exec(text)?.[1]?.replaceAll(/\\(["\\])/g, '$1') ?? (BARE.test(text) ? text : '');
  if (key === '' || key.length > MAX_LENGTH) {
    throw keyFailure(
      `key should have 1 to ${MAX_LENGTH} printable ASCII characters, either without spaces or in double quotes`,
    );
  }
  return key;
}

/** A 422 about the key or its use. It does not repeat the key. */
export function keyFailure(rule: string): ValidationFailure {
  return valueError(['header', 'Idempotency-Key'], rule);
}
