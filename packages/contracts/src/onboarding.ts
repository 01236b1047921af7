import { z } from 'zod';
import {
  DisplayNameInputSchema,
  DisplayNameSchema,
  EmailSchema,
  exactIntegers,
  MetadataSchema,
  NameInputSchema,
  TimestampSchema,
} from './fields.ts';
import { visibleLine } from './visible-text.ts';
import { MembershipSchema } from './memberships.ts';
import { operation } from './operation.ts';
import { TenantSchema, TenantSettingsInputSchema } from './tenants.ts';
import { MarketingConsentInputSchema, TermsInputSchema } from './users.ts';

const PASSWORD_LIKE = /pass(word|wd|phrase|code)|pwd|secret|credential/i;

const RegistrationUserInputSchema = z
  .strictObject({
    email: EmailSchema,
    displayName: DisplayNameInputSchema.nullish(),
    terms: TermsInputSchema.nullish().describe(
      'Whether the user accepts the terms. If it is left out, they are not accepted.',
    ),
    marketingConsent: MarketingConsentInputSchema.nullish(),
  })
  .meta({ id: 'RegistrationUserInput', description: 'The user to register.' });

export const RegisterInputSchema = z
  .strictObject({
    user: RegistrationUserInputSchema,
    source: z
      .string()
      .overwrite(visibleLine)
      .min(1)
      .max(64)
      .nullish()
      .describe('Where the registration came from, such as `saas_registration`. At most 64 characters.'),
    metadata: MetadataSchema.check(
      exactIntegers,
      z.refine((value: Record<string, unknown>) => !hasPasswordLikeKey(value), {
        error: 'metadata should have no passwords or other credentials: the identity provider handles them',
      }),
    ).nullish(),
  })
  .meta({
    id: 'RegisterInput',
    description:
      'A registration. Metadata whose names suggest a password or another credential is refused (422): the identity provider handles credentials.',
    examples: [{ user: { email: 'ada@acme.example', displayName: 'Ada Lovelace' } }],
  });
export type RegisterInput = z.infer<typeof RegisterInputSchema>;

const RegisteredUserSchema = z
  .strictObject({ id: z.string(), email: z.string(), displayName: DisplayNameSchema.nullable() })
  .meta({ id: 'RegisteredUser', description: 'The registered user.' });

const RegistrationProgressSchema = z
  .strictObject({
    status: z
      .enum(['pending_terms', 'pending_identity'])
      .describe(
        '`pending_terms`: the registration did not accept the terms. `pending_identity`: it did. In both cases the user signs in next, and then accepts the terms.',
      ),
    receivedAt: TimestampSchema,
  })
  .meta({ id: 'RegistrationProgress', description: 'The state of a registration.' });

const SignInSchema = z
  .strictObject({ issuer: z.string().describe('The URL of the OpenID Connect issuer.') })
  .meta({ id: 'SignIn', description: 'Where the user signs in.' });

export const RegistrationSchema = z
  .strictObject({
    user: RegisteredUserSchema,
    registration: RegistrationProgressSchema,
    signIn: SignInSchema.nullable().describe('Where the user signs in. Null if no identity provider is configured.'),
  })
  .meta({ id: 'Registration', description: 'The answer to a registration.' });
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
    'Creates a user record, and nothing else. If the email is registered already, the answer is the same and the existing record does not change. Anyone can register any email, so the owner is not bound by a registration: the first sign-in clears the name, terms, marketing consent and metadata, and the user sets them again with `PUT /v1/me/profile`. Users who never sign in are removed after 30 days. The rate limit applies to each IP address.',
  body: RegisterInputSchema,
  bodyMaxBytes: 16 * 1024,
  output: RegistrationSchema,
  errors: ['rate_limited'],
});

const OrganizationInputSchema = z
  .strictObject({
    displayName: NameInputSchema,
    id: z
      .string()
      .min(1)
      .max(100)
      .regex(/^[A-Za-z0-9][A-Za-z0-9._:-]*$/)
      .nullish()
      .describe(
        'The first part of the id of the new tenant, 1 to 100 characters. The service appends `-` and 10 random characters: `rockets` becomes `rockets-7k2m9x4p1q`. So no user can take an id that another customer expects to get. If it is left out, the whole id is generated.',
      ),
  })
  .meta({ id: 'OrganizationInput', description: 'The name and the id of the new tenant.' });

export const CreateOrganizationInputSchema = z
  .strictObject({
    organization: OrganizationInputSchema,
    settings: TenantSettingsInputSchema.optional(),
  })
  .meta({
    id: 'CreateOrganizationInput',
    description: 'A new organization, and its settings.',
    examples: [{ organization: { displayName: 'Acme' } }],
  });
export type CreateOrganizationInput = z.infer<typeof CreateOrganizationInputSchema>;

export const OrganizationSchema = z
  .strictObject({
    tenant: TenantSchema,
    membership: MembershipSchema.describe('The membership of the caller, with the role `owner`.'),
  })
  .meta({ id: 'Organization', description: 'A tenant that a user created, and the membership of this user.' });
export type Organization = z.infer<typeof OrganizationSchema>;

export const createOrganization = operation({
  method: 'POST',
  path: '/v1/onboarding/organization',
  operationId: 'create_organization',
  scope: null,
  tag: 'Users',
  summary: 'Create your organization',
  description:
    'Creates a tenant with the caller as its owner. Only users may do this, with a bearer token. 409 `organization_exists` if the user has accepted a membership, or has ever created an organization, even one that they left; pending invitations do not matter. The answer has the id of the tenant, because only platform administrators choose a whole id. The rate limit applies to each user. 403 `self_service_off` if self-service is turned off.',
  body: CreateOrganizationInputSchema,
  bodyMaxBytes: 16 * 1024,
  output: OrganizationSchema,
  errors: ['user_required', 'self_service_off', 'organization_exists', 'rate_limited'],
});

function hasPasswordLikeKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, inner]) => PASSWORD_LIKE.test(key) || hasPasswordLikeKey(inner));
}
