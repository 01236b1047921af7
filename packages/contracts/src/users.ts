import { z } from 'zod';
import {
  DescriptionInputSchema,
  DisplayNameInputSchema,
  DisplayNameSchema,
  LookupIdSchema,
  MetadataInputSchema,
  MetadataSchema,
  TimestampSchema,
  tenancyFields,
  tenancyQueryFields,
  timeFields,
} from './fields.ts';
import { visibleLine } from './visible-text.ts';
import { MembershipStatusSchema, SuspendedBySchema } from './memberships.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';
import { RoleSchema } from './scopes.ts';
import { ServiceAccountSchema, serviceAccountRecord } from './service-accounts.ts';

const VersionSchema = z.string().max(64);
const VersionInputSchema = z.string().overwrite(visibleLine).max(64);

/** A BCP 47 language tag that `Intl` accepts. */
export const LocaleSchema = z
  .string()
  .max(35)
  .refine(isLocale, { error: 'locale should be a BCP 47 language tag' })
  .describe('A BCP 47 language tag, such as `en-GB`.');

export const TimeZoneSchema = z
  .string()
  .max(64)
  .refine(isTimeZone, { error: 'time zone should be a name of the IANA time zone database' })
  .describe('A name of the IANA time zone database, such as `Europe/Paris`.');

export const UserStatusSchema = z.enum(['pending_terms', 'pending_identity', 'active', 'disabled', 'deleted']).meta({
  id: 'UserStatus',
  description:
    '`pending_terms`: the user has not accepted the terms, and may do nothing else until then. `pending_identity`: the user has never signed in.',
});

const UserTermsSchema = z
  .strictObject({
    termsVersion: VersionSchema.nullable(),
    privacyVersion: VersionSchema.nullable(),
    accepted: z
      .boolean()
      .describe(
        'Whether the user accepted the terms while signed in. A registration does not count, because anyone can register any email.',
      ),
    acceptedAt: TimestampSchema.nullable(),
  })
  .meta({ id: 'UserTerms', description: 'Which versions of the terms the user accepted, and when.' });

const UserMarketingConsentSchema = z
  .strictObject({
    optedIn: z.boolean().describe('What the user chose while signed in. A registration does not count.'),
    consentVersion: VersionSchema.nullable(),
    changedAt: TimestampSchema.nullable(),
  })
  .meta({ id: 'UserMarketingConsent', description: 'Whether the user agreed to receive marketing messages.' });

const UserMembershipSchema = z
  .strictObject({
    ...tenancyFields,
    role: RoleSchema,
    status: MembershipStatusSchema,
    suspendedBy: SuspendedBySchema,
  })
  .meta({ id: 'UserMembership', description: 'A membership of the user in a tenant or sub-tenant.' });

export const UserSchema = z
  .strictObject({
    id: z.string(),
    email: z.string().nullable().describe('The email of the user. Null after the user was deleted.'),
    displayName: DisplayNameSchema.nullable().describe(
      'The name of the user. Until the first sign-in, it is the name from the registration.',
    ),
    status: UserStatusSchema,
    platformAdministrator: z.boolean().describe('Whether the user holds the scopes of the platform in every tenant.'),
    terms: UserTermsSchema,
    marketingConsent: UserMarketingConsentSchema,
    source: z.string().nullable().describe('Where the registration came from, or `invitation` for invited users.'),
    memberships: z
      .array(UserMembershipSchema)
      .describe(
        "The accepted memberships in the caller's reach. Users see all of their own memberships, including the 100 newest that they have not accepted yet.",
      ),
    locale: LocaleSchema.nullable(),
    timeZone: TimeZoneSchema.nullable(),
    metadata: MetadataSchema.describe(
      'A JSON object with any members. Until the first sign-in, it is the metadata from the registration.',
    ),
    lastSeenAt: TimestampSchema.nullable().describe('When the user last called the service, accurate to the minute.'),
    ...timeFields,
  })
  .meta({ id: 'User', description: 'A person. Only the identity provider knows the password; this service does not.' });
export type User = z.infer<typeof UserSchema>;

export const TermsInputSchema = z
  .strictObject({
    termsVersion: VersionInputSchema.nullish(),
    privacyVersion: VersionInputSchema.nullish(),
    accepted: z.boolean().default(false),
  })
  .meta({ id: 'TermsInput', description: 'Whether the user accepts the terms, and in which versions.' });
export type TermsInput = z.infer<typeof TermsInputSchema>;

export const MarketingConsentInputSchema = z
  .strictObject({ optedIn: z.boolean().default(false), consentVersion: VersionInputSchema.nullish() })
  .meta({
    id: 'MarketingConsentInput',
    description: 'Whether the user agrees to receive marketing messages.',
  });

/** `optedIn` has no default here: a request that only names a version would withdraw the consent. */
const UpdateMarketingConsentInputSchema = MarketingConsentInputSchema.extend({ optedIn: z.boolean().optional() }).meta({
  id: 'UpdateMarketingConsentInput',
  description: 'Whether the user agrees to receive marketing messages. A field that is left out keeps its value.',
});

export const UpdateProfileInputSchema = z
  .strictObject({
    displayName: DisplayNameInputSchema.nullish(),
    description: DescriptionInputSchema.nullish().describe('Only for service accounts.'),
    locale: LocaleSchema.nullish().describe('Only for users.'),
    timeZone: TimeZoneSchema.nullish().describe('Only for users.'),
    marketingConsent: UpdateMarketingConsentInputSchema.optional().describe('Only for users.'),
    terms: TermsInputSchema.optional().describe(
      'Only for users. Acceptance cannot be withdrawn (422). A new version can be accepted.',
    ),
    metadata: MetadataInputSchema.nullish(),
  })
  .meta({
    id: 'UpdateProfileInput',
    description: 'A field that is left out keeps its value. Null clears it.',
    examples: [{ displayName: 'Ada Lovelace', timeZone: 'Europe/Berlin' }],
  });
export type UpdateProfileInput = z.infer<typeof UpdateProfileInputSchema>;

const userRecord = { tagExcludes: ['lastSeenAt'] };
const profileRecord = { tagExcludes: [...userRecord.tagExcludes, ...serviceAccountRecord.tagExcludes] };

const tag = 'Users';
const params = { user_id: LookupIdSchema.describe("The user's id.") };

export const updateMyProfile = operation({
  method: 'PUT',
  path: '/v1/me/profile',
  operationId: 'update_my_profile',
  ignoresUnknownQuery: true,
  scope: null,
  allowedBeforeTerms: true,
  tag,
  summary: 'Update your own profile',
  description:
    'Changes the fields that the body names and keeps the others. A bearer token changes the profile of its user, an API key that of its service account. No scope is needed.',
  body: UpdateProfileInputSchema,
  record: profileRecord,
  ifMatch: profileRecord,
  output: z.union([UserSchema, ServiceAccountSchema]).meta({ id: 'Profile' }),
  errors: ['tenant_limit_reached'],
});

export const listUsers = operation({
  method: 'GET',
  path: '/v1/users',
  operationId: 'list_users',
  scope: 'users:read',
  tag,
  summary: 'List users',
  description:
    "Lists the users who have accepted a membership in the caller's reach. Platform administrators see all users.",
  query: {
    ...tenancyQueryFields,
    status: UserStatusSchema.nullish().describe(
      'Only users with this status. Deleted users are listed only with `deleted`.',
    ),
    email: z.string().max(254).nullish().describe('Only the user with this email, compared case-insensitively.'),
    text: z
      .string()
      .min(1)
      .max(200)
      .nullish()
      .describe('Only users whose display name or email contains this text, compared case-insensitively.'),
    ...pageFields,
  },
  output: page('UserPage', UserSchema),
});

export const getUser = operation({
  method: 'GET',
  path: '/v1/users/{user_id}',
  operationId: 'get_user',
  ignoresUnknownQuery: true,
  scope: 'users:read',
  ownIdParameter: 'user_id',
  allowedBeforeTerms: true,
  tag,
  summary: 'Get a user',
  description:
    "Returns one user: the caller, who needs no scope for this, or a user who has accepted a membership in the caller's reach.",
  params,
  record: userRecord,
  output: UserSchema,
  errors: ['user_not_found'],
});

export const deleteUser = operation({
  method: 'DELETE',
  path: '/v1/users/{user_id}',
  operationId: 'delete_user',
  ignoresUnknownQuery: true,
  scope: 'users:write',
  ownIdParameter: 'user_id',
  allowedBeforeTerms: true,
  tag,
  summary: 'Delete a user',
  description:
    'Ends the memberships and gateway sessions of the user, and erases the personal data. Users may delete themselves, even before they accept the terms. Others may delete a user if they are platform administrators, or if all memberships that the user has accepted are in their reach and the platform has neither disabled the user nor suspended one of the memberships. The email can be registered again, for a new user.',
  params,
  record: userRecord,
  ifMatch: userRecord,
  output: UserSchema,
  errors: [
    'user_not_found',
    'user_out_of_reach',
    'last_owner',
    'last_platform_administrator',
    'platform_administrator_required',
  ],
});

export const disableUser = operation({
  method: 'POST',
  path: '/v1/users/{user_id}/disable',
  operationId: 'disable_user',
  scope: 'users:write',
  tag,
  summary: 'Disable a user',
  description:
    "Ends the user's sessions at once, and refuses further calls of the user in all tenants. Only platform administrators may do this. The administrators of a tenant suspend the membership instead (`update_membership`). Idempotent: repeating the call changes nothing.",
  params,
  record: userRecord,
  ifMatch: userRecord,
  output: UserSchema,
  errors: ['user_not_found', 'platform_administrator_required', 'last_owner', 'last_platform_administrator'],
});

export const enableUser = operation({
  method: 'POST',
  path: '/v1/users/{user_id}/enable',
  operationId: 'enable_user',
  scope: 'users:write',
  tag,
  summary: 'Enable a user',
  description:
    'Permits a disabled user to call the service again, with the memberships from before. Sessions that ended stay ended. Only platform administrators may do this. Idempotent: repeating the call changes nothing.',
  params,
  record: userRecord,
  ifMatch: userRecord,
  output: UserSchema,
  errors: ['user_not_found', 'platform_administrator_required'],
});

export const grantPlatformAdministrator = operation({
  method: 'PUT',
  path: '/v1/users/{user_id}/platform-administrator',
  operationId: 'grant_platform_administrator',
  scope: 'users:write',
  tag,
  summary: 'Make a user a platform administrator',
  description:
    'Gives an active user every right in every tenant. Only platform administrators with the scope `*` may do this. Idempotent: repeating the call changes nothing. The identity provider can also name platform administrators by a claim, which this operation does not show or change. Those may not do this with a token or session, because the grant would outlast the claim (403).',
  params,
  record: userRecord,
  ifMatch: userRecord,
  output: UserSchema,
  errors: ['user_not_found', 'user_not_active', 'platform_administrator_required', 'grant_exceeds_own'],
});

export const revokePlatformAdministrator = operation({
  method: 'DELETE',
  path: '/v1/users/{user_id}/platform-administrator',
  operationId: 'revoke_platform_administrator',
  scope: 'users:write',
  tag,
  summary: 'Revoke the rights of a platform administrator',
  description:
    'Takes effect with the next request of the user, and ends their gateway sessions at once. The user keeps their memberships. The last active user who is a platform administrator keeps the rights (409). Only platform administrators with the scope `*` may do this. Idempotent: repeating the call changes nothing.',
  params,
  record: userRecord,
  ifMatch: userRecord,
  output: UserSchema,
  errors: ['user_not_found', 'platform_administrator_required', 'grant_exceeds_own', 'last_platform_administrator'],
});

/** How long another identity may take over, in hours. */
export const IDENTITY_RELINK_HOURS = 24;

const IdentityRelinkSchema = z
  .strictObject({
    userId: z.string(),
    allowedUntil: TimestampSchema.nullable().describe('Until when another identity may take over. Null: it may not.'),
    allowedBy: z
      .string()
      .nullable()
      .describe('Who allowed it: `user:<id>` or `service_account:<tenant>/<id>`. Null: it is not allowed.'),
  })
  .meta({
    id: 'IdentityRelink',
    description: 'Whether the next sign-in with the verified email of a user may replace the identity of the user.',
  });
export type IdentityRelink = z.infer<typeof IdentityRelinkSchema>;

export const getIdentityRelink = operation({
  method: 'GET',
  path: '/v1/users/{user_id}/identity-relink',
  operationId: 'get_identity_relink',
  scope: 'users:read',
  tag,
  summary: 'Get whether another identity may take over a user',
  description: 'Says whether `allow_identity_relink` is in force. Only platform administrators may ask.',
  params,
  output: IdentityRelinkSchema,
  errors: ['user_not_found', 'platform_administrator_required'],
});

export const allowIdentityRelink = operation({
  method: 'PUT',
  path: '/v1/users/{user_id}/identity-relink',
  operationId: 'allow_identity_relink',
  scope: 'users:write',
  tag,
  summary: 'Allow another identity to take over a user',
  description: `For a user whose \`sub\` changed, for example because the application at the identity provider was replaced. Such a user is refused with \`identity_conflict\`. The next sign-in with the verified email of the user takes over: it replaces the identity, and ends the sessions of the former one. This is allowed once, for ${IDENTITY_RELINK_HOURS} hours, and no longer than the API key that allows it is valid. An unverified email never takes over. Whoever has that email at the identity provider gets every right of the user, so make sure that it still belongs to the same person. Only platform administrators may do this, not those by a claim alone, and for a platform administrator only those with the scope \`*\`. It ends when who allowed it loses these rights. Repeating the call begins the time again.`,
  params,
  output: IdentityRelinkSchema,
  errors: ['user_not_found', 'user_not_active', 'platform_administrator_required', 'grant_exceeds_own'],
});

export const withdrawIdentityRelink = operation({
  method: 'DELETE',
  path: '/v1/users/{user_id}/identity-relink',
  operationId: 'withdraw_identity_relink',
  scope: 'users:write',
  tag,
  summary: 'Withdraw that another identity may take over',
  description: 'Only platform administrators may do this. Idempotent: repeating the call changes nothing.',
  params,
  output: IdentityRelinkSchema,
  errors: ['user_not_found', 'platform_administrator_required'],
});

function isLocale(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length === 1;
  } catch {
    return false;
  }
}

function isTimeZone(text: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }) instanceof Intl.DateTimeFormat;
  } catch {
    return false;
  }
}
