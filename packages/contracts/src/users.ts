import { z } from 'zod';
import {
  DescriptionSchema,
  DisplayNameSchema,
  LookupIdSchema,
  MetadataSchema,
  TimestampSchema,
  tenancyFields,
  tenancyQueryFields,
  timeFields,
} from './fields.ts';
import { MembershipStatusSchema } from './memberships.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';
import { RoleSchema } from './scopes.ts';
import { ServiceAccountSchema, serviceAccountRecord } from './service-accounts.ts';

const VersionSchema = z.string().max(64);

/** BCP 47, as far as JavaScript itself knows it. */
export const LocaleSchema = z
  .string()
  .max(35)
  .refine(isLocale, { error: 'locale should be a BCP 47 language tag' })
  .describe('A BCP 47 language tag, such as `en-GB`.');

export const TimeZoneSchema = z
  .string()
  .max(64)
  .refine(isTimeZone, { error: 'time zone should be a name of the IANA database' })
  .describe('A name of the IANA time zone database, such as `Europe/Paris`.');

export const UserStatusSchema = z.enum(['pending_terms', 'pending_identity', 'active', 'disabled', 'deleted']).meta({
  id: 'UserStatus',
  description: '`pending_terms`: may only accept the terms. `pending_identity`: has never signed in.',
});

const UserTermsSchema = z
  .strictObject({
    termsVersion: VersionSchema.nullable(),
    privacyVersion: VersionSchema.nullable(),
    accepted: z
      .boolean()
      .describe('What a registration says counts from the first sign-in, which proves the email; before that: false.'),
    acceptedAt: TimestampSchema.nullable(),
  })
  .meta({ id: 'UserTerms' });

const UserMarketingConsentSchema = z
  .strictObject({
    optedIn: z.boolean().describe('What a registration says counts from the first sign-in; before that: false.'),
    consentVersion: VersionSchema.nullable(),
    changedAt: TimestampSchema.nullable(),
  })
  .meta({ id: 'UserMarketingConsent' });

const UserMembershipSchema = z
  .strictObject({ ...tenancyFields, role: RoleSchema, status: MembershipStatusSchema })
  .meta({ id: 'UserMembership' });

export const UserSchema = z
  .strictObject({
    id: z.string(),
    email: z.string().nullable().describe('Null once the user is deleted.'),
    displayName: DisplayNameSchema.nullable(),
    status: UserStatusSchema,
    platformAdministrator: z.boolean(),
    terms: UserTermsSchema,
    marketingConsent: UserMarketingConsentSchema,
    source: z.string().nullable().describe('Where the registration came from; `invitation` for invited users.'),
    memberships: z
      .array(UserMembershipSchema)
      .describe(
        "Those in the caller's reach; all of them to the user, who is shown here what waits to be accepted: the hundred that were offered last.",
      ),
    locale: LocaleSchema.nullable(),
    timeZone: TimeZoneSchema.nullable(),
    metadata: MetadataSchema,
    lastSeenAt: TimestampSchema.nullable().describe('To the minute.'),
    ...timeFields,
  })
  .meta({ id: 'User', description: 'A person. The identity provider knows their password; this service never does.' });
export type User = z.infer<typeof UserSchema>;

export const TermsInputSchema = z
  .strictObject({
    termsVersion: VersionSchema.nullish(),
    privacyVersion: VersionSchema.nullish(),
    accepted: z.boolean().default(false),
  })
  .meta({ id: 'TermsInput' });
export type TermsInput = z.infer<typeof TermsInputSchema>;

export const MarketingConsentInputSchema = z
  .strictObject({ optedIn: z.boolean().default(false), consentVersion: VersionSchema.nullish() })
  .meta({ id: 'MarketingConsentInput' });

export const UpdateProfileInputSchema = z
  .strictObject({
    displayName: DisplayNameSchema.nullish(),
    description: DescriptionSchema.nullish().describe('Service accounts only.'),
    locale: LocaleSchema.nullish().describe('Users only.'),
    timeZone: TimeZoneSchema.nullish().describe('Users only.'),
    marketingConsent: MarketingConsentInputSchema.optional().describe('Users only.'),
    terms: TermsInputSchema.optional().describe('Users only. Accepted terms cannot be taken back, only accepted anew.'),
    metadata: MetadataSchema.nullish(),
  })
  .meta({ id: 'UpdateProfileInput', description: 'Left out keeps, null clears, a value sets.' });
export type UpdateProfileInput = z.infer<typeof UpdateProfileInputSchema>;

const userRecord = { untagged: ['lastSeenAt'] };
const profileRecord = { untagged: [...userRecord.untagged, ...serviceAccountRecord.untagged] };

const tag = 'Users';
const params = { user_id: LookupIdSchema.describe("The user's id.") };

export const updateMyProfile = operation({
  method: 'PUT',
  path: '/v1/me/profile',
  operationId: 'update_my_profile',
  ignoresUnknownQuery: true,
  scope: null,
  beforeTerms: true,
  tag,
  summary: 'Update your own profile',
  description: 'With a bearer token the user, with an API key its service account. Needs no scope.',
  body: UpdateProfileInputSchema,
  record: profileRecord,
  ifMatch: profileRecord,
  output: z.union([UserSchema, ServiceAccountSchema]).meta({ id: 'Profile' }),
});

export const listUsers = operation({
  method: 'GET',
  path: '/v1/users',
  operationId: 'list_users',
  scope: 'users:read',
  tag,
  summary: 'List users',
  description:
    "Members of the tenants in the caller's reach, once they accepted; platform administrators see everyone.",
  query: {
    ...tenancyQueryFields,
    status: UserStatusSchema.nullish().describe(
      'Only users with this status. Deleted users are listed with `deleted` only.',
    ),
    email: z.string().max(254).nullish().describe('Only the user of this email, in any case.'),
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
  ownId: 'user_id',
  beforeTerms: true,
  tag,
  summary: 'Get a user',
  description: 'Yourself, without any scope; or a member of a tenant in your reach, who accepted the membership.',
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
  ownId: 'user_id',
  tag,
  summary: 'Delete a user',
  description:
    'By themselves, by a platform administrator, or by an administrator who reaches all memberships that they accepted. Ends memberships and sessions and erases personal data. The email may register again, as a new user.',
  params,
  record: userRecord,
  ifMatch: userRecord,
  output: UserSchema,
  errors: ['user_not_found', 'user_out_of_reach', 'last_owner', 'platform_administrator_required'],
});

export const disableUser = operation({
  method: 'POST',
  path: '/v1/users/{user_id}/disable',
  operationId: 'disable_user',
  scope: 'users:write',
  tag,
  summary: 'Disable a user',
  description:
    "Ends the user's sessions at once and refuses their further calls. The caller must reach all memberships that the user has accepted. Idempotent: repeating the call changes nothing.",
  params,
  record: userRecord,
  ifMatch: userRecord,
  output: UserSchema,
  errors: ['user_not_found', 'user_out_of_reach', 'platform_administrator_required', 'last_owner'],
});

export const enableUser = operation({
  method: 'POST',
  path: '/v1/users/{user_id}/enable',
  operationId: 'enable_user',
  scope: 'users:write',
  tag,
  summary: 'Enable a user',
  description:
    'Lets a disabled user work again, with the memberships that they had. Idempotent: repeating the call changes nothing.',
  params,
  record: userRecord,
  ifMatch: userRecord,
  output: UserSchema,
  errors: ['user_not_found', 'user_out_of_reach', 'platform_administrator_required'],
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
