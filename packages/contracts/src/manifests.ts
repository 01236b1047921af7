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
import {
  AgentChannelNamesSchema,
  DeclarationSchema,
  MANIFEST_SPECS,
  ManifestKindSchema,
  ManifestSpecInputSchema,
} from './manifest-specs.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';

export const ManifestSpecSchema = z
  .looseObject({
    declares: z
      .array(DeclarationSchema)
      .max(1000)
      .optional()
      .describe(
        'What the agent, gateway or channel uses. While the manifest is active, observations of these items are not unknown.',
      ),
    channels: AgentChannelNamesSchema,
  })
  .meta({ id: 'ManifestSpec', description: 'The content of a manifest: a JSON object, as it was published.' });
export type ManifestSpec = z.infer<typeof ManifestSpecSchema>;

export const ManifestStatusSchema = z
  .enum(['active', 'superseded', 'deleted'])
  .meta({ id: 'ManifestStatus', description: 'The newest version is `active`, older ones are `superseded`.' });

export const ManifestSchema = z
  .strictObject({
    id: z.string(),
    ...tenancyFields,
    name: NameSchema,
    kind: ManifestKindSchema,
    version: z
      .int()
      .describe('1, 2, 3 and so on for manifests of the same name and kind in the same tenant and sub-tenant.'),
    status: ManifestStatusSchema,
    digest: z.string().describe('`sha256:` and the SHA-256, in hex, of the RFC 8785 form of `spec`.'),
    spec: ManifestSpecSchema,
    createdBy: z.string().describe('Who published it: `user:<id>` or `service_account:<tenant>/<id>`.'),
    ...timeFields,
  })
  .meta({ id: 'Manifest', description: 'A document that declares what an agent, gateway or channel uses.' });
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
  .meta({
    id: 'CreateManifestInput',
    examples: [
      {
        name: 'billing-agent',
        kind: 'agent',
        spec: {
          declares: [
            { provider: 'openai', kind: 'model', name: 'gpt-5' },
            { provider: 'invoices', kind: 'tool', name: 'find_invoice' },
          ],
        },
      },
    ],
  });
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
  .meta({ id: 'ManifestJsonSchema', description: 'A JSON Schema (draft 2020-12).' });
export type ManifestJsonSchema = z.infer<typeof ManifestJsonSchemaSchema>;

export const manifestRecord = { tagExcludes: [] };

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
    'Publishes a new version, which supersedes the previous one. Publishing the content of the active version again changes nothing and returns that version. A gateway keeps the version that its `manifestId` names, even after a newer version supersedes it.',
  body: CreateManifestInputSchema,
  record: manifestRecord,
  // A spec has at most 256 KiB when serialised. The body may be larger, because it can have white space and escapes.
  bodyMaxBytes: 1024 * 1024,
  output: ManifestSchema,
  errors: ['tenant_limit_reached'],
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
    'Lists manifests, newest first. Each published version is a separate record: `status=active` lists only the newest versions. Deleted manifests are listed only with `status=deleted`.',
  query: {
    ...tenancyQueryFields,
    name: z.string().max(200).nullish().describe('Only manifests with exactly this name.'),
    kind: ManifestKindSchema.nullish().describe('Only manifests of this kind.'),
    status: ManifestStatusSchema.nullish().describe(
      'Only manifests with this status. Deleted manifests are listed only with `deleted`.',
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
    'Returns the JSON Schema (draft 2020-12) of `spec`. `create_manifest` accepts every `spec` that this schema accepts, up to 256 KiB. `$id` is the URL of this operation.',
  params: { kind: ManifestKindSchema.describe('The kind of manifest.') },
  record: { tagExcludes: [] },
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
    "Returns one version of a manifest, active or superseded. 404 if the manifest is deleted or outside the caller's reach.",
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
  description: 'Marks the manifest as `deleted`; the record stays. 409 while an active gateway uses it.',
  params,
  record: manifestRecord,
  ifMatch: manifestRecord,
  output: ManifestSchema,
  errors: ['manifest_not_found', 'manifest_in_use'],
});
