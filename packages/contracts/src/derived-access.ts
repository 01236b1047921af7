import { z } from 'zod';
import { SubTenantIdSchema, TenantFilterSchema, TenantIdSchema, TimestampSchema } from './fields.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';

/** The maximum number of records that one call revokes. */
export const MAX_REVOKED_PER_CALL = 500;

const ID_PATTERN = '[A-Za-z0-9][A-Za-z0-9._:-]*';

export const AccessSourceSchema = z
  .string()
  .max(300)
  .regex(new RegExp(`^(user:${ID_PATTERN}|service_account:${ID_PATTERN}/${ID_PATTERN}|api_key:${ID_PATTERN})$`))
  .describe(
    "The account or key that gave the access: `user:<id>`, `service_account:<tenant>/<id>` or `api_key:<id>`. It may be deleted, revoked or outside the caller's reach, because only the reach of the derived records counts.",
  );

/** The kinds of derived access, in the order of the list. */
export const AccessKindSchema = z.enum([
  'api_key',
  'gateway_session',
  'invitation',
  'membership',
  'console_session',
  'platform_administrator',
]);
export type AccessKind = z.infer<typeof AccessKindSchema>;

export const DerivedAccessSchema = z
  .strictObject({
    kind: AccessKindSchema,
    id: z
      .string()
      .describe(
        'The id of the key or session. For an invitation, a membership or a platform administrator, the id of the user.',
      ),
    tenantId: TenantIdSchema.nullable().describe(
      'Null for a console session and a platform administrator: they belong to no tenant.',
    ),
    subTenantId: SubTenantIdSchema,
    holder: z
      .string()
      .describe('Who has the access: `user:<id>` or `service_account:<tenant>/<id>`. For a session, its subject.'),
    gatewayId: z.string().nullable().describe('The id of the gateway of a session. Null for other kinds.'),
    grantedBy: z
      .string()
      .nullable()
      .describe('The user or service account that created it, or gave the membership its present role.'),
    grantedByKey: z
      .string()
      .nullable()
      .describe('The id of the API key that was used to create it. Null if no key was used.'),
    isSuccessor: z
      .boolean()
      .describe(
        'Whether it derives from the source only because another account rotated a derived key: it is the new key, or was created with it.',
      ),
    expiresAt: TimestampSchema.nullable(),
    createdAt: TimestampSchema,
  })
  .meta({ id: 'DerivedAccess', description: 'Access that derives from a user, service account or API key.' });
export type DerivedAccess = z.infer<typeof DerivedAccessSchema>;

const DerivedAccessReferenceSchema = z
  .strictObject({
    kind: AccessKindSchema,
    id: z.string().max(128).describe('As in the list: the id of a user for an invitation or membership.'),
    tenantId: TenantFilterSchema.describe('As in the list. A user may have memberships in several places.'),
    subTenantId: TenantFilterSchema,
  })
  .meta({ id: 'DerivedAccessReference', description: 'One record of derived access, as the list names it.' });
export type DerivedAccessReference = z.infer<typeof DerivedAccessReferenceSchema>;

export const RevokeDerivedAccessInputSchema = z
  .strictObject({
    source: AccessSourceSchema,
    kinds: z
      .array(AccessKindSchema)
      .min(1)
      .max(6)
      .describe('The kinds of access to revoke. Sessions of a revoked key end in any case.'),
    records: z
      .array(DerivedAccessReferenceSchema)
      .min(1)
      .max(MAX_REVOKED_PER_CALL)
      .nullish()
      .describe(
        'Only these records of the kinds. Without it: all records of the kinds. A record that does not derive from the source, that does not work any more or that is out of your reach is left alone.',
      ),
    includeSuccessors: z.boolean().default(false).describe('Whether to revoke access with `isSuccessor`, too.'),
    includeSource: z
      .boolean()
      .default(false)
      .describe(
        'Whether to revoke the source itself, too, in the same transaction. Only for an API key (422). A source that is revoked already stays so, and is not counted.',
      ),
  })
  .meta({
    id: 'RevokeDerivedAccessInput',
    description: 'Which derived access to revoke.',
    examples: [{ source: 'user:usr_01k0c5v7h2m4n8q3r6t9w1x2yz', kinds: ['api_key', 'membership'] }],
  });
export type RevokeDerivedAccessInput = z.infer<typeof RevokeDerivedAccessInputSchema>;

const RevokedCountsSchema = z
  .strictObject({
    api_key: z.int(),
    gateway_session: z.int(),
    invitation: z.int(),
    membership: z.int(),
    console_session: z.int(),
    platform_administrator: z.int(),
  })
  .meta({ id: 'RevokedCounts', description: 'How many records of each kind were revoked.' });

export const RevokedDerivedAccessSchema = z
  .strictObject({
    revoked: RevokedCountsSchema,
    skipped: z
      .int()
      .describe(
        'How many records were skipped: memberships and invitations with a role that exceeds the rights of the caller, those of the last owner of a tenant, console sessions of a user whom the caller may not delete, and the last platform administrator.',
      ),
    isComplete: z.boolean().describe('False if there is more to revoke. Then repeat the call.'),
  })
  .meta({ id: 'RevokedDerivedAccess', description: 'The result of revoking derived access.' });
export type RevokedDerivedAccess = z.infer<typeof RevokedDerivedAccessSchema>;

const tag = 'Credentials';

export const listDerivedAccess = operation({
  method: 'GET',
  path: '/v1/derived-access',
  operationId: 'list_derived_access',
  cost: 10,
  scope: 'credentials:read',
  tag,
  summary: 'List the access that derives from a user or key',
  description:
    "Lists the API keys that the source created, the API keys that were created with those keys, and so on, and the open gateway sessions, pending invitations and accepted memberships that the source or one of these keys created. It lists the memberships whose role the source or one of these keys changed, and the platform administrators that they made. For a user it also lists the browsers that are signed in to the web console as the user. Access that no longer works is left out, but what derives from it is listed. API keys come first, then gateway sessions, invitations, memberships, console sessions and platform administrators, each newest first. Only access in the caller's reach is listed: gateway sessions need `gateway_sessions:read`, invitations and memberships `memberships:read`, console sessions `users:read` for all accepted memberships of the user, platform administrators `users:read` in all tenants.",
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
  summary: 'Revoke the access that derives from a user or key',
  description: `Revokes access that derives from the source, at most ${MAX_REVOKED_PER_CALL} records in one call, in one transaction, with an audit event for each record. Gateway sessions need \`gateway_sessions:write\`, invitations and memberships \`memberships:write\`, console sessions \`users:write\`, platform administrators the scope \`*\`. A revoked membership ends, and a revoked platform administrator keeps their memberships. Only platform administrators can revoke the access of platform administrators.`,
  body: RevokeDerivedAccessInputSchema,
  output: RevokedDerivedAccessSchema,
  errors: ['key_not_found', 'platform_administrator_required'],
});
