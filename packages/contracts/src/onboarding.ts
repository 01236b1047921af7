import { z } from 'zod';
import {
  DisplayNameSchema,
  EmailSchema,
  IdentifierSchema,
  MetadataSchema,
  NameInputSchema,
  TimestampSchema,
} from './fields.ts';
import { MembershipSchema } from './memberships.ts';
import { operation } from './operation.ts';
import { TenantSchema, TenantSettingsInputSchema } from './tenants.ts';
import { MarketingConsentInputSchema, TermsInputSchema } from './users.ts';

const PASSWORD_LIKE = /pass(word|wd|phrase|code)|pwd|secret|credential/i;

const RegistrationUserInputSchema = z
  .strictObject({
    email: EmailSchema,
    displayName: DisplayNameSchema.nullish(),
    terms: TermsInputSchema.nullish().describe('Terms that are not mentioned are not accepted.'),
    marketingConsent: MarketingConsentInputSchema.nullish(),
  })
  .meta({ id: 'RegistrationUserInput' });

export const RegisterInputSchema = z
  .strictObject({
    user: RegistrationUserInputSchema,
    source: z
      .string()
      .min(1)
      .max(64)
      .nullish()
      .describe('Where the registration came from, such as `saas_registration`.'),
    metadata: MetadataSchema.refine((value) => !hasPasswordLikeKey(value), {
      error: 'passwords are not accepted; credentials are handled by the identity provider',
    }).nullish(),
  })
  .meta({
    id: 'RegisterInput',
    description: 'Passwords are never accepted: the identity provider handles credentials.',
  });
export type RegisterInput = z.infer<typeof RegisterInputSchema>;

const RegisteredUserSchema = z
  .strictObject({ id: z.string(), email: z.string(), displayName: DisplayNameSchema.nullable() })
  .meta({ id: 'RegisteredUser' });

const RegistrationProgressSchema = z
  .strictObject({
    status: z
      .enum(['pending_terms', 'pending_identity'])
      .describe('What is still missing: the terms, or a first sign-in.'),
    receivedAt: TimestampSchema,
  })
  .meta({ id: 'RegistrationProgress' });

const SignInSchema = z.strictObject({ issuer: z.string() }).meta({ id: 'SignIn' });

export const RegistrationSchema = z
  .strictObject({
    user: RegisteredUserSchema,
    registration: RegistrationProgressSchema,
    signIn: SignInSchema.nullable().describe('Where to sign in. Null if no identity provider is configured.'),
  })
  .meta({ id: 'Registration' });
export type Registration = z.infer<typeof RegistrationSchema>;

export const registerUser = operation({
  method: 'POST',
  path: '/v1/onboarding/register',
  operationId: 'register_user',
  ignoresUnknownQuery: true,
  scope: 'public',
  tag: 'Users',
  summary: 'Register a user',
  description:
    'Creates the user record only. An email that is known answers like a new one, and its record stays as it is. What is said of terms and marketing counts once the owner of the email signs in. Who never signs in is removed after 30 days. Rate-limited by address.',
  body: RegisterInputSchema,
  output: RegistrationSchema,
  errors: ['rate_limited'],
});

const OrganizationInputSchema = z
  .strictObject({
    displayName: NameInputSchema,
    id: IdentifierSchema.nullish().describe('The id of the new tenant. Generated if left out.'),
  })
  .meta({ id: 'OrganizationInput' });

export const CreateOrganizationInputSchema = z
  .strictObject({
    organization: OrganizationInputSchema,
    settings: TenantSettingsInputSchema.optional(),
  })
  .meta({ id: 'CreateOrganizationInput' });
export type CreateOrganizationInput = z.infer<typeof CreateOrganizationInputSchema>;

export const OrganizationSchema = z
  .strictObject({ tenant: TenantSchema, membership: MembershipSchema.describe("The caller's, as its owner.") })
  .meta({ id: 'Organization', description: 'A tenant, made by the user who owns it.' });
export type Organization = z.infer<typeof OrganizationSchema>;

export const createOrganization = operation({
  method: 'POST',
  path: '/v1/onboarding/organization',
  operationId: 'create_organization',
  scope: null,
  tag: 'Users',
  summary: 'Create your organization',
  description:
    'The first-run step of a user, with a bearer token: makes a tenant, and the caller its owner. For who has accepted no membership, and never made one, not even one that they left since; what is pending does not stand in the way. An id is unique among all tenants, in any case: that one is taken is said, also of a tenant out of reach. Rate-limited by user. 403 `self_service_off` where the service is configured so.',
  body: CreateOrganizationInputSchema,
  output: OrganizationSchema,
  errors: ['user_required', 'self_service_off', 'organization_exists', 'id_taken', 'rate_limited'],
});

function hasPasswordLikeKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, inner]) => PASSWORD_LIKE.test(key) || hasPasswordLikeKey(inner));
}
