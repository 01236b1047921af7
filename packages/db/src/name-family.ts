import type { InventoryItem, InventoryKind } from '@quartermaster/contracts/inventory.ts';
import { type Coverage, modelCoverage, modelFamily, parseModelName } from './model-name.ts';
import { modelPrefixes, type NamedProvider } from './provider-names.ts';
import { folded } from './queries.ts';

/**
 * What an index finds the names by that may mean the same: every name that a declaration covers has its family. Of models it
 * is the name without dates, versions and routes; of tools the name as frameworks rewrite it. It does not depend on what the
 * provider is called. It is stored: another rule needs a migration that computes it anew.
 *
 * @param nameKey of the name, see nameKey
 */
export function nameFamily(kind: InventoryKind, nameKey: string): string {
  if (kind === 'model') return modelFamily(nameKey);
  return kind === 'tool' ? rewrittenName(nameKey) : nameKey;
}

/**
 * A tool's or a server's name as frameworks rewrite it for vendors that take letters, digits and `_` alone, in lower case.
 * Letters beyond ASCII are kept, so that names in other scripts stay apart.
 */
export function rewrittenName(name: string): string {
  if (PLAIN.test(name)) return name;
  const rewritten = folded(name).replaceAll(/[^\p{L}\p{N}]+/gu, '_');
  return rewritten.replaceAll(/^_|_$/g, '') || folded(name);
}

/** What is written as it would be rewritten: most names are. */
const PLAIN = /^[a-z0-9]+(?:_[a-z0-9]+)*$/;

function withUnderscores(name: string): string {
  return name.replaceAll(/[^\p{L}\p{N}]/gu, '_');
}

/** Says how names of one provider and kind cover one another. */
export type Covering = (declaredKey: string, seenKey: string) => Coverage | null;

const EXACT: Coverage = { exactness: Number.MAX_SAFE_INTEGER, doubtful: false };

/** How declarations cover what is seen at a provider. The names are keys as nameKey makes them, with or without its name. */
export function coveringAt(provider: NamedProvider, kind: InventoryKind): Covering {
  if (kind === 'model') {
    // Built lazily, since most names are declared as they are seen.
    let prefixes: string[] | undefined;
    return (declared, seen) => {
      if (declared === seen) return EXACT;
      prefixes ??= modelPrefixes(provider);
      return modelCoverage(parseModelName(declared, prefixes), parseModelName(seen, prefixes));
    };
  }
  return (declared, seen) => {
    if (declared === seen) return EXACT;
    if (kind !== 'tool' || rewrittenName(declared) !== rewrittenName(seen)) return null;
    // Tools that differ in their case may be different ones.
    return { exactness: 0, doubtful: withUnderscores(declared) !== withUnderscores(seen) };
  };
}

type Item = Pick<InventoryItem, 'status' | 'source'> & { nameKey: string };

/**
 * The item of an inventory that says what holds for a name: the most exact one that covers it. A block holds for what it
 * covers unless somebody declared that by itself: an item that a sync brought does not lift it. Of equally exact items a
 * blocked one wins; where none is blocked, none of them counts.
 *
 * @param items those of the name's provider, kind and family
 */
export function decidingItem<T extends Item>(items: readonly T[], covering: Covering, seenKey: string): T | undefined {
  const covered = items.flatMap((item) => {
    const coverage = covering(item.nameKey, seenKey);
    return coverage && (!coverage.doubtful || item.status === 'blocked') ? [{ item, ...coverage }] : [];
  });
  const byExactness = covered.toSorted(
    (a, b) => b.exactness - a.exactness || Number(b.item.status === 'blocked') - Number(a.item.status === 'blocked'),
  );
  const [first, second] = byExactness;
  const block = byExactness.findIndex(({ item }) => item.status === 'blocked');
  if (block !== -1)
    return (byExactness.slice(0, block).find(({ item }) => isDeclaredActive(item)) ?? byExactness[block])?.item;
  const isAmbiguous = second !== undefined && second.exactness === first?.exactness;
  return isAmbiguous ? undefined : first?.item;
}

/** Whether somebody declared it: a sync brings whatever the provider lists. */
function isDeclaredActive({ status, source }: Pick<Item, 'status' | 'source'>): boolean {
  return source !== 'sync' && (status === 'available' || status === 'missing');
}
