import { z } from 'zod';
import { DisplayNameSchema, EmailSchema, MetadataSchema, TimestampSchema } from './fields.ts';
import { operation } from './operation.ts';
import { MarketingConsentInputSchema, TermsInputSchema } from './users.ts';

const PASSWORD_LIKE = /pass(word|wd|phrase|code)|pwd|secret|credential/i;

export const RegisterInputSchema = z
  .strictObject({
    user: z.strictObject({
      email: EmailSchema,
      displayName: DisplayNameSchema.nullish(),
      terms: TermsInputSchema.nullish().describe('Terms that are not mentioned are not accepted.'),
      marketingConsent: MarketingConsentInputSchema.nullish(),
    }),
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

export const RegistrationSchema = z
  .strictObject({
    user: z.strictObject({ id: z.string(), email: z.string(), displayName: DisplayNameSchema.nullable() }),
    registration: z.strictObject({
      status: z
        .enum(['pending_terms', 'pending_identity'])
        .describe('What is still missing: the terms, or a first sign-in.'),
      receivedAt: TimestampSchema,
    }),
    signIn: z
      .strictObject({ issuer: z.string() })
      .nullable()
      .describe('Where to sign in; null where no identity provider is configured.'),
  })
  .meta({ id: 'Registration' });
export type Registration = z.infer<typeof RegistrationSchema>;

export const registerUser = operation({
  method: 'POST',
  path: '/v1/onboarding/register',
  operationId: 'register_user',
  scope: 'public',
  tag: 'Users',
  summary: 'Register a user',
  description:
    'Creates the user record only. An email that is known answers like a new one, and its record stays as it is. Who never signs in is removed after 30 days. Rate-limited by address.',
  body: RegisterInputSchema,
  output: RegistrationSchema,
  errors: ['rate_limited'],
});

function hasPasswordLikeKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, inner]) => PASSWORD_LIKE.test(key) || hasPasswordLikeKey(inner));
}
