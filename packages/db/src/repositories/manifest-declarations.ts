import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { coveringAt, nameFamily } from '../name-family.ts';
import { calledNames } from '../provider-names.ts';
import { among, rowStatement } from '../row-statement.ts';
import { mayNameProvider, type TenantPlace } from '../tenancy.ts';

/** A subject of a provider, by the key of its name as nameKey makes it, seen from a place. */
export type SeenSubject = TenantPlace & {
  /** Its id, name and aliases: what declarations may call it by. Where it stands says whose declarations may use its names. */
  provider: Pick<Provider, 'id' | 'name' | 'aliases' | 'baseUrl' | 'subTenantId'>;
  kind: InventoryKind;
  nameKey: string;
};

/** Where declarations would be that declare a subject. */
type Declaring = { subTenant: string; provider: string; kind: InventoryKind; nameFamily: string };

/**
 * Which subjects of a tenant an active manifest declares: manifests of the place that a subject is seen from and of its whole
 * tenant count. A name or alias of a sub-tenant's provider counts in manifests of that sub-tenant alone, see `mayNameProvider`.
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
  const called = new Set(subjects.flatMap(({ provider }) => [...calledNames(provider), provider.id]));
  const rowsOfCalled = [...called].map((provider) => ({ provider }));
  const declaredOf = new Set((await selectCalled(db, rowsOfCalled, { tenantId })).map(({ provider }) => provider));
  if (declaredOf.size === 0) return () => false;
  const wanted = new Map<string, Declaring>();
  for (const one of subjects.flatMap(declaring)) if (declaredOf.has(one.provider)) wanted.set(keyOf(one), one);
  const declared = Map.groupBy(await selectDeclarations(db, [...wanted.values()], { tenantId }), keyOf);
  return (subject) => {
    const covering = coveringAt(subject.provider, subject.kind);
    const covers = (key: string) => covering(key, subject.nameKey)?.doubtful === false;
    return declaring(subject).some((one) => declared.get(keyOf(one))?.some(({ nameKey }) => covers(nameKey)));
  };
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

const selectDeclarations = rowStatement((db, rows: readonly Declaring[], { tenantId }: { tenantId: string }) =>
  db
    .selectFrom('manifest_declarations')
    .select(['sub_tenant_id as subTenant', 'provider_key as provider', 'kind'])
    .select(['name_family as nameFamily', 'name_key as nameKey'])
    .distinct()
    .where('tenant_id', '=', tenantId)
    .where(
      among(
        ['provider_key', 'kind', 'name_family', 'sub_tenant_id'],
        rows.map(({ provider, kind, nameFamily: family, subTenant }) => [provider, kind, family, subTenant]),
      ),
    ),
);

function declaring({ provider, kind, nameKey, subTenantId }: SeenSubject): Declaring[] {
  const family = nameFamily(kind, nameKey);
  const places = [...new Set([null, subTenantId])];
  return places.flatMap((place) => {
    const subTenant = place ?? '';
    const called = mayNameProvider({ subTenantId: place }, provider)
      ? [...calledNames(provider), provider.id]
      : [provider.id];
    return called.map((one) => ({ subTenant, provider: one, kind, nameFamily: family }));
  });
}

function keyOf({ subTenant, provider, kind, nameFamily: family }: Declaring): string {
  return JSON.stringify([subTenant, provider, kind, family]);
}
