import { z } from 'zod';
import { DescriptionSchema } from './fields.ts';
import { InventoryKindSchema, ItemNameInputSchema, ItemNameSchema } from './inventory.ts';
import { visibleLine } from './visible-text.ts';

/** The maximum size of a spec, in bytes of UTF-8 when serialised as JSON. */
export const SPEC_MAX_BYTES = 256 * 1024;

export const ManifestKindSchema = z.enum(['agent', 'gateway', 'channel']).meta({
  id: 'ManifestKind',
  description:
    'What the manifest is about. An active manifest of an `agent` also declares the agent itself: observations of an agent with exactly its name, in its place, are not unknown.',
});
export type ManifestKind = z.infer<typeof ManifestKindSchema>;

const ProviderReferenceSchema = z
  .string()
  .min(1)
  .max(200)
  .describe(
    "The name (case-insensitive), an alias or the id of the provider. A name is looked up in the manifest's own sub-tenant and in the whole tenant, never in other sub-tenants. It counts at a gateway only if the provider belongs to the gateway's own sub-tenant or to the whole tenant. To name a provider of another place, use its id.",
  );

const DECLARED_NAME =
  'The name that agents use. Model names are compared case-insensitively, with or without the provider as prefix (`openai/gpt-5`).';

export const DeclarationSchema = z
  .strictObject({
    provider: ProviderReferenceSchema,
    kind: InventoryKindSchema,
    name: ItemNameSchema.describe(DECLARED_NAME),
  })
  .meta({ id: 'Declaration', description: 'An item of a provider that is used.' });

const DeclarationInputSchema = DeclarationSchema.extend({ name: ItemNameInputSchema.describe(DECLARED_NAME) }).meta({
  id: 'DeclarationInput',
  description: 'An item of a provider that is used.',
});

const AllowanceSchema = z
  .strictObject({
    provider: ProviderReferenceSchema,
    kind: InventoryKindSchema.optional().describe('Only items of this kind. If it is left out: items of every kind.'),
    names: z
      .array(
        z
          .string()
          .min(1)
          .max(257)
          .regex(/^[^*]*\*?$/)
          .describe('An exact name, or a prefix followed by one `*`.'),
      )
      .max(1000)
      .optional()
      .describe(
        'Only items with these names. The name of a model also covers its variants. If it is left out: items of every name. If it is empty: no items.',
      ),
  })
  .meta({ id: 'Allowance', description: 'A selection of the items that a provider offers.' });

export const AllowListSchema = z
  .array(AllowanceSchema)
  .max(1000)
  .describe(
    "The inventory items that sessions may use: those that at least one entry covers. If it is left out: all items of the gateway's providers. If it is empty: no items.",
  );

const commonFields = {
  description: DescriptionSchema.optional(),
  owner: z
    .string()
    .overwrite(visibleLine)
    .max(200)
    .optional()
    .describe('Who is responsible: a person, a team or an address. Invisible characters are stored as escapes.'),
  declares: z
    .array(DeclarationInputSchema)
    .max(1000)
    .optional()
    .describe(
      'What the agent, gateway or channel uses. While the manifest is active, observations of these items are not unknown.',
    ),
};

const ChannelSchema = withExtensionMembers(
  z.looseObject({
    type: z.string().min(1).max(64).describe('The type of the channel, such as `slack`, `email` or `web`.'),
    address: z
      .string()
      .max(2048)
      .optional()
      .describe('The address of the channel, such as a URL, a room or a mailbox.'),
  }),
).meta({ id: 'ManifestChannel', description: 'The channel in which people talk to agents.' });

/** At most four digits: with five it would rather be the number of a person or a room. */
const CHANNEL_NAME = /^[a-z_.-]*(?:[0-9][a-z_.-]*){0,4}$/;

const CHANNEL_NAME_MAX_LENGTH = 64;

export function isChannelName(text: string): boolean {
  return text !== '' && text.length <= CHANNEL_NAME_MAX_LENGTH && CHANNEL_NAME.test(text);
}

const ChannelNameSchema = z
  .string()
  .min(1)
  .max(CHANNEL_NAME_MAX_LENGTH)
  .regex(CHANNEL_NAME)
  .describe(
    'What kind of channel it is, such as `slack`, `email` or `webchat`: at most four digits, because it is not a room or a person.',
  );

/** The maximum number of channels of an agent, declared and seen each. */
export const MAX_AGENT_CHANNELS = 50;

export const AgentChannelNamesSchema = z
  .array(ChannelNameSchema)
  .max(MAX_AGENT_CHANNELS)
  .optional()
  .describe(
    'The channels in which people talk to the agent, by the names that its telemetry has for them. `GET /v1/channels` compares them with those that were seen.',
  );

const fieldsOf = {
  agent: { ...commonFields, channels: AgentChannelNamesSchema },
  gateway: { ...commonFields, allow: AllowListSchema.optional() },
  channel: { ...commonFields, channel: ChannelSchema.optional(), allow: AllowListSchema.optional() },
};

/** The schema of `spec` for each kind of manifest. */
export const MANIFEST_SPECS = {
  agent: withExtensionMembers(z.looseObject(fieldsOf.agent)).meta({
    id: 'AgentSpec',
    description:
      "What an agent uses, and where people talk to it. The sessions of a gateway with this manifest are granted only what `declares` lists. If `declares` is left out, all items of the gateway's providers are granted.",
  }),
  gateway: withExtensionMembers(z.looseObject(fieldsOf.gateway)).meta({
    id: 'GatewaySpec',
    description:
      'What agents may use through a gateway. The sessions of a gateway with this manifest are granted only what `allow` covers.',
  }),
  channel: withExtensionMembers(z.looseObject(fieldsOf.channel)).meta({
    id: 'ChannelSpec',
    description:
      'A channel in which people talk to agents. A gateway with this manifest serves the channel. Its sessions are granted only what `allow` covers.',
  }),
} as const satisfies Record<ManifestKind, z.ZodType>;

/** All fields of all kinds. {@link MANIFEST_SPECS} then checks which of them a kind allows. */
export const ManifestSpecInputSchema = z
  .looseObject({ ...fieldsOf.channel, ...fieldsOf.agent })
  .refine((value) => new TextEncoder().encode(JSON.stringify(value)).length <= SPEC_MAX_BYTES, {
    error: `spec should have at most ${SPEC_MAX_BYTES} bytes when serialised as JSON`,
  })
  .meta({
    id: 'ManifestSpecInput',
    description:
      'The content of the manifest. `GET /v1/manifests/schema/{kind}` returns the JSON Schema for each kind: only agents have `channels`, only channels have `channel`, and only gateways and channels have `allow`. Other members are allowed if their names begin with `x-`. At most 256 KiB when serialised.',
  });

/**
 * Refuses unknown members, except those that begin with `x-`: they belong to the author. Unknown members must be refused,
 * because a policy with the mistyped key `alow` would otherwise allow everything.
 */
function withExtensionMembers<Schema extends z.ZodObject>(schema: Schema): Schema {
  const allowed = Object.keys(schema.shape);
  const closed = schema.superRefine((value, context) => {
    const keys = Object.keys(value).filter((key) => !allowed.includes(key) && !key.startsWith('x-'));
    if (keys.length > 0) context.addIssue({ code: 'unrecognized_keys', keys, input: value, allowed });
  });
  return closed.meta({ additionalProperties: false, patternProperties: { '^x-': {} } });
}
