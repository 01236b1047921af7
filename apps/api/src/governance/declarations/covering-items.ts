import type { InventoryItem, InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import { together } from '@quartermaster/db/prepared-statement.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { canBlockOrAllow, findDecidingItem, findExactOrBlockingItem } from '@quartermaster/naming/deciding-item.ts';
import { coverageRules } from '@quartermaster/naming/coverage.ts';
import { nameFamily } from '@quartermaster/naming/name-family.ts';
import {
  findDecisiveItems,
  findInventoryItemsByKeys,
  findItemNamesOfFamilies,
  findItemsOfSmallFamilies,
  type ItemName,
  type KeyedItem,
} from '@quartermaster/db/repositories/inventory.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';

/** A name at a provider. */
export type CoveredSubject = {
  provider: Provider;
  kind: InventoryKind;
  /** The key of its name, see `nameKey`. */
  nameKey: string;
};

/** The item with exactly the name, and the item that decides for the name, see `findDecidingItem`. */
type CoveringItems = { exactItem: KeyedItem | undefined; deciding: KeyedItem | undefined };

type InTenant = Pick<TenantPlace, 'tenantId'>;

/** Names that are compared with the items of their family before other requests have a turn. */
const COMPARED_AT_ONCE = 16;

/**
 * Finds the inventory items that cover subjects. The number of statements does not grow with the number of subjects.
 *
 * @returns a look-up function
 */
export async function findCoveringItems(
  db: Database,
  tenant: InTenant,
  subjects: readonly CoveredSubject[],
): Promise<(subject: CoveredSubject) => CoveringItems> {
  const found = await findExactOrBlockingItems(db, tenant, subjects);
  const undecided = [...found].flatMap(([text, { subject, isKnown }]) => (isKnown ? [] : [{ text, subject }]));
  for (const [text, deciding] of await findUnblockedItems(db, tenant, undecided)) {
    const subject = found.get(text);
    if (subject) subject.deciding = deciding;
  }
  return (subject) => found.get(subjectText(subject)) ?? { exactItem: undefined, deciding: undefined };
}

/** Finds the inventory items that block subjects. Returns a look-up function. */
export async function findBlockingItems(
  db: Database,
  tenant: InTenant,
  subjects: readonly CoveredSubject[],
): Promise<(subject: CoveredSubject) => InventoryItem | undefined> {
  const found = await findExactOrBlockingItems(db, tenant, subjects);
  return (subject) => {
    const item = found.get(subjectText(subject))?.deciding;
    return item?.status === 'blocked' ? item : undefined;
  };
}

/** Finds the inventory items with exactly the names of subjects. Returns a look-up function. */
export async function findExactItems(
  db: Database,
  tenant: InTenant,
  subjects: readonly CoveredSubject[],
): Promise<(subject: CoveredSubject) => KeyedItem | undefined> {
  const items = await findInventoryItemsByKeys(db, tenant, subjects.map(keyOf));
  const byKey = byKeyOf(items);
  return (subject) => byKey.get(subjectText(subject));
}

/** `isKnown`: whether `deciding` is known. If not, the subject has no item, and no item blocks it. */
type Found = CoveringItems & { subject: CoveredSubject; isKnown: boolean };

/**
 * The items that may cover a subject: the item with exactly its name, those of its family that can block or allow others, and
 * all of its family.
 */
type Candidates = {
  exactItem: KeyedItem | undefined;
  decisive: readonly KeyedItem[];
  all: readonly KeyedItem[] | null;
};

async function findExactOrBlockingItems(
  db: Database,
  tenant: InTenant,
  subjects: readonly CoveredSubject[],
): Promise<Map<string, Found>> {
  const distinct = new Map(subjects.map((subject) => [subjectText(subject), subject]));
  const candidatesOf = await findCandidates(db, tenant, [...distinct.values()]);
  const ruleOf = coverageRules();
  const found = new Map<string, Found>();
  for await (const batch of inBatches(distinct, COMPARED_AT_ONCE)) {
    for (const [text, subject] of batch) {
      const rule = ruleOf(subject.provider, subject.kind);
      const { exactItem, decisive, all } = candidatesOf(subject);
      let deciding = findExactOrBlockingItem({ exactItem, decisive }, rule, subject.nameKey);
      if (deciding === undefined && all !== null) deciding = findDecidingItem(all, rule, subject.nameKey);
      found.set(text, { subject, exactItem, deciding, isKnown: deciding !== undefined || all !== null });
    }
  }
  return found;
}

/**
 * Reads the families of subjects with one statement. A provider may list thousands of names of one family. In that case it reads
 * only the items with exactly the names, and those that can block or allow others.
 */
async function findCandidates(
  db: Database,
  tenant: InTenant,
  subjects: readonly CoveredSubject[],
): Promise<(subject: CoveredSubject) => Candidates> {
  const families = subjects.map(familyOf);
  const items = await findItemsOfSmallFamilies(db, tenant, families);
  if (items === null) {
    const [exactItemOf, decisiveItems] = await together(db, [
      () => findExactItems(db, tenant, subjects),
      () => findDecisiveItems(db, tenant, families),
    ]);
    const decisive = groupByFamily(decisiveItems);
    return (subject) => ({
      exactItem: exactItemOf(subject),
      decisive: decisive.get(familyText(familyOf(subject))) ?? [],
      all: null,
    });
  }
  const byKey = byKeyOf(items);
  const all = groupByFamily(items);
  const decisive = groupByFamily(items.filter(canBlockOrAllow));
  return (subject) => {
    const family = familyText(familyOf(subject));
    return {
      exactItem: byKey.get(subjectText(subject)),
      decisive: decisive.get(family) ?? [],
      all: all.get(family) ?? [],
    };
  };
}

/** The items that decide for subjects that have no item and that no item blocks. Reads all names of their families. */
async function findUnblockedItems(
  db: Database,
  tenant: InTenant,
  undecided: readonly { text: string; subject: CoveredSubject }[],
): Promise<Map<string, KeyedItem>> {
  if (undecided.length === 0) return new Map();
  const families = undecided.map(({ subject }) => familyOf(subject));
  const namesByFamily = groupByFamily(await findItemNamesOfFamilies(db, tenant, families));
  if (namesByFamily.size === 0) return new Map();
  const ruleOf = coverageRules();
  const names = new Map<string, ItemName>();
  for await (const batch of inBatches(undecided, COMPARED_AT_ONCE)) {
    for (const { text, subject } of batch) {
      const ofFamily = namesByFamily.get(familyText(familyOf(subject))) ?? [];
      const deciding = findDecidingItem(ofFamily, ruleOf(subject.provider, subject.kind), subject.nameKey);
      if (deciding) names.set(text, deciding);
    }
  }
  const items = await findInventoryItemsByKeys(db, tenant, [...byKeyOf([...names.values()]).values()]);
  const byKey = byKeyOf(items);
  return new Map(
    [...names].flatMap(([text, name]) => {
      const item = byKey.get(itemText(name));
      return item ? [[text, item] as const] : [];
    }),
  );
}

type Keyed = Pick<KeyedItem, 'providerId' | 'kind' | 'nameKey'>;

function keyOf({ provider, kind, nameKey }: CoveredSubject): Keyed {
  return { providerId: provider.id, kind, nameKey };
}

function familyOf({ provider, kind, nameKey }: CoveredSubject) {
  return { providerId: provider.id, kind, nameFamily: nameFamily(kind, nameKey) };
}

function groupByFamily<T extends Keyed>(items: readonly T[]): Map<string, T[]> {
  return Map.groupBy(items, ({ providerId, kind, nameKey }) =>
    familyText({ providerId, kind, nameFamily: nameFamily(kind, nameKey) }),
  );
}

function byKeyOf<T extends Keyed>(items: readonly T[]): Map<string, T> {
  return new Map(items.map((item) => [itemText(item), item]));
}

function familyText({ providerId, kind, nameFamily: family }: ReturnType<typeof familyOf>): string {
  return JSON.stringify([providerId, kind, family]);
}

function subjectText(subject: CoveredSubject): string {
  return itemText(keyOf(subject));
}

function itemText({ providerId, kind, nameKey }: Keyed): string {
  return JSON.stringify([providerId, kind, nameKey]);
}
