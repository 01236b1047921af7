import type { CoverageRule } from './coverage.ts';

/** A declared item, as far as it decides about names. The contracts have the same words, in `InventoryItem`. */
export type Item = {
  nameKey: string;
  status: 'available' | 'blocked' | 'missing' | 'pending' | 'retired';
  source: string;
};

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
 * The same as {@link findDecidingItem}, but only for a name that has an item, or that an item blocks. Few items are enough for
 * this: the item with exactly the name decides unless a block covers it, and only declared items can lift a block.
 *
 * @param decisive the items of the name's family for which {@link canBlockOrAllow} holds
 * @returns undefined if the name has no item and no item blocks it
 */
export function findExactOrBlockingItem<T extends Item>(
  { exactItem, decisive }: { exactItem: T | undefined; decisive: readonly T[] },
  coverageOf: CoverageRule,
  seenKey: string,
): T | undefined {
  const isBlocked = decisive.some(
    ({ status, nameKey }) => status === 'blocked' && coverageOf(nameKey, seenKey) !== null,
  );
  if (!isBlocked) return exactItem;
  const items = exactItem === undefined || canBlockOrAllow(exactItem) ? decisive : [exactItem, ...decisive];
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
