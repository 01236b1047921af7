import type { InventoryItem, InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey } from '@quartermaster/db/name-key.ts';
import { findInventoryItemByKey } from '@quartermaster/db/repositories/inventory.ts';
import { isDeclaredByManifest } from '@quartermaster/db/repositories/manifest-declarations.ts';
import { scopeOf, type TenantPlace } from '@quartermaster/db/tenancy.ts';

/** What is declared of a subject at a provider. */
export type Declared = { unknown: boolean; item: InventoryItem | undefined };

/**
 * Whether something is declared, seen from where it was observed: by an inventory item that is not retired (a blocked
 * one is declared, as forbidden), or by an active manifest of the place or its whole tenant.
 */
export async function declaredAt(
  db: Database,
  place: TenantPlace,
  provider: Provider,
  { kind, name }: { kind: InventoryKind; name: string },
): Promise<Declared> {
  const key = { kind, nameKey: nameKey(kind, name, provider.name) };
  const item = await findInventoryItemByKey(db, scopeOf(provider), { providerId: provider.id, ...key });
  if (item && item.status !== 'retired') return { unknown: false, item };
  return { unknown: !(await isDeclaredByManifest(db, place, provider, key)), item };
}

/** The item that an observation shows as declaring it. */
export function declaringItemId({ unknown, item }: Declared): string | null {
  return unknown ? null : (item?.id ?? null);
}
