import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Database } from '../database.ts';
import { placeColumns } from '../queries.ts';
import type { TenantPlace } from '../tenancy.ts';

/**
 * Whether an active manifest declares a subject of a provider, seen from a place: manifests of the place and of its
 * whole tenant count.
 *
 * @param providerKeys what declarations may call the provider: its name, case-folded, or its id
 */
export async function isDeclaredByManifest(
  db: Database,
  place: TenantPlace,
  providerKeys: readonly string[],
  subject: { kind: InventoryKind; name: string },
): Promise<boolean> {
  const { tenant_id, sub_tenant_id } = placeColumns(place);
  const row = await db
    .selectFrom('manifest_declarations')
    .select('manifest_id')
    .where('tenant_id', '=', tenant_id)
    .where('provider_key', 'in', providerKeys)
    .where('kind', '=', subject.kind)
    .where('name', '=', subject.name)
    .where('sub_tenant_id', 'in', ['', sub_tenant_id])
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
