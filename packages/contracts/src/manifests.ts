import { z } from 'zod';
import {
  LookupIdSchema,
  NameInputSchema,
  NameSchema,
  tenancyFields,
  tenancyInputFields,
  tenancyQueryFields,
  timeFields,
} from './fields.ts';
import { DeclarationSchema, MANIFEST_SPECS, ManifestKindSchema, ManifestSpecInputSchema } from './manifest-specs.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';

export const ManifestSpecSchema = z
  .looseObject({
    declares: z
      .array(DeclarationSchema)
      .max(1000)
      .optional()
      .describe('What it uses. While the manifest is active, observations of these are not unknown.'),
  })
  .meta({ id: 'ManifestSpec', description: 'A JSON object, as it was published.' });
export type ManifestSpec = z.infer<typeof ManifestSpecSchema>;

export const ManifestStatusSchema = z
  .enum(['active', 'superseded', 'deleted'])
  .meta({ id: 'ManifestStatus', description: 'The newest version is active.' });

export const ManifestSchema = z
  .strictObject({
    id: z.string(),
    ...tenancyFields,
    name: NameSchema,
    kind: ManifestKindSchema,
    version: z.int().describe('1 for the first of its name and kind in its tenant and sub-tenant.'),
    status: ManifestStatusSchema,
    digest: z.string().describe('`sha256:` and the digest of the RFC 8785 form of `spec`.'),
    spec: ManifestSpecSchema,
    createdBy: z.string().describe('`user:<id>` or `service_account:<tenant>/<id>`.'),
    ...timeFields,
  })
  .meta({ id: 'Manifest', description: 'What an agent, gateway or channel declares to use.' });
export type Manifest = z.infer<typeof ManifestSchema>;

export const CreateManifestInputSchema = z
  .strictObject({
    name: NameInputSchema,
    kind: ManifestKindSchema,
    spec: ManifestSpecInputSchema,
    ...tenancyInputFields,
  })
  .superRefine(({ kind, spec }, context) => {
    const { error } = MANIFEST_SPECS[kind].safeParse(spec);
    for (const issue of error?.issues ?? []) context.addIssue({ ...issue, path: ['spec', ...issue.path] });
  })
  .meta({ id: 'CreateManifestInput' });
export type CreateManifestInput = z.infer<typeof CreateManifestInputSchema>;

export const ManifestJsonSchemaSchema = z
  .strictObject({
    $schema: z.literal('https://json-schema.org/draft/2020-12/schema'),
    $id: z.string(),
    description: z.string(),
    type: z.literal('object'),
    properties: z.record(z.string(), z.unknown()),
    patternProperties: z.record(z.string(), z.unknown()),
    additionalProperties: z.literal(false),
    $defs: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'ManifestJsonSchema', description: 'A JSON Schema of the draft 2020-12.' });
export type ManifestJsonSchema = z.infer<typeof ManifestJsonSchemaSchema>;

const manifestRecord = { untagged: [] };

const tag = 'Manifests';
const params = { manifest_id: LookupIdSchema.describe("The manifest's id.") };

export const createManifest = operation({
  method: 'POST',
  path: '/v1/manifests',
  operationId: 'create_manifest',
  scope: 'manifests:write',
  tag,
  summary: 'Publish a manifest',
  description:
    'A new content becomes the next version and supersedes the one before. The content of the active version again answers that record. A gateway runs under the very version that its `manifestId` names, also once that is superseded.',
  body: CreateManifestInputSchema,
  record: manifestRecord,
  output: ManifestSchema,
});

export const listManifests = operation({
  method: 'GET',
  path: '/v1/manifests',
  operationId: 'list_manifests',
  ignoresUnknownQuery: true,
  scope: 'manifests:read',
  tag,
  summary: 'List manifests',
  description:
    'Lists manifests, newest first. Each published version is a record of its own: `status=active` lists the newest versions only. Deleted manifests are listed with `status=deleted` only.',
  query: {
    ...tenancyQueryFields,
    name: z.string().max(200).nullish().describe('Only manifests of exactly this name.'),
    kind: ManifestKindSchema.nullish().describe('Only manifests of this kind.'),
    status: ManifestStatusSchema.nullish().describe(
      'Only manifests with this status. Deleted manifests are listed with `deleted` only.',
    ),
    ...pageFields,
  },
  output: page('ManifestPage', ManifestSchema),
});

export const getManifestSchema = operation({
  method: 'GET',
  path: '/v1/manifests/schema/{kind}',
  operationId: 'get_manifest_schema',
  scope: null,
  tag,
  summary: 'Get the JSON Schema of a kind of manifest',
  description:
    'The JSON Schema (2020-12) of `spec`: what it takes, `create_manifest` takes, up to 256 KiB. Its `$id` is its address here.',
  params: { kind: ManifestKindSchema.describe('The kind of manifest.') },
  record: { untagged: [] },
  output: ManifestJsonSchemaSchema,
});

export const getManifest = operation({
  method: 'GET',
  path: '/v1/manifests/{manifest_id}',
  operationId: 'get_manifest',
  scope: 'manifests:read',
  tag,
  summary: 'Get a manifest',
  description:
    "Answers one version of a manifest, active or superseded. A manifest that is deleted or out of the caller's reach is 404.",
  params,
  record: manifestRecord,
  output: ManifestSchema,
  errors: ['manifest_not_found'],
});

export const deleteManifest = operation({
  method: 'DELETE',
  path: '/v1/manifests/{manifest_id}',
  operationId: 'delete_manifest',
  ignoresUnknownQuery: true,
  scope: 'manifests:write',
  tag,
  summary: 'Delete a manifest',
  description: 'Soft: the record stays, as deleted. Not while an active gateway uses it (409).',
  params,
  record: manifestRecord,
  ifMatch: manifestRecord,
  output: ManifestSchema,
  errors: ['manifest_not_found', 'manifest_in_use'],
});
