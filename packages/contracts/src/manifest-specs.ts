import { z } from 'zod';
import { DescriptionSchema } from './fields.ts';
import { InventoryKindSchema, ItemNameInputSchema, ItemNameSchema } from './inventory.ts';

/** A serialised spec, in bytes of UTF-8. */
export const SPEC_MAX_BYTES = 256 * 1024;

export const ManifestKindSchema = z.enum(['agent', 'gateway', 'channel']).meta({ id: 'ManifestKind' });
export type ManifestKind = z.infer<typeof ManifestKindSchema>;

const ProviderReferenceSchema = z.string().min(1).max(200).describe("The provider's name, in any case, or its id.");

const DECLARED_NAME = 'As agents call it. The variants of a model are one: its case, and the provider in front.';

export const DeclarationSchema = z
  .strictObject({
    provider: ProviderReferenceSchema,
    kind: InventoryKindSchema,
    name: ItemNameSchema.describe(DECLARED_NAME),
  })
  .meta({ id: 'Declaration', description: 'Something that is used of a provider.' });

const DeclarationInputSchema = DeclarationSchema.extend({ name: ItemNameInputSchema.describe(DECLARED_NAME) }).meta({
  id: 'DeclarationInput',
  description: 'Something that is used of a provider.',
});

const AllowanceSchema = z
  .strictObject({
    provider: ProviderReferenceSchema,
    kind: InventoryKindSchema.optional().describe('Only items of this kind; every kind, where left out.'),
    names: z
      .array(
        z
          .string()
          .min(1)
          .max(257)
          .regex(/^[^*]*\*?$/)
          .describe('Exactly a name, or with one `*` at its end everything that begins so.'),
      )
      .max(1000)
      .optional()
      .describe('Only items of these names, of a model all variants; all of them, where left out; none, where empty.'),
  })
  .meta({ id: 'Allowance', description: 'A part of what a provider offers.' });

export const AllowListSchema = z
  .array(AllowanceSchema)
  .max(1000)
  .describe(
    "What sessions may use, of what the providers' inventories offer: whatever one of the entries covers. Where left out, all of it; where empty, nothing.",
  );

const commonFields = {
  description: DescriptionSchema.optional(),
  owner: z.string().max(200).optional().describe('Who answers for it: a person, a team, an address.'),
  declares: z
    .array(DeclarationInputSchema)
    .max(1000)
    .optional()
    .describe('What it uses. While the manifest is active, observations of these are not unknown.'),
};

const ChannelSchema = extensible(
  z.looseObject({
    type: z.string().min(1).max(64).describe('Such as `slack`, `email` or `web`.'),
    address: z.string().max(2048).optional().describe('Where it is: a URL, a room, a mailbox.'),
  }),
).meta({ id: 'ManifestChannel', description: 'Where people meet the agents.' });

const fieldsOf = {
  agent: commonFields,
  gateway: { ...commonFields, allow: AllowListSchema.optional() },
  channel: { ...commonFields, channel: ChannelSchema.optional(), allow: AllowListSchema.optional() },
};

/** What `spec` may hold, for each kind of manifest. */
export const MANIFEST_SPECS = {
  agent: extensible(z.looseObject(fieldsOf.agent)).meta({
    id: 'AgentSpec',
    description:
      'What an agent uses. A gateway that runs under this manifest grants of its providers what is declared here, and all of it where nothing is said of that.',
  }),
  gateway: extensible(z.looseObject(fieldsOf.gateway)).meta({
    id: 'GatewaySpec',
    description: 'What passes through a gateway. One that runs under this manifest grants what is allowed here.',
  }),
  channel: extensible(z.looseObject(fieldsOf.channel)).meta({
    id: 'ChannelSpec',
    description:
      'Where people meet agents. A gateway that runs under this manifest serves the channel, and grants what is allowed here.',
  }),
} as const satisfies Record<ManifestKind, z.ZodType>;

/** What any kind may hold: which of it a kind does hold, {@link MANIFEST_SPECS} says. */
export const ManifestSpecInputSchema = z
  .looseObject(fieldsOf.channel)
  .refine((value) => new TextEncoder().encode(JSON.stringify(value)).length <= SPEC_MAX_BYTES, {
    error: `spec should have at most ${SPEC_MAX_BYTES} bytes when serialised`,
  })
  .meta({
    id: 'ManifestSpecInput',
    description:
      'What the schema of its kind says: `GET /v1/manifests/schema/{kind}`. `channel` is of channels, `allow` of gateways and channels. Beyond these, members whose names begin with `x-`. At most 256 KiB when serialised.',
  });

/**
 * Closes an object but for members that begin with `x-`, which are whoever's wrote it. Refusing the others is no
 * pedantry: of a policy, a mistyped `alow` that went unnoticed would allow everything.
 */
function extensible<Schema extends z.ZodObject>(schema: Schema): Schema {
  const allowed = Object.keys(schema.shape);
  const closed = schema.superRefine((value, context) => {
    const keys = Object.keys(value).filter((key) => !allowed.includes(key) && !key.startsWith('x-'));
    if (keys.length > 0) context.addIssue({ code: 'unrecognized_keys', keys, input: value, allowed });
  });
  return closed.meta({ additionalProperties: false, patternProperties: { '^x-': {} } });
}
