import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { declaredKeys } from '../name-key.ts';
import { folded } from '../queries.ts';
import { among, rowStatement } from '../row-statement.ts';
import { mayNameProvider, type TenantPlace } from '../tenancy.ts';

/** A subject of a provider, by the key of its name as nameKey makes it, seen from a place. */
export type SeenSubject = TenantPlace & {
  /** Its id and name: what declarations may call it by. Where it stands says whose declarations may use the name. */
  provider: { id: string; name: string; subTenantId: string | null };
  kind: InventoryKind;
  nameKey: string;
};

/** A declaration that would declare a subject. */
type Declaration = { subTenant: string; provider: string; kind: InventoryKind; nameKey: string };

/**
 * Which subjects of a tenant an active manifest declares: manifests of the place that a subject is seen from and of its whole
 * tenant count. A name of a sub-tenant's provider counts in manifests of that sub-tenant alone, see `mayNameProvider`.
 * Answers a test for these subjects.
 *
 * @param tenant the one that all of the subjects' places are of
 */
export async function manifestDeclarations(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  subjects: readonly SeenSubject[],
): Promise<(subject: SeenSubject) => boolean> {
  // Manifests say nothing of most providers: of those, no name has to be looked up.
  const called = new Set(subjects.flatMap(({ provider }) => [folded(provider.name), provider.id]));
  const rowsOfCalled = [...called].map((provider) => ({ provider }));
  const declaredOf = new Set((await selectCalled(db, rowsOfCalled, { tenantId })).map(({ provider }) => provider));
  if (declaredOf.size === 0) return () => false;
  const declarations = new Map<string, Declaration>();
  for (const one of subjects.flatMap(declaring)) if (declaredOf.has(one.provider)) declarations.set(keyOf(one), one);
  const rows = await selectDeclarations(db, [...declarations.values()], { tenantId });
  const declared = new Set(rows.map(keyOf));
  return (subject) => declaring(subject).some((one) => declared.has(keyOf(one)));
}

/** What providers are called by declarations of the tenant, of what they may be. */
const selectCalled = rowStatement((db, rows: readonly { provider: string }[], { tenantId }: { tenantId: string }) =>
  db
    .with(
      'called(provider)',
      () => sql<{ provider: string }>`(values ${sql.join(rows.map(({ provider }) => sql`(${provider})`))})`,
    )
    .selectFrom('called')
    .select('called.provider')
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('manifest_declarations')
          .select('provider_key')
          .where('tenant_id', '=', tenantId)
          .whereRef('provider_key', '=', 'called.provider'),
      ),
    ),
);

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

function declaring({ provider, kind, nameKey, subTenantId }: SeenSubject): Declaration[] {
  const names = declaredKeys(kind, nameKey, provider.name);
  const places = [...new Set([null, subTenantId])];
  return places.flatMap((place) => {
    const subTenant = place ?? '';
    const called = mayNameProvider({ subTenantId: place }, provider)
      ? [folded(provider.name), provider.id]
      : [provider.id];
    return called.flatMap((one) => names.map((name) => ({ subTenant, provider: one, kind, nameKey: name })));
  });
}

function keyOf({ subTenant, provider, kind, nameKey }: Declaration): string {
  return JSON.stringify([subTenant, provider, kind, nameKey]);
}
