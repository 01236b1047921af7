import type { InventoryItem, InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey } from '@quartermaster/db/name-key.ts';
import { findInventoryItemsByKeys } from '@quartermaster/db/repositories/inventory.ts';
import { manifestDeclarations } from '@quartermaster/db/repositories/manifest-declarations.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { subjectKey } from './subject-key.ts';

/** What is declared of a subject at a provider. */
export type Declared = { unknown: boolean; item: InventoryItem | undefined };

/** Something of a provider, and where it was observed. */
type Observed = TenantPlace & {
  provider: Provider;
  kind: InventoryKind;
  /** Of its name. */
  nameKey: string;
};

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
  const keys = observed.map(({ provider, kind, nameKey: key }) => ({ providerId: provider.id, kind, nameKey: key }));
  const items = new Map<string, InventoryItem>();
  for (const item of await findInventoryItemsByKeys(db, tenant, keys)) items.set(subjectKey(item), item);
  const itemOf = ({ provider, kind, nameKey: key }: Observed) =>
    items.get(subjectKey({ providerId: provider.id, kind, nameKey: key }));
  const isDeclaring = (item: InventoryItem | undefined) => item !== undefined && item.status !== 'retired';
  const rest = observed.filter((one) => !isDeclaring(itemOf(one)));
  const isDeclared = await manifestDeclarations(db, tenant, rest);
  return (one) => {
    const item = itemOf(one);
    return { unknown: !isDeclaring(item) && !isDeclared(one), item };
  };
}

/** The item that an observation shows as declaring it. */
export function declaringItemId({ unknown, item }: Declared): string | null {
  return unknown ? null : (item?.id ?? null);
}
