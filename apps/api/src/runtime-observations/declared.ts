import type { InventoryItem, InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey } from '@quartermaster/db/name-key.ts';
import { findInventoryItemsByKeys } from '@quartermaster/db/repositories/inventory.ts';
import { manifestDeclarations, type SeenSubject } from '@quartermaster/db/repositories/manifest-declarations.ts';
import { scopeOf, type TenantPlace } from '@quartermaster/db/tenancy.ts';

/** What is declared of a subject at a provider. */
export type Declared = { unknown: boolean; item: InventoryItem | undefined };

/** Something of a provider, and where it was observed. */
type Observed = TenantPlace & { kind: InventoryKind; name: string };

/**
 * Whether something is declared, seen from where it was observed: by an inventory item that is not retired (a blocked
 * one is declared, as forbidden), or by an active manifest of the place or its whole tenant.
 */
export async function declaredAt(
  db: Database,
  { tenantId, subTenantId }: TenantPlace,
  provider: Provider,
  { kind, name }: { kind: InventoryKind; name: string },
): Promise<Declared> {
  const subject = { tenantId, subTenantId, kind, name };
  return (await declaredOfAll(db, provider, [subject]))(subject);
}

/** The same for many subjects of a provider, some hundreds at the most, with a few statements. Answers what tells it. */
export async function declaredOfAll(
  db: Database,
  provider: Provider,
  observed: readonly Observed[],
): Promise<(observed: Observed) => Declared> {
  const subjectOf = ({ tenantId, subTenantId, kind, name }: Observed) => ({
    ...{ tenantId, subTenantId, kind },
    nameKey: nameKey(kind, name, provider.name),
  });
  const subjects = observed.map(subjectOf);
  const items = new Map<string, InventoryItem>();
  for (const item of await findInventoryItemsByKeys(db, scopeOf(provider), provider.id, subjects)) {
    items.set(`${item.kind} ${item.nameKey}`, item);
  }
  const itemOf = ({ kind, nameKey: key }: SeenSubject) => items.get(`${kind} ${key}`);
  const isDeclaring = (item: InventoryItem | undefined) => item !== undefined && item.status !== 'retired';
  const rest = subjects.filter((subject) => !isDeclaring(itemOf(subject)));
  const isDeclared = await manifestDeclarations(db, provider, provider, rest);
  return (one) => {
    const subject = subjectOf(one);
    const item = itemOf(subject);
    return { unknown: !isDeclaring(item) && !isDeclared(subject), item };
  };
}

/** The item that an observation shows as declaring it. */
export function declaringItemId({ unknown, item }: Declared): string | null {
  return unknown ? null : (item?.id ?? null);
}
