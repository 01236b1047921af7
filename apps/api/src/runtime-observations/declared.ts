import type { InventoryItem, InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { coveringAt, decidingItem, nameFamily } from '@quartermaster/db/name-family.ts';
import { nameKey } from '@quartermaster/db/name-key.ts';
import { findInventoryItemsOfFamilies, type KeyedItem } from '@quartermaster/db/repositories/inventory.ts';
import { manifestDeclarations } from '@quartermaster/db/repositories/manifest-declarations.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';

/** What is declared of a subject at a provider: the item is the one that says what holds for its name. */
export type Declared = { unknown: boolean; item: InventoryItem | undefined };

/** Something of a provider. */
type Named = {
  provider: Provider;
  kind: InventoryKind;
  /** Of its name. */
  nameKey: string;
};

/** Something of a provider, and where it was observed. */
type Observed = TenantPlace & Named;

/** Whether something is declared, seen from where it was observed: see {@link declaredOfAll}. */
export async function declaredAt(
  db: Database,
  { tenantId, subTenantId }: TenantPlace,
  provider: Provider,
  { kind, name }: { kind: InventoryKind; name: string },
): Promise<Declared> {
  const observed = { tenantId, subTenantId, provider, kind, nameKey: nameKey(kind, name, provider.name) };
  return (await declaredOfAll(db, observed, [observed]))(observed);
}

/**
 * Whether subjects are declared, seen from where they were observed: by an inventory item that is not retired (a blocked one
 * is declared, as forbidden), or by an active manifest of the place or its whole tenant. With a few statements, however many
 * they are. Answers what tells it.
 *
 * @param tenant the one that all of them are of
 */
export async function declaredOfAll(
  db: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  observed: readonly Observed[],
): Promise<(observed: Observed) => Declared> {
  const itemsOf = await findCoveringItems(db, tenant, observed);
  const isDeclaring = (item: InventoryItem | undefined) => item !== undefined && item.status !== 'retired';
  const rest = observed.filter((one) => !isDeclaring(itemsOf(one).deciding));
  const isDeclared = await manifestDeclarations(db, tenant, rest);
  return (one) => {
    const item = itemsOf(one).deciding;
    return { unknown: !isDeclaring(item) && !isDeclared(one), item };
  };
}

/** A model that answered, and the name of the inventory item that blocks it. */
export type BlockedAnswer = { model: string; item: string };

/** Which of the models that answered calls are blocked at the provider of the call. With a few statements. */
export async function findBlockedAnswers(
  db: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  answered: readonly { provider: Provider; kind: InventoryKind; responseModels: readonly string[] }[],
): Promise<(provider: Provider, responseModels: readonly string[]) => BlockedAnswer[]> {
  const named = (provider: Provider, model: string) => {
    return { provider, kind: 'model' as const, nameKey: nameKey('model', model, provider.name) };
  };
  const models = answered.filter(({ kind }) => kind === 'model');
  const all = models.flatMap(({ provider, responseModels }) => responseModels.map((model) => named(provider, model)));
  if (all.length === 0) return () => [];
  const itemsOf = await findCoveringItems(db, tenant, all);
  return (provider, responseModels) =>
    responseModels.flatMap((model) => {
      const item = itemsOf(named(provider, model)).deciding;
      return item?.status === 'blocked' ? [{ model, item: item.name }] : [];
    });
}

/** The item of exactly a name, and the one that says what holds for it, see decidingItem. */
type CoveringItems = { own: KeyedItem | undefined; deciding: KeyedItem | undefined };

/** The items that cover some names. A few statements, however many names. */
export async function findCoveringItems(
  db: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  named: readonly Named[],
): Promise<(named: Named) => CoveringItems> {
  const familyOf = ({ provider, kind, nameKey: key }: Named) => ({
    providerId: provider.id,
    kind,
    nameFamily: nameFamily(kind, key),
  });
  const found = await findInventoryItemsOfFamilies(db, tenant, named.map(familyOf));
  const textOf = (one: ReturnType<typeof familyOf>) => JSON.stringify([one.providerId, one.kind, one.nameFamily]);
  const byFamily = Map.groupBy(found, (item) => textOf({ ...item, nameFamily: nameFamily(item.kind, item.nameKey) }));
  return (one) => {
    const items = byFamily.get(textOf(familyOf(one))) ?? [];
    const own = items.find((item) => item.nameKey === one.nameKey);
    const isAlone = items.length === 0 || (items.length === 1 && own !== undefined);
    return { own, deciding: isAlone ? own : decidingItem(items, coveringAt(one.provider, one.kind), one.nameKey) };
  };
}

/** The item that an observation shows as declaring it. */
export function declaringItemId({ unknown, item }: Declared): string | null {
  return unknown ? null : (item?.id ?? null);
}
