import type { InventoryItem, InventoryKind } from '@quartermaster/contracts/inventory.ts';
import { type Coverage, type ModelName, modelCoverage, modelFamily, parseModelName } from './model-name.ts';
import { modelPrefixes, type NamedProvider } from './provider-names.ts';
import { caseFolded } from './queries.ts';

/**
 * The indexed form of a name that finds all names which may mean the same: a declaration and every name that it covers have
 * the same family. For models it is the name without dates, versions and routes; for tools the name as frameworks rewrite it.
 * It does not depend on the provider's name. Families are stored, so a change of this rule needs a migration.
 *
 * @param nameKey the key of the name, see nameKey
 */
export function nameFamily(kind: InventoryKind, nameKey: string): string {
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

function withUnderscores(name: string): string {
  return name.replaceAll(/[^\p{L}\p{N}]/gu, '_');
}

/** Says how a declared name covers an observed one, at one provider and kind. */
export type CoverageRule = (declaredKey: string, seenKey: string) => Coverage | null;

const EXACT: Coverage = { exactness: Number.MAX_SAFE_INTEGER, doubtful: false };

/** The coverage rule of a provider and kind. Names are keys as nameKey makes them, with or without the provider's prefix. */
export function coverageRuleOf(provider: NamedProvider, kind: InventoryKind): CoverageRule {
  if (kind === 'model') {
    // Built lazily, since most names are declared exactly as they are observed.
    let prefixes: string[] | undefined;
    // Each name is parsed once, because a family may have thousands of names that are compared with each other.
    const parsed = new Map<string, ModelName>();
    const parse = (key: string) => {
      prefixes ??= modelPrefixes(provider);
      const name = parsed.get(key) ?? parseModelName(key, prefixes);
      parsed.set(key, name);
      return name;
    };
    return (declared, seen) => (declared === seen ? EXACT : modelCoverage(parse(declared), parse(seen)));
  }
  // Each name is rewritten once, for the same reason.
  const rewritten = new Map<string, { rewritten: string; underscored: string }>();
  const formsOf = (key: string) => {
    const forms = rewritten.get(key) ?? { rewritten: rewrittenName(key), underscored: withUnderscores(key) };
    rewritten.set(key, forms);
    return forms;
  };
  return (declared, seen) => {
    if (declared === seen) return EXACT;
    if (kind !== 'tool') return null;
    const [one, other] = [formsOf(declared), formsOf(seen)];
    if (one.rewritten !== other.rewritten) return null;
    // Tools whose names differ in case may be different tools.
    return { exactness: 0, doubtful: one.underscored !== other.underscored };
  };
}

/** Returns a function that makes the coverage rules of providers, each one once. Use one function for each batch of names. */
export function coverageRules(): (provider: NamedProvider & { id: string }, kind: InventoryKind) => CoverageRule {
  const rules = new Map<string, CoverageRule>();
  return (provider, kind) => {
    const key = `${kind} ${provider.id}`;
    const rule = rules.get(key) ?? coverageRuleOf(provider, kind);
    rules.set(key, rule);
    return rule;
  };
}

type Item = Pick<InventoryItem, 'status' | 'source'> & { nameKey: string };

/**
 * The inventory item that decides about a name: the most exact one that covers it. A block applies to everything that it
 * covers, unless a person declared a more exact item; an item that a sync found does not lift it. Among equally exact items a
 * blocked one wins. If none of them is blocked, the name is ambiguous and nothing decides.
 *
 * @param items the items of the name's provider, kind and family
 */
export function findDecidingItem<T extends Item>(
  items: readonly T[],
  coverageOf: CoverageRule,
  seenKey: string,
): T | undefined {
  const covered = items.flatMap((item) => {
    const coverage = coverageOf(item.nameKey, seenKey);
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

/**
 * The item that {@link findDecidingItem} finds for a name that has an item, or that an item blocks. It needs only a few items for
 * that: the item with exactly the name decides unless a block covers it, and only declared items can lift a block.
 *
 * @param decisive the items of the name's family for which {@link canBlockOrAllow} holds
 * @returns undefined if the name has no item and no item blocks it
 */
export function findOwnOrBlockingItem<T extends Item>(
  { own, decisive }: { own: T | undefined; decisive: readonly T[] },
  coverageOf: CoverageRule,
  seenKey: string,
): T | undefined {
  const isBlocked = decisive.some(
    ({ status, nameKey }) => status === 'blocked' && coverageOf(nameKey, seenKey) !== null,
  );
  if (!isBlocked) return own;
  const items = own === undefined || canBlockOrAllow(own) ? decisive : [own, ...decisive];
  return findDecidingItem(items, coverageOf, seenKey);
}

/**
 * Whether an item can decide that another one is blocked or not: it is a block, or a person declared it. The items that a sync
 * added, of which there may be thousands, need not be compared for that.
 */
export function canBlockOrAllow(item: Item): boolean {
  return item.status === 'blocked' || isDeclaredActive(item);
}

/** Whether a person declared it. A sync adds whatever the provider lists. */
function isDeclaredActive({ status, source }: Pick<Item, 'status' | 'source'>): boolean {
  return source !== 'sync' && (status === 'available' || status === 'missing');
}
