import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Database } from '../database.ts';
import { declaredKeys } from '../name-key.ts';
import { folded, placeColumns } from '../queries.ts';
import type { TenantPlace } from '../tenancy.ts';

/**
 * Whether an active manifest declares a subject of a provider, seen from a place: manifests of the place and of its
 * whole tenant count.
 *
 * @param provider the provider's id and name: what declarations may call it by
 * @param subject by the key of its name, as nameKey makes it
 */
export async function isDeclaredByManifest(
  db: Database,
  place: TenantPlace,
  provider: { id: string; name: string },
  subject: { kind: InventoryKind; nameKey: string },
): Promise<boolean> {
  const { tenant_id, sub_tenant_id } = placeColumns(place);
  const row = await db
    .selectFrom('manifest_declarations')
    .select('manifest_id')
    .where('tenant_id', '=', tenant_id)
    .where('provider_key', 'in', [folded(provider.name), provider.id])
    .where('kind', '=', subject.kind)
    .where('name_key', 'in', declaredKeys(subject.kind, subject.nameKey, provider.name))
    .where('sub_tenant_id', 'in', ['', sub_tenant_id])
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
