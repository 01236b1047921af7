import { hash } from 'node:crypto';
import type { TaggedRecord } from '@quartermaster/contracts/entity-tags.ts';
import canonicalize from 'canonicalize';
import { valueError } from '../../platform/errors.ts';

/** The entity tags of If-Match or If-None-Match; `*` matches any state of the record. */
export type EntityTags = '*' | readonly { weak: boolean; opaque: string }[];

/** Half of a SHA-256 in hex. Shorter is safe, because a caller gains nothing by a collision of their own records. */
const TAG_LENGTH = 32;

/**
 * RFC 9110, section 8.8.3. Each position of the pattern matches blanks in one place only. Two adjacent places would make
 * matching quadratic in the number of blanks.
 */
const TAG = /[ \t]*(?:(W\/)?("[\x21\x23-\x7e\x80-\xff]*")[ \t]*)?(?:,|$)/y;
const MAX_TAGS = 100;

/**
 * The strong entity tag of a record. It is the same in every process, and changes only with fields that people set.
 */
export function entityTagOf(record: object, { tagExcludes }: TaggedRecord): string {
  const tagged = Object.entries(record).filter(([name]) => name !== 'updatedAt' && !tagExcludes.includes(name));
  const text = canonicalize(Object.fromEntries(tagged)) ?? '';
  return `"${hash('sha256', text).slice(0, TAG_LENGTH)}"`;
}

/** Strong comparison for If-Match: weak tags never match (RFC 9110, sections 8.8.3.2 and 13.1.1). */
export function matchesStrongly(tags: EntityTags, tag: string): boolean {
  return tags === '*' || tags.some(({ weak, opaque }) => !weak && opaque === tag);
}

/** Weak comparison for If-None-Match (RFC 9110, section 13.1.2). */
export function matchesWeakly(tags: EntityTags, tag: string): boolean {
  return tags === '*' || tags.some(({ opaque }) => opaque === tag);
}

/** Reads the header `name`. @throws ValidationFailure if it is not a list of entity tags */
export function entityTagsIn(name: 'If-Match' | 'If-None-Match', header: string): EntityTags {
  if (header.trim() === '*') return '*';
  const tags: { weak: boolean; opaque: string }[] = [];
  for (TAG.lastIndex = 0; TAG.lastIndex < header.length; ) {
    const found = TAG.exec(header);
    if (found === null) throw malformed(name);
    const [, weak, opaque] = found;
    if (opaque !== undefined) tags.push({ weak: weak !== undefined, opaque });
  }
  if (tags.length === 0 || tags.length > MAX_TAGS) throw malformed(name);
  return tags;
}

function malformed(name: string) {
  return valueError(['header', name], `should be * or 1 to ${MAX_TAGS} entity tags, such as "abc"`);
}
