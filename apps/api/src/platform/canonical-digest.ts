import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';

/**
 * `sha256:` and the SHA-256, in hex, of the RFC 8785 form of a JSON value. Does not depend on spacing or the order of members.
 */
export function canonicalDigest(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('only JSON values have a digest');
  return `sha256:${hash('sha256', text)}`;
}
