import type { ServiceAction } from '@quartermaster/contracts/audit-operations.ts';
import type { Membership } from '@quartermaster/contracts/memberships.ts';
import { ROLE_SCOPES } from '@quartermaster/contracts/scopes.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { DuplicateKeyError } from '@quartermaster/db/errors.ts';
import { deleteConsoleSessionsOf } from '@quartermaster/db/repositories/console-sessions.ts';
import { findActiveKey } from '@quartermaster/db/repositories/credentials.ts';
import { revokeSessionsOfPrincipal } from '@quartermaster/db/repositories/gateway-sessions.ts';
import {
  deleteIdentitiesOfUser,
  findAccountByIdentity,
  hasIdentity,
  type Identity,
  insertIdentity,
} from '@quartermaster/db/repositories/identities.ts';
import {
  findIdentityRelink,
  type Relink,
  takeIdentityRelink,
} from '@quartermaster/db/repositories/identity-relinks.ts';
import { listAcceptedMemberships } from '@quartermaster/db/repositories/memberships.ts';
import {
  type Account,
  discardRegistration,
  findAccount,
  findAccountByEmail,
  touchUser,
  updateUser,
} from '@quartermaster/db/repositories/users.ts';
import { EVERYWHERE } from '@quartermaster/db/tenancy.ts';
import { auditedWrite } from '../platform/audit/audited-write.ts';
import { ApiError } from '../platform/errors.ts';
import type { Services } from '../platform/services.ts';
import { isAdministratorByClaim } from './administrator-claim.ts';
import type { Grant, Principal } from './principal.ts';
import type { TokenEmail } from './token-email.ts';
import type { TrustedIssuer } from './trusted-issuer.ts';

/** The time when a user was last seen is written at most once a minute. */
const TOUCH_EVERY_MS = 60_000;

type LinkNeeds = Pick<Services, 'db' | 'log' | 'now' | 'secrets'>;
type Needs = LinkNeeds & Pick<TrustedIssuer, 'tokens' | 'administrators'>;

/**
 * The principal of a bearer token. At the first sign-in, the identity is linked to the user with its verified email, who
 * registered or was invited. A link changes only if a platform administrator has allowed that. The first sign-in clears what the registration claimed about the user.
 *
 * @param request ids for the audit event of a first sign-in
 * @throws 401 for an invalid token; 403 for an unknown or disabled user; 503 if the identity provider cannot be reached
 */
export async function principalOfToken(
  services: Needs,
  token: string,
  request: RequestIds = { requestId: '', callerRequestId: null },
): Promise<Principal> {
  const { tokens } = services;
  if (tokens === null) throw noIssuer();
  const verified = await tokens.verify(token);
  const account = await accountOfIdentity(services, {
    identity: { issuer: verified.issuer, subject: verified.subject },
    email: () => tokens.emailOf(token, verified),
    whyNoEmail: () => tokens.whyNoEmail(token),
    request,
  });
  return principalOfAccount(services.db, account, isAdministratorByClaim(services.administrators, verified.claims));
}

/**
 * The account of an identity that the identity provider has verified. At the first sign-in, the identity is linked to the user
 * with its verified email.
 *
 * @throws 403 if no user has this email, or the user is disabled
 */
export async function accountOfIdentity(services: LinkNeeds, sight: FirstSignIn): Promise<Account> {
  const account = (await findAccountByIdentity(services.db, sight.identity)) ?? (await link(services, sight));
  if (account.status === 'deleted') throw registrationRequired();
  if (account.status === 'disabled') throw userDisabled();
  await touch(services, account);
  return account;
}

/** A user with the rights of all memberships that they accepted and that are not suspended. */
export async function principalOfAccount(
  db: Database,
  account: Account,
  administratorByClaim = false,
): Promise<Principal> {
  const memberships = await listAcceptedMemberships(db, EVERYWHERE, account.id);
  return principalOf(account, grantsOf(memberships), administratorByClaim);
}

/** What accepted memberships grant. A suspended one grants nothing. */
export function grantsOf(memberships: readonly Membership[]): Grant[] {
  return memberships
    .filter(({ status }) => status === 'active')
    .map(({ tenantId, subTenantId, role }) => ({ tenantId, subTenantId, scopes: ROLE_SCOPES[role] }));
}

type RequestIds = { requestId: string; callerRequestId: string | null };
type FirstSignIn = {
  identity: Identity;
  email: () => Promise<TokenEmail | null>;
  whyNoEmail: () => Promise<string>;
  request: RequestIds;
};

async function link(services: LinkNeeds, { identity, email, whyNoEmail, request }: FirstSignIn): Promise<Account> {
  const tokenEmail = await email();
  // The user has probably registered, but the identity provider does not tell us the email. So explain that.
  if (!tokenEmail) throw new ApiError('registration_required', await whyNoEmail());
  // Checked before the look-up. Otherwise a caller could find out whether another person's address is registered.
  if (tokenEmail.verified !== true) throw emailUnverified(tokenEmail);
  const account = await findAccountByEmail(services.db, tokenEmail.email);
  if (!account) throw registrationRequired();
  if (await hasIdentity(services.db, account.id)) {
    const relink = await findIdentityRelink(services.db, account.id, services.now());
    if (relink === undefined) return findLinkedConcurrently(services, identity);
    return relinked(services, { account, identity, request });
  }
  if (account.status === 'disabled') throw userDisabled();
  const linking = {
    services,
    ...request,
    principal: principalOf(account, []),
    operation: { operationId: 'link_identity' satisfies ServiceAction },
  };
  try {
    return await auditedWrite(linking, async (trx, record, now) => {
      const current = await findAccountByEmail(trx, tokenEmail.email);
      if (current?.id !== account.id) throw registrationRequired();
      if (current.status === 'disabled') throw userDisabled();
      await insertIdentity(trx, identity, current.id, now);
      // Only now the email is proven. A stranger may have made the registration, so discard what it claimed.
      const discarded = await discardRegistration(trx, current.id, now);
      const termsAccepted = current.termsAccepted && !discarded.includes('terms');
      const status = termsAccepted ? 'active' : 'pending_terms';
      if (status !== current.status) await updateUser(trx, current.id, { status }, now);
      const changed = ['identity', ...(status === current.status ? [] : ['status']), ...discarded];
      const fields = { fields: changed, before: current, after: { status } };
      record({ place: null, target: { type: 'user', id: current.id }, changed: fields });
      return { ...current, status, termsAccepted };
    });
  } catch (error) {
    if (!(error instanceof DuplicateKeyError)) throw error;
    return findLinkedConcurrently(services, identity);
  }
}

type Relinking = { account: Account; identity: Identity; request: RequestIds };

/**
 * Replaces the identity of a user, whose email the new identity has verified, because a platform administrator allowed it once. What the
 * former identity left open ends.
 */
async function relinked(services: LinkNeeds, { account, identity, request }: Relinking): Promise<Account> {
  if (account.status === 'disabled') throw userDisabled();
  const relinking = {
    services,
    ...request,
    principal: principalOf(account, []),
    operation: { operationId: 'relink_identity' satisfies ServiceAction },
  };
  const replace = auditedWrite(relinking, async (trx, record, now) => {
    const relink = await findIdentityRelink(trx, account.id, now);
    if (relink === undefined || !(await isGranterInForce(trx, relink, now))) return false;
    // Of concurrent sign-ins, only one takes it.
    if (!(await takeIdentityRelink(trx, account.id, now))) return false;
    await deleteIdentitiesOfUser(trx, account.id);
    await deleteConsoleSessionsOf(trx, account.id);
    await revokeSessionsOfPrincipal(trx, EVERYWHERE, `user:${account.id}`, now);
    await insertIdentity(trx, identity, account.id, now);
    record({
      place: null,
      target: { type: 'user', id: account.id },
      changed: { fields: ['identity'], before: {}, after: {} },
    });
    return true;
  });
  const isReplaced = await replace.catch((error: unknown) => {
    if (error instanceof DuplicateKeyError) return false;
    throw error;
  });
  return isReplaced ? account : findLinkedConcurrently(services, identity);
}

/** Whether the API key or user who allowed it still is a platform administrator. */
async function isGranterInForce(trx: Database, { allowedBy, allowedByKey }: Relink, now: Date): Promise<boolean> {
  if (allowedByKey !== null) {
    return (await findActiveKey(trx, EVERYWHERE, allowedByKey, now))?.platformAdministrator === true;
  }
  const granter = await findAccount(trx, allowedBy.replace(/^user:/, ''));
  return granter?.status === 'active' && granter.platformAdministrator;
}

/**
 * The account of an identity that a concurrent request linked.
 *
 * @throws 403 `identity_conflict` if the email's user is linked to another identity
 */
async function findLinkedConcurrently(services: LinkNeeds, identity: Identity): Promise<Account> {
  const account = await findAccountByIdentity(services.db, identity);
  if (account) return account;
  throw new ApiError(
    'identity_conflict',
    'The user with this email signs in with another identity. If the identity provider has replaced it, a platform administrator can allow this one to take over.',
  );
}

function principalOf(account: Account, grants: readonly Grant[], administratorByClaim = false): Principal {
  const platformAdministrator = account.platformAdministrator || administratorByClaim;
  return {
    kind: 'user',
    id: account.id,
    tenantId: null,
    scheme: 'bearer',
    keyId: null,
    keyExpiresAt: null,
    session: null,
    platformAdministrator,
    administratorByClaim,
    platformScopes: platformAdministrator ? ['*'] : [],
    grants,
    termsAccepted: account.termsAccepted,
  };
}

/** Writes when the user was last seen. A failure is only logged. */
async function touch(services: LinkNeeds, account: Account): Promise<void> {
  const now = services.now();
  if (account.lastSeenAt !== null && now.getTime() - Date.parse(account.lastSeenAt) < TOUCH_EVERY_MS) return;
  try {
    await touchUser(services.db, account.id, now);
  } catch (error) {
    services.log.warn({ err: error, userId: account.id }, 'last sight of a user was not written');
  }
}

function registrationRequired(): ApiError {
  return new ApiError('registration_required', 'No user is registered with the email of this identity.');
}

function emailUnverified({ verified }: TokenEmail): ApiError {
  return new ApiError(
    'email_unverified',
    verified === false
      ? 'Verify your email with the identity provider first.'
      : 'The identity provider does not say whether it verified this email: the claim email_verified is missing (for an email in another claim, its own flag <claim>_verified). The identity provider has to send it. If one organization alone decides which emails this identity provider gives to its users, an operator can set QM_OIDC_TRUST_EMAILS=1 instead.',
  );
}

function noIssuer(): ApiError {
  return new ApiError('credentials_invalid', 'No identity provider is configured, so bearer tokens are not accepted.', {
    headers: { 'WWW-Authenticate': 'Bearer error="invalid_token", error_description="no issuer is configured"' },
  });
}

export function userDisabled(): ApiError {
  return new ApiError('user_disabled', 'The user is disabled. Ask an administrator.');
}
