import { caseFolded } from './case-folded.ts';
import type { Kind } from './kinds.ts';
import { modelFamily } from './model-name.ts';

/**
 * The indexed form of a name that finds all names which may mean the same: a declaration and every name that it covers have
 * the same family. For models it is the name without dates, versions and routes; for tools the name as frameworks rewrite it.
 * It does not depend on the provider's name. Families are stored, so a change of this rule needs a migration.
 *
 * @param nameKey the key of the name, see nameKey
 */
export function nameFamily(kind: Kind, nameKey: string): string {
  if (kind === 'model') return modelFamily(nameKey);
  return kind === 'tool' ? rewrittenName(nameKey) : nameKey;
}

/**
 * A tool's or a server's name as frameworks rewrite it for vendors that allow only letters, digits and `_`, in lower case.
 * Letters beyond ASCII are kept, so that names in other scripts stay different.
 */
export function rewrittenName(name: string): string {
  if (PLAIN.test(name)) return name;
  const rewritten = caseFolded(name).replaceAll(/[^\p{L}\p{N}]+/gu, '_');
  return rewritten.replaceAll(/^_|_$/g, '') || caseFolded(name);
}

/** Names that rewriting does not change: most of them. */
const PLAIN = /^[a-z0-9]+(?:_[a-z0-9]+)*$/;
