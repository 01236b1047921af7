import { MANIFEST_SPECS, type ManifestKind } from '@quartermaster/contracts/manifest-specs.ts';
import { type ManifestJsonSchema, ManifestJsonSchemaSchema } from '@quartermaster/contracts/manifests.ts';
import { z } from 'zod';

/** The JSON Schema (2020-12) of a kind's `spec`, for editors and pipelines. Its `$id` is the URL that serves it. */
export function manifestSchema(publicUrl: string, kind: ManifestKind): ManifestJsonSchema {
  const { $schema, $ref = '', $defs = {} } = z.toJSONSchema(MANIFEST_SPECS[kind], { io: 'input' });
  // zod puts the named spec into `$defs`. Lift it to the top level, and keep the definitions that it uses.
  const name = $ref.slice('#/$defs/'.length);
  const { [name]: spec, ...used } = $defs;
  const $id = `${publicUrl}/v1/manifests/schema/${kind}`;
  return ManifestJsonSchemaSchema.parse({ $schema, $id, ...(spec as object), $defs: used });
}
