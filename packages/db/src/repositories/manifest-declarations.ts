import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Database } from '../database.ts';
import { declaredKeys } from '../name-key.ts';
import { folded, placeColumns } from '../queries.ts';
import { among, rowStatement } from '../row-statement.ts';
import type { TenantPlace } from '../tenancy.ts';

/** A subject of a provider, by the key of its name as nameKey makes it, seen from a place. */
export type SeenSubject = TenantPlace & {
  /** Its id and name: what declarations may call it by. */
  provider: { id: string; name: string };
  kind: InventoryKind;
  nameKey: string;
};

/** A declaration that would declare a subject. */
type Declaration = { subTenant: string; provider: string; kind: InventoryKind; nameKey: string };

/**
 * Which subjects of a tenant an active manifest declares: manifests of the place that a subject is seen from and of its whole
 * tenant count. Answers a test for these subjects.
 *
 * @param tenant the one that all of the subjects' places are of
 */
export async function manifestDeclarations(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  subjects: readonly SeenSubject[],
): Promise<(subject: SeenSubject) => boolean> {
  const declarations = new Map<string, Declaration>();
  for (const subject of subjects) for (const one of declaring(subject)) declarations.set(keyOf(one), one);
  const rows = await selectDeclarations(db, [...declarations.values()], { tenantId });
  const declared = new Set(rows.map(keyOf));
  return (subject) => declaring(subject).some((one) => declared.has(keyOf(one)));
}

const selectDeclarations = rowStatement((db, rows: readonly Declaration[], { tenantId }: { tenantId: string }) =>
  db
    .selectFrom('manifest_declarations')
    .select(['sub_tenant_id as subTenant', 'provider_key as provider', 'kind', 'name_key as nameKey'])
    .distinct()
    .where('tenant_id', '=', tenantId)
    .where(
      among(
        ['provider_key', 'kind', 'name_key', 'sub_tenant_id'],
        rows.map(({ provider, kind, nameKey, subTenant }) => [provider, kind, nameKey, subTenant]),
      ),
    ),
);

function declaring({ provider, kind, nameKey, ...place }: SeenSubject): Declaration[] {
  const names = declaredKeys(kind, nameKey, provider.name);
  return [...new Set(['', placeColumns(place).sub_tenant_id])].flatMap((subTenant) =>
    [folded(provider.name), provider.id].flatMap((called) =>
      names.map((name) => ({ subTenant, provider: called, kind, nameKey: name })),
    ),
  );
}

function keyOf({ subTenant, provider, kind, nameKey }: Declaration): string {
  return JSON.stringify([subTenant, provider, kind, nameKey]);
}
