import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Database } from '../database.ts';
import { declaredKeys } from '../name-key.ts';
import { folded, placeColumns } from '../queries.ts';
import type { TenantPlace } from '../tenancy.ts';

/** A subject of a provider, by the key of its name as nameKey makes it, seen from a place. */
export type SeenSubject = TenantPlace & { kind: InventoryKind; nameKey: string };

/**
 * Which subjects of a provider an active manifest declares: manifests of the place that a subject is seen from and of its
 * whole tenant count. Answers a test for these subjects.
 *
 * @param tenant the one that all of the subjects' places are of
 * @param provider the provider's id and name: what declarations may call it by
 */
export async function manifestDeclarations(
  db: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  provider: { id: string; name: string },
  subjects: readonly SeenSubject[],
): Promise<(subject: SeenSubject) => boolean> {
  const declared = new Set<string>();
  const keysOf = ({ kind, nameKey }: SeenSubject) => declaredKeys(kind, nameKey, provider.name);
  for (const [kind, ofKind] of Map.groupBy(subjects, (subject) => subject.kind)) {
    const rows = await db
      .selectFrom('manifest_declarations')
      .select(['sub_tenant_id', 'name_key'])
      .distinct()
      .where('tenant_id', '=', tenant.tenantId)
      .where('provider_key', 'in', [folded(provider.name), provider.id])
      .where('kind', '=', kind)
      .where('name_key', 'in', [...new Set(ofKind.flatMap(keysOf))])
      .where('sub_tenant_id', 'in', ['', ...new Set(ofKind.map((subject) => placeColumns(subject).sub_tenant_id))])
      .execute();
    for (const row of rows) declared.add(JSON.stringify([row.sub_tenant_id, kind, row.name_key]));
  }
  return (subject) =>
    ['', placeColumns(subject).sub_tenant_id].some((subTenant) =>
      keysOf(subject).some((key) => declared.has(JSON.stringify([subTenant, subject.kind, key]))),
    );
}
