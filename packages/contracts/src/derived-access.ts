import { z } from 'zod';
import { TimestampSchema, tenancyFields } from './fields.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';

/** Records that one call revokes at the most. */
export const REVOKED_AT_ONCE = 500;

const ID = '[A-Za-z0-9][A-Za-z0-9._:-]*';

export const AccessSourceSchema = z
  .string()
  .max(300)
  .regex(new RegExp(`^(user:${ID}|service_account:${ID}/${ID}|api_key:${ID})$`))
  .describe(
    '`user:<id>`, `service_account:<tenant>/<id>` or `api_key:<id>`. It may be deleted, revoked or out of reach: the answer depends on the derived records alone.',
  );

/** In the order of the list. */
export const AccessKindSchema = z.enum(['api_key', 'gateway_session', 'invitation', 'membership']);
export type AccessKind = z.infer<typeof AccessKindSchema>;

export const DerivedAccessSchema = z
  .strictObject({
    kind: AccessKindSchema,
    id: z.string().describe("The key's or session's id; of invitations and memberships the user's."),
    ...tenancyFields,
    holder: z
      .string()
      .describe('Who has the access: `user:<id>` or `service_account:<tenant>/<id>`. Of a session its subject.'),
    gatewayId: z.string().nullable().describe('The gateway of a session.'),
    grantedBy: z.string().nullable().describe('The user or service account that made it.'),
    grantedByKey: z.string().nullable().describe('The id of the API key that it was made with.'),
    isSuccessor: z
      .boolean()
      .describe(
        'Whether it derives from the source only through a rotation by somebody else: a key that replaced a derived key, or what was made with such a key.',
      ),
    expiresAt: TimestampSchema.nullable(),
    createdAt: TimestampSchema,
  })
  .meta({ id: 'DerivedAccess', description: 'Access that a user, service account or API key gave rise to.' });
export type DerivedAccess = z.infer<typeof DerivedAccessSchema>;

export const RevokeDerivedAccessInputSchema = z
  .strictObject({
    source: AccessSourceSchema,
    kinds: z.array(AccessKindSchema).min(1).max(4).describe('What to revoke. Sessions of a revoked key end with it.'),
    includeSuccessors: z
      .boolean()
      .default(false)
      .describe('Whether to revoke what derives from the source only through a rotation by somebody else.'),
    includeSource: z
      .boolean()
      .default(false)
      .describe('Whether to revoke the source itself first, in the same transaction: for an API key alone.'),
  })
  .meta({ id: 'RevokeDerivedAccessInput' });
export type RevokeDerivedAccessInput = z.infer<typeof RevokeDerivedAccessInputSchema>;

const RevokedCountsSchema = z
  .strictObject({ api_key: z.int(), gateway_session: z.int(), invitation: z.int(), membership: z.int() })
  .meta({ id: 'RevokedCounts', description: 'How many records of each kind were revoked.' });

export const RevokedDerivedAccessSchema = z
  .strictObject({
    revoked: RevokedCountsSchema,
    skipped: z
      .int()
      .describe('Memberships and invitations of a role beyond your own, and those of the last owner of a tenant.'),
    isComplete: z.boolean().describe('False: there is more. Repeat the call.'),
  })
  .meta({ id: 'RevokedDerivedAccess', description: 'How many records of each kind were revoked.' });
export type RevokedDerivedAccess = z.infer<typeof RevokedDerivedAccessSchema>;

const tag = 'Credentials';

export const listDerivedAccess = operation({
  method: 'GET',
  path: '/v1/derived-access',
  operationId: 'list_derived_access',
  cost: 10,
  scope: 'credentials:read',
  tag,
  summary: 'List the access that a user or key gave rise to',
  description:
    'API keys that the source made, and those that these keys made in turn; open gateway sessions, pending invitations and accepted memberships that the source or one of these keys made. What no longer works is left out, though it is followed. Keys come first, then sessions, invitations and memberships, each newest first. Shown is what is in your reach: sessions need `gateway_sessions:read`, invitations and memberships `memberships:read`.',
  query: { source: AccessSourceSchema, ...pageFields },
  output: page('DerivedAccessPage', DerivedAccessSchema),
});

export const revokeDerivedAccess = operation({
  method: 'POST',
  path: '/v1/derived-access/revoke',
  operationId: 'revoke_derived_access',
  cost: 50,
  scope: 'credentials:write',
  tag,
  summary: 'Revoke the access that a user or key gave rise to',
  description: `In one transaction, with an audit event for each record, at most ${REVOKED_AT_ONCE} records a call. Sessions need \`gateway_sessions:write\`, invitations and memberships \`memberships:write\`. Accounts of platform administrators are for platform administrators.`,
  body: RevokeDerivedAccessInputSchema,
  output: RevokedDerivedAccessSchema,
  errors: ['key_not_found', 'platform_administrator_required'],
});
