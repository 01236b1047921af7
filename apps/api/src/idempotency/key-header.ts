import type { IncomingMessage } from 'node:http';
import { type ValidationFailure, valueError } from '../errors.ts';

const MAX_LENGTH = 255;

/** A Structured Fields string (RFC 9651, section 3.3.3): what draft-ietf-httpapi-idempotency-key-header says the value is. */
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;

/** What most clients send: the key itself. */
const BARE = /^[\x21\x23-\x7e][\x21-\x7e]*$/;

/**
 * The Idempotency-Key of a request; undefined where it has none. Quoted and bare it is the same key.
 *
 * @throws ValidationFailure for one that is empty, longer than 255, not printable ASCII, or sent more than once
 */
export function idempotencyKeyOf(req: Pick<IncomingMessage, 'headers' | 'headersDistinct'>): string | undefined {
  if (req.headers['idempotency-key'] === undefined) return undefined;
  const [text = '', another] = req.headersDistinct['idempotency-key'] ?? [];
  if (another !== undefined) throw keyFailure('a request has one key');
  const key = QUOTED.exec(text)?.[1]?.replaceAll(/\\(["\\])/g, '$1') ?? (BARE.test(text) ? text : '');
  if (key === '' || key.length > MAX_LENGTH) {
    throw keyFailure(`a key has 1 to ${MAX_LENGTH} characters of printable ASCII, bare without spaces or in quotes`);
  }
  return key;
}

/** What is wrong with the key itself, or with its use. The key is not repeated. */
export function keyFailure(rule: string): ValidationFailure {
  return valueError(['header', 'Idempotency-Key'], rule);
}
