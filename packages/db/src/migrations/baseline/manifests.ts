import { addListIndexes, addPlace, addTimes, indexesOn, required, type Schema, withDefault } from './schema.ts';

/** Manifests, and what the active ones declare. */
export async function createManifestTables(db: Schema): Promise<void> {
  await db.schema
    .createTable('manifests')
    .$call(addPlace)
    .addColumn('id', 'text', required)
    .addColumn('name', 'text', required)
    .addColumn('kind', 'text', required)
    .addColumn('version', 'integer', required)
    .addColumn('status', 'text', required)
    .addColumn('digest', 'text', required)
    .addColumn('spec', 'text', required)
    // Extracted from the spec, which may be large.
    .addColumn('channels', 'text', withDefault('[]'))
    .addColumn('created_by', 'text', required)
    .$call(addTimes)
    .addPrimaryKeyConstraint('manifests_key', ['tenant_id', 'id'])
    .execute();
  await addListIndexes(db, 'manifests');
  const manifests = indexesOn(db, 'manifests');
  await manifests('manifests_by_version', ['tenant_id', 'sub_tenant_id', 'kind', 'name', 'version'], { unique: true });
  // Finds the few manifests that declare channels.
  await manifests('manifests_with_channels', ['tenant_id', 'sub_tenant_id', 'name'], { where: `channels <> '[]'` });

  // Extracted from the specs, which are JSON texts that no index can search.
  await db.schema
    .createTable('manifest_declarations')
    .$call(addPlace)
    .addColumn('manifest_id', 'text', required)
    .addColumn('provider_key', 'text', required)
    .addColumn('kind', 'text', required)
    .addColumn('name', 'text', required)
    .addColumn('name_key', 'text', withDefault(''))
    .addColumn('name_family', 'text', withDefault(''))
    .addPrimaryKeyConstraint('manifest_declarations_key', ['tenant_id', 'provider_key', 'kind', 'name', 'manifest_id'])
    .addForeignKeyConstraint('manifest_declarations_of_manifest', ['tenant_id', 'manifest_id'], 'manifests', [
      'tenant_id',
      'id',
    ])
    .execute();
  const declarations = indexesOn(db, 'manifest_declarations');
  await declarations('manifest_declarations_by_manifest', ['tenant_id', 'manifest_id']);
  // Finds the declarations that may cover a name (ADR 6).
  await declarations('manifest_declarations_by_family', ['tenant_id', 'provider_key', 'kind', 'name_family']);
}
