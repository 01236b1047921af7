import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import { sql } from 'kysely';
import { multiRowStatement, together } from '../prepared-statement.ts';
import { tupleIn, valueRows } from '../queries.ts';
import type { Database } from '../database.ts';
import { coverageRules } from '@quartermaster/naming/coverage.ts';
import { nameFamily } from '@quartermaster/naming/name-family.ts';
import { manifestReferences } from '@quartermaster/naming/provider-names.ts';
import { mayNameProvider, type TenantPlace } from '../tenancy.ts';

/** A subject of a provider, observed at a place. */
export type SeenSubject = TenantPlace & {
  /** Declarations refer to it by id, name or alias. Its place decides which declarations may use its names. */
  provider: Pick<Provider, 'id' | 'name' | 'aliases' | 'baseUrl' | 'subTenantId'>;
  kind: InventoryKind;
  nameKey: string;
};

/** The look-up key of the declarations that may cover a subject. */
type DeclarationKey = { subTenant: string; provider: string; kind: InventoryKind; nameFamily: string };

/**
 * Finds out which subjects of a tenant are declared by active manifests, of the subject's place or of the whole tenant. An
 * agent's manifest also declares the agent of its name, at every provider.
 *
 * @param tenant the tenant of all subjects
 * @returns a function that says whether one of these subjects is declared
 */
export async function manifestDeclarations(
  db: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  subjects: readonly SeenSubject[],
): Promise<(subject: SeenSubject) => boolean> {
  const [isUsed, isAgent] = await together(db, [
    () => declaredUses(db, tenant, subjects),
    () => agentsWithManifest(db, tenant, subjects),
  ]);
  return (subject) => isUsed(subject) || isAgent(subject);
}

/**
 * Finds which subjects manifests declare. Only manifests of a sub-tenant may use the names and aliases of the sub-tenant's
 * providers, see `mayNameProvider`.
 */
async function declaredUses(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  subjects: readonly SeenSubject[],
): Promise<(subject: SeenSubject) => boolean> {
  // Most providers occur in no manifest. Their names need no look-up.
  const references = new Set(subjects.flatMap(({ provider }) => manifestReferences(provider, { byName: true })));
  const referenceRows = [...references].map((provider) => ({ provider }));
  const declaredOf = new Set(
    (await selectDeclaredProviders(db, referenceRows, { tenantId })).map(({ provider }) => provider),
  );
  if (declaredOf.size === 0) return () => false;
  const wanted = new Map<string, DeclarationKey>();
  for (const key of subjects.flatMap(declarationKeysOf)) if (declaredOf.has(key.provider)) wanted.set(keyOf(key), key);
  const declared = Map.groupBy(await selectDeclarations(db, [...wanted.values()], { tenantId }), keyOf);
  const ruleOf = coverageRules();
  return (subject) => {
    const coverageOf = ruleOf(subject.provider, subject.kind);
    const covers = (key: string) => coverageOf(key, subject.nameKey)?.doubtful === false;
    return declarationKeysOf(subject).some((key) => declared.get(keyOf(key))?.some(({ nameKey }) => covers(nameKey)));
  };
}

type NamedAgent = { subTenant: string; name: string };

async function agentsWithManifest(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  subjects: readonly SeenSubject[],
): Promise<(subject: SeenSubject) => boolean> {
  const wanted = new Map(subjects.flatMap(agentsOf).map((agent) => [JSON.stringify(agent), agent]));
  if (wanted.size === 0) return () => false;
  const found = await selectAgentManifests(db, [...wanted.values()], { tenantId });
  const named = new Set(found.map(({ subTenant, name }) => JSON.stringify({ subTenant, name })));
  return (subject) => agentsOf(subject).some((agent) => named.has(JSON.stringify(agent)));
}

/** The agents whose manifests declare a subject. Empty if the subject is not an agent. */
function agentsOf({ kind, nameKey: name, subTenantId }: SeenSubject): NamedAgent[] {
  if (kind !== 'agent') return [];
  return [...new Set(['', subTenantId ?? ''])].map((subTenant) => ({ subTenant, name }));
}

const selectAgentManifests = multiRowStatement((db, rows: readonly NamedAgent[], { tenantId }: { tenantId: string }) =>
  db
    .selectFrom('manifests')
    .select(['sub_tenant_id as subTenant', 'name'])
    .where('tenant_id', '=', tenantId)
    .where('kind', '=', sql.lit('agent'))
    .where('status', '=', sql.lit('active'))
    .where(
      tupleIn(
        ['sub_tenant_id', 'name'],
        rows.map(({ subTenant, name }) => [subTenant, name]),
      ),
    ),
);

/** Which of some provider names and ids occur in declarations of the tenant. */
const selectDeclaredProviders = multiRowStatement(
  (db, rows: readonly { provider: string }[], { tenantId }: { tenantId: string }) =>
    db
      .with('called(provider)', () => valueRows<{ provider: string }>(rows.map(({ provider }) => [provider])))
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

const selectDeclarations = multiRowStatement(
  (db, rows: readonly DeclarationKey[], { tenantId }: { tenantId: string }) =>
    db
      .selectFrom('manifest_declarations')
      .select(['sub_tenant_id as subTenant', 'provider_key as provider', 'kind'])
      .select(['name_family as nameFamily', 'name_key as nameKey'])
      .distinct()
      .where('tenant_id', '=', tenantId)
      .where(
        tupleIn(
          ['provider_key', 'kind', 'name_family', 'sub_tenant_id'],
          rows.map(({ provider, kind, nameFamily: family, subTenant }) => [provider, kind, family, subTenant]),
        ),
      ),
);

function declarationKeysOf({ provider, kind, nameKey, subTenantId }: SeenSubject): DeclarationKey[] {
  const family = nameFamily(kind, nameKey);
  const places = [...new Set([null, subTenantId])];
  return places.flatMap((place) => {
    const subTenant = place ?? '';
    const references = manifestReferences(provider, { byName: mayNameProvider({ subTenantId: place }, provider) });
    return references.map((reference) => ({ subTenant, provider: reference, kind, nameFamily: family }));
  });
}

function keyOf({ subTenant, provider, kind, nameFamily: family }: DeclarationKey): string {
  return JSON.stringify([subTenant, provider, kind, family]);
}
