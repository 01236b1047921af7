import type { ServiceAccount } from '@quartermaster/contracts/service-accounts.ts';
import { type UpdateProfileInput, UpdateProfileInputSchema, type User } from '@quartermaster/contracts/users.ts';
import { type UserChange, updateUser } from '@quartermaster/db/repositories/users.ts';
import { termsRequired } from '../../auth/authorize.ts';
import { changedFields, auditedWrite } from '../../platform/audit/audited-write.ts';
import { ValidationFailure, valueError } from '../../platform/errors.ts';
import { ownServiceAccount, updateServiceAccountProfile } from '../service-accounts/service.ts';
import type { CallerContext } from '../../auth/context.ts';
import { requireUser } from './service.ts';

type Field = keyof UpdateProfileInput;

const USER_FIELDS: readonly Field[] = ['displayName', 'locale', 'timeZone', 'marketingConsent', 'terms', 'metadata'];
const SERVICE_ACCOUNT_FIELDS: readonly Field[] = ['displayName', 'description', 'metadata'];

/** Changes the caller's own profile: that of the user, or of the service account whose key is used. */
export async function updateMyProfile(ctx: CallerContext, body: UpdateProfileInput): Promise<User | ServiceAccount> {
  if (ctx.principal.kind === 'user') {
    requireOnlyFields(body, USER_FIELDS);
    return updateUserProfile(ctx, body);
  }
  requireOnlyFields(body, SERVICE_ACCOUNT_FIELDS);
  const { displayName, description, metadata } = body;
  return updateServiceAccountProfile(ctx, { displayName, description, metadata });
}

/** The caller's own profile. */
export function myProfile(ctx: CallerContext): Promise<User | ServiceAccount> {
  return ctx.principal.kind === 'user' ? requireUser(ctx, ctx.principal.id) : ownServiceAccount(ctx, ctx.services.db);
}

async function updateUserProfile(ctx: CallerContext, body: UpdateProfileInput): Promise<User> {
  // Users who have not accepted the terms can do nothing but accept them.
  if (!ctx.principal.termsAccepted && body.terms?.accepted !== true && Object.keys(body).length > 0) {
    throw termsRequired();
  }
  const { id } = ctx.principal;
  return auditedWrite(ctx, async (trx, record, now) => {
    const user = await requireUser(ctx, id, trx);
    const change = changeOf(user, body, now.toISOString());
    const changed = changedFields(user, change);
    if (changed.length === 0) return user;
    await updateUser(trx, id, change, now);
    record({ place: null, target: { type: 'user', id }, changed: { fields: changed, before: user, after: change } });
    return requireUser(ctx, id, trx);
  });
}

function changeOf(user: User, body: UpdateProfileInput, time: string): UserChange {
  const { displayName, locale, timeZone, marketingConsent, terms, metadata } = body;
  const newTerms = terms && termsAfter(user, terms, time);
  return {
    ...(displayName !== undefined && { displayName }),
    ...(locale !== undefined && { locale }),
    ...(timeZone !== undefined && { timeZone }),
    ...(metadata !== undefined && { metadata: metadata ?? {} }),
    ...(marketingConsent && { marketingConsent: consentAfter(user, marketingConsent, time) }),
    ...(newTerms && { terms: newTerms }),
    ...(newTerms?.accepted && user.status === 'pending_terms' && { status: 'active' }),
  };
}

/** Accepting the same versions again keeps the time. @throws 422 for withdrawing the acceptance */
function termsAfter(user: User, terms: NonNullable<UpdateProfileInput['terms']>, time: string): User['terms'] {
  if (user.terms.accepted && !terms.accepted) {
    throw valueError(['body', 'terms', 'accepted'], 'acceptance of the terms cannot be withdrawn', terms.accepted);
  }
  const { termsVersion = user.terms.termsVersion, privacyVersion = user.terms.privacyVersion, accepted } = terms;
  const versions = { termsVersion, privacyVersion, accepted };
  if (changedFields(user.terms, versions).length === 0) return user.terms;
  return { ...versions, acceptedAt: accepted ? time : null };
}

function consentAfter(
  user: User,
  consent: NonNullable<UpdateProfileInput['marketingConsent']>,
  time: string,
): User['marketingConsent'] {
  const { optedIn = user.marketingConsent.optedIn, consentVersion = user.marketingConsent.consentVersion } = consent;
  const given = { optedIn, consentVersion };
  if (changedFields(user.marketingConsent, given).length === 0) return user.marketingConsent;
  return { ...given, changedAt: time };
}

/** Both kinds of callers share one input schema, so this treats fields of the other kind as unknown. @throws 422 */
function requireOnlyFields(body: UpdateProfileInput, allowed: readonly Field[]): void {
  const others = UpdateProfileInputSchema.keyof().options.filter(
    (field) => body[field] !== undefined && !allowed.includes(field),
  );
  if (others.length === 0) return;
  throw new ValidationFailure(
    others.map((field) => ({
      loc: ['body', field],
      msg: 'Extra inputs are not permitted',
      type: 'extra_forbidden',
      input: body[field],
      ctx: { allowed },
    })),
  );
}
