import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Manifest, ManifestSpec } from '@quartermaster/contracts/manifests.ts';
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { newId } from '../ids.ts';
import { inKeysetRange, type KeysetRange, listRows } from '../listing.ts';
import { nameFamily } from '@quartermaster/naming/name-family.ts';
import { multiRowStatement, preparedStatement } from '../prepared-statement.ts';
import { nameKey } from '@quartermaster/naming/name-key.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import { type Page, type PageRequest, inScope, placeColumns, placeOf, timesOf, tupleIn } from '../queries.ts';
import { storedJson } from '../stored-json.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';
import { addStoredBytes } from './tenant-usage.ts';

export type NewManifest = Pick<Manifest, 'name' | 'kind' | 'version' | 'digest' | 'spec' | 'createdBy'>;
export type ManifestFilter = {
  name?: string | null | undefined;
  kind?: string | null | undefined;
  status?: string | null | undefined;
};

/** One declaration of a manifest. `provider` is a case-folded name, or an id. */
export type Declaration = { provider: string; kind: InventoryKind; name: string };

const manifestById = preparedStatement((db, { scope, id }: { scope: TenantScope; id: string }) =>
  db
    .selectFrom('manifests')
    .selectAll()
    .where('id', '=', id)
    .where('status', '<>', sql.lit('deleted'))
    .where(inScope(scope)),
);

/** A manifest version that is not deleted. */
export async function findManifest(db: Database, scope: TenantScope, id: string): Promise<Manifest | undefined> {
  const [row] = await manifestById(db, { scope, id });
  return row && toManifest(row);
}

/** The active version of a manifest at a place. */
export async function findActiveManifest(
  db: Database,
  place: TenantPlace,
  manifest: Pick<Manifest, 'kind' | 'name'>,
): Promise<Manifest | undefined> {
  const { tenant_id, sub_tenant_id } = placeColumns(place);
  const row = await db
    .selectFrom('manifests')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('sub_tenant_id', '=', sub_tenant_id)
    .where('kind', '=', manifest.kind)
    .where('name', '=', manifest.name)
    .where('status', '=', 'active')
    .executeTakeFirst();
  return row && toManifest(row);
}

/** The highest version that a manifest ever had at a place, deleted or not. 0 if there was none. */
export async function findLastManifestVersion(
  db: Database,
  place: TenantPlace,
  manifest: Pick<Manifest, 'kind' | 'name'>,
): Promise<number> {
  const { tenant_id, sub_tenant_id } = placeColumns(place);
  const row = await db
    .selectFrom('manifests')
    .select('version')
    .where('tenant_id', '=', tenant_id)
    .where('sub_tenant_id', '=', sub_tenant_id)
    .where('kind', '=', manifest.kind)
    .where('name', '=', manifest.name)
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.version ?? 0;
}

/**
 * Newest first, with superseded ones. Deleted manifests are only listed if the filter asks for their status. Each `spec` is
 * {@link storedJson}, because a page may have 12 MB of them.
 */
export async function listManifests(
  db: Database,
  scope: TenantScope,
  filter: ManifestFilter,
  page: PageRequest,
): Promise<Page<Manifest>> {
  const { rows, next } = await listRows(db, scope, page, {
    table: 'manifests',
    hasUnindexedFilter: [filter.status, filter.kind, filter.name].some((one) => one != null),
    rows: (range) => manifestRows(db, filter, range).execute(),
  });
  return { items: rows.map((row) => withSpec(row, storedJson(row.spec))), next };
}

function manifestRows(db: Database, filter: ManifestFilter, range: KeysetRange) {
  let query = db.selectFrom('manifests').selectAll().where(inScope(range.scope));
  query =
    filter.status == null
      ? query.where('status', '<>', sql.lit('deleted'))
      : query.where('status', '=', filter.status as Manifest['status']);
  if (filter.kind != null) query = query.where('kind', '=', filter.kind as Manifest['kind']);
  if (filter.name != null) query = query.where('name', '=', filter.name);
  return query.$call(inKeysetRange(range));
}

/**
 * Inserts a version as the active one.
 *
 * @throws DuplicateKeyError if another transaction has created this version in the meantime
 */
export async function insertManifest(
  db: Database,
  place: TenantPlace,
  manifest: NewManifest,
  now: Date,
): Promise<Manifest> {
  const { name, kind, version, digest, spec, createdBy } = manifest;
  const row = await db
    .insertInto('manifests')
    .values({
      ...placeColumns(place),
      id: newId('man', now),
      name,
      kind,
      version,
      digest,
      status: 'active',
      spec: JSON.stringify(spec),
      channels: JSON.stringify(kind === 'agent' ? [...new Set(spec.channels ?? [])].toSorted() : []),
      created_by: createdBy,
      created_at: now.toISOString(),
      updated_at: now.toISOString(),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  await addStoredBytes(db, place.tenantId, Buffer.byteLength(row.spec), now);
  return toManifest(row);
}

/** Gives a manifest a final status. {@link deleteDeclarations} removes its declarations. */
export async function endManifest(
  db: Database,
  scope: TenantScope,
  id: string,
  status: 'superseded' | 'deleted',
  now: Date,
): Promise<Manifest | undefined> {
  const row = await db
    .updateTable('manifests')
    .set({ status, updated_at: now.toISOString() })
    .where('id', '=', id)
    .where('status', '<>', sql.lit('deleted'))
    .where(inScope(scope))
    .returningAll()
    .executeTakeFirst();
  return row && toManifest(row);
}

/** Makes a superseded version the active one again, because the version after it is taken back. */
export async function reactivateManifest(
  db: Database,
  scope: TenantScope,
  id: string,
  now: Date,
): Promise<Manifest | undefined> {
  const row = await db
    .updateTable('manifests')
    .set({ status: 'active', updated_at: now.toISOString() })
    .where('id', '=', id)
    .where('status', '=', 'superseded')
    .where(inScope(scope))
    .returningAll()
    .executeTakeFirst();
  return row && toManifest(row);
}

/**
 * Stores what a version declares: removes what the version before it declared and this one does not, takes over the rest, and
 * adds what is new.
 *
 * @param changes see {@link compareDeclarations}
 * @param before the version before it, if there is one
 */
export async function storeDeclarations(
  db: Database,
  manifest: TenantPlace & Pick<Manifest, 'id'>,
  { added, removed }: DeclarationChanges,
  before?: Pick<Manifest, 'id'>,
): Promise<void> {
  const { tenantId, id } = manifest;
  if (before) {
    await deleteDeclarationRows(db, removed, { tenantId, manifestId: before.id });
    await db
      .updateTable('manifest_declarations')
      .set({ manifest_id: id })
      .where('tenant_id', '=', tenantId)
      .where('manifest_id', '=', before.id)
      .execute();
  }
  const rows = added.map(({ provider, kind, name }) => {
    const key = nameKey(kind, name, null);
    return { provider, kind, name, key, family: nameFamily(kind, key) };
  });
  await insertDeclarationRows(db, rows, { ...placeColumns(manifest), manifestId: id });
}

type DeclarationRow = Declaration & { key: string; family: string };

const insertDeclarationRows = multiRowStatement(
  (db, rows: readonly DeclarationRow[], manifest: ReturnType<typeof placeColumns> & { manifestId: string }) =>
    db.insertInto('manifest_declarations').values(
      rows.map(({ provider, kind, name, key, family }) => ({
        tenant_id: manifest.tenant_id,
        sub_tenant_id: manifest.sub_tenant_id,
        manifest_id: manifest.manifestId,
        provider_key: provider,
        kind,
        name,
        name_key: key,
        name_family: family,
      })),
    ),
);

const deleteDeclarationRows = multiRowStatement(
  (db, rows: readonly Declaration[], shared: { tenantId: string; manifestId: string }) =>
    db
      .deleteFrom('manifest_declarations')
      .where('tenant_id', '=', shared.tenantId)
      .where('manifest_id', '=', shared.manifestId)
      .where(
        tupleIn(
          ['provider_key', 'kind', 'name'],
          rows.map(({ provider, kind, name }) => [provider, kind, name]),
        ),
      ),
);

/** The columns of a declaration. */
const DECLARATION = ['provider_key as provider', 'kind', 'name'] as const;

/** The stored declarations of a manifest. */
export async function findDeclarations(
  db: Database,
  { tenantId, id }: TenantPlace & Pick<Manifest, 'id'>,
): Promise<Declaration[]> {
  return db
    .selectFrom('manifest_declarations')
    .select(DECLARATION)
    .where('tenant_id', '=', tenantId)
    .where('manifest_id', '=', id)
    .execute();
}

/** Removes the declarations of a manifest, and returns them. */
export async function deleteDeclarations(
  db: Database,
  manifest: TenantPlace & Pick<Manifest, 'id'>,
): Promise<Declaration[]> {
  return db
    .deleteFrom('manifest_declarations')
    .where('tenant_id', '=', manifest.tenantId)
    .where('manifest_id', '=', manifest.id)
    .returning(DECLARATION)
    .execute();
}

/** What a version declares that the one before it did not, and the reverse. Without duplicates, with case-folded providers. */
export type DeclarationChanges = { added: Declaration[]; removed: Declaration[] };

/**
 * Compares what a version declares with what is stored of the one before it.
 *
 * @param stored see {@link findDeclarations}
 */
export function compareDeclarations(
  stored: readonly Declaration[],
  declared: readonly Declaration[],
): DeclarationChanges {
  const former = byText(stored);
  const next = byText(declared.map(({ provider, kind, name }) => ({ provider: caseFolded(provider), kind, name })));
  return { added: withoutThoseOf(next, former), removed: withoutThoseOf(former, next) };
}

function byText(declarations: readonly Declaration[]): Map<string, Declaration> {
  return new Map(declarations.map((one) => [JSON.stringify([one.provider, one.kind, one.name]), one]));
}

function withoutThoseOf(some: Map<string, Declaration>, others: Map<string, Declaration>): Declaration[] {
  return [...some].flatMap(([key, declaration]) => (others.has(key) ? [] : [declaration]));
}

function toManifest(row: Selectable<Tables['manifests']>): Manifest {
  return withSpec(row, JSON.parse(row.spec) as ManifestSpec);
}

function withSpec(row: Selectable<Tables['manifests']>, spec: ManifestSpec): Manifest {
  return {
    id: row.id,
    ...placeOf(row),
    name: row.name,
    kind: row.kind,
    version: row.version,
    status: row.status,
    digest: row.digest,
    spec,
    createdBy: row.created_by,
    ...timesOf(row),
  };
}
