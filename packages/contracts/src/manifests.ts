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
import { InventoryKindSchema, ItemNameSchema } from './inventory.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';

/** A serialised spec, in bytes of UTF-8. */
export const SPEC_MAX_BYTES = 256 * 1024;

export const ManifestKindSchema = z.enum(['agent', 'gateway', 'channel']);

export const DeclarationSchema = z
  .strictObject({
    provider: z.string().min(1).max(200).describe("The provider's name, in any case, or its id."),
    kind: InventoryKindSchema,
    name: ItemNameSchema.describe('Exactly as agents call it.'),
  })
  .meta({ id: 'Declaration' });

export const ManifestSpecSchema = z
  .looseObject({
    declares: z
      .array(DeclarationSchema)
      .max(1000)
      .optional()
      .describe('What it uses. While the manifest is active, observations of these are not unknown.'),
  })
  .refine((value) => new TextEncoder().encode(JSON.stringify(value)).length <= SPEC_MAX_BYTES, {
    error: `spec should have at most ${SPEC_MAX_BYTES} bytes when serialised`,
  })
  .meta({ id: 'ManifestSpec', description: 'A free JSON object, at most 256 KiB when serialised, with `declares`.' });
export type ManifestSpec = z.infer<typeof ManifestSpecSchema>;

export const ManifestSchema = z
  .strictObject({
    id: z.string(),
    ...tenancyFields,
    name: NameSchema,
    kind: ManifestKindSchema,
    version: z.int().describe('1 for the first of its name and kind in its tenant and sub-tenant.'),
    status: z.enum(['active', 'superseded', 'deleted']).describe('The newest version is active.'),
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
    spec: ManifestSpecSchema,
    ...tenancyInputFields,
  })
  .meta({ id: 'CreateManifestInput' });
export type CreateManifestInput = z.infer<typeof CreateManifestInputSchema>;

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
    'A new content becomes the next version and supersedes the one before. The content of the active version again answers that record.',
  body: CreateManifestInputSchema,
  output: ManifestSchema,
});

export const listManifests = operation({
  method: 'GET',
  path: '/v1/manifests',
  operationId: 'list_manifests',
  scope: 'manifests:read',
  tag,
  summary: 'List manifests',
  query: {
    ...tenancyQueryFields,
    name: z.string().max(200).nullish().describe('Only manifests of exactly this name.'),
    kind: z.string().max(64).nullish().describe('Only manifests of this kind.'),
    status: z.string().max(64).nullish().describe('Only manifests of this status; deleted ones are shown by it alone.'),
    ...pageFields,
  },
  output: page('ManifestPage', ManifestSchema),
});

export const getManifest = operation({
  method: 'GET',
  path: '/v1/manifests/{manifest_id}',
  operationId: 'get_manifest',
  scope: 'manifests:read',
  tag,
  summary: 'Get a manifest',
  params,
  output: ManifestSchema,
  errors: ['manifest_not_found'],
});

export const deleteManifest = operation({
  method: 'DELETE',
  path: '/v1/manifests/{manifest_id}',
  operationId: 'delete_manifest',
  scope: 'manifests:write',
  tag,
  summary: 'Delete a manifest',
  description: 'Soft: the record stays, as deleted. Not while an active gateway uses it (409).',
  params,
  output: ManifestSchema,
  errors: ['manifest_not_found', 'manifest_in_use'],
});
