import { ROLE_SCOPES } from '@quartermaster/contracts/scopes.ts';
import { DuplicateKeyError } from '@quartermaster/db/errors.ts';
import {
  findAccountByIdentity,
  hasIdentity,
  type Identity,
  insertIdentity,
} from '@quartermaster/db/repositories/identities.ts';
import { listAcceptedMemberships } from '@quartermaster/db/repositories/memberships.ts';
import {
  type Account,
  discardRegistration,
  findAccountByEmail,
  touchUser,
  updateUser,
} from '@quartermaster/db/repositories/users.ts';
import { EVERYWHERE } from '@quartermaster/db/tenancy.ts';
import { write } from '../audit-events/write.ts';
import { ApiError } from '../errors.ts';
import type { Services } from '../services.ts';
import type { Grant, Principal } from './principal.ts';
import type { TokenEmail } from './token-email.ts';

/** Last sight is written at most so often for each user. */
const TOUCH_EVERY_MS = 60_000;

type Needs = Pick<Services, 'db' | 'log' | 'now' | 'secrets' | 'tokens'>;

/**
 * Who calls with this bearer token. An identity that is seen for the first time is linked to the user of its verified
 * email, who registered or was invited; a link is never changed. The first sign-in clears what the registration said of them.
 *
 * @param request its ids, for the audit event of a first sight
 * @throws 401 for a token that is not good; 403 for one of nobody, or of a disabled user; 503 while the identity provider
 *   cannot be reached
 */
export async function principalOfToken(
  services: Needs,
  token: string,
  request: RequestIds = { requestId: '', callerRequestId: null },
): Promise<Principal> {
  const { tokens } = services;
  if (tokens === null) throw noIssuer();
  const verified = await tokens.verify(token);
  const identity = { issuer: verified.issuer, subject: verified.subject };
  const linked = await findAccountByIdentity(services.db, identity);
  const email = () => tokens.emailOf(token, verified);
  const account =
    linked ?? (await link(services, { identity, email, whyNoEmail: () => tokens.whyNoEmail(token), request }));
  if (account.status === 'deleted') throw registrationRequired();
  if (account.status === 'disabled') throw disabled();
  await touch(services, account);
  const memberships = await listAcceptedMemberships(services.db, EVERYWHERE, account.id);
  return principalOf(
    account,
    memberships.map(({ tenantId, subTenantId, role }) => ({ tenantId, subTenantId, scopes: ROLE_SCOPES[role] })),
  );
}

type RequestIds = { requestId: string; callerRequestId: string | null };
type FirstSight = {
  identity: Identity;
  email: () => Promise<TokenEmail | null>;
  whyNoEmail: () => Promise<string>;
  request: RequestIds;
};

async function link(services: Needs, { identity, email, whyNoEmail, request }: FirstSight): Promise<Account> {
  const told = await email();
  // Most likely this person has registered: the provider does not say who they are.
  if (!told) throw new ApiError('registration_required', await whyNoEmail());
  // Said before the email is looked up: nobody learns of an address that is not theirs.
  if (!told.verified) {
    throw new ApiError('email_unverified', 'Verify your email with the identity provider first.');
  }
  const account = await findAccountByEmail(services.db, told.email);
  if (!account) throw registrationRequired();
  if (await hasIdentity(services.db, account.id)) return linkedMeanwhile(services, identity);
  if (account.status === 'disabled') throw disabled();
  const linking = {
    services,
    ...request,
    principal: principalOf(account, []),
    operation: { operationId: 'link_identity' },
  };
  try {
    return await write(linking, async (trx, record, now) => {
      const current = await findAccountByEmail(trx, told.email);
      if (current?.id !== account.id) throw registrationRequired();
      if (current.status === 'disabled') throw disabled();
      await insertIdentity(trx, identity, current.id, now);
      // Only now is the email proven: what the registration said may be a stranger's.
      const discarded = await discardRegistration(trx, current.id, now);
      const termsAccepted = current.termsAccepted && !discarded.includes('terms');
      const status = termsAccepted ? 'active' : 'pending_terms';
      if (status !== current.status) await updateUser(trx, current.id, { status }, now);
      const changed = ['identity', ...(status === current.status ? [] : ['status']), ...discarded];
      record({ place: null, target: { type: 'user', id: current.id }, changed });
      return { ...current, status, termsAccepted };
    });
  } catch (error) {
    if (!(error instanceof DuplicateKeyError)) throw error;
    return linkedMeanwhile(services, identity);
  }
}

/** The email's user has an identity. It is this one where another request of the same caller was faster. */
async function linkedMeanwhile(services: Needs, identity: Identity): Promise<Account> {
  const account = await findAccountByIdentity(services.db, identity);
  if (account) return account;
  throw new ApiError('identity_conflict', 'The user of this email signs in with another identity.');
}

function principalOf(account: Account, grants: readonly Grant[]): Principal {
  return {
    kind: 'user',
    id: account.id,
    tenantId: null,
    scheme: 'bearer',
    keyId: null,
    keyExpiresAt: null,
    platformAdministrator: account.platformAdministrator,
    platformScopes: account.platformAdministrator ? ['*'] : [],
    grants,
    termsAccepted: account.termsAccepted,
  };
}

/** Nobody is refused because last sight could not be written. */
async function touch(services: Needs, account: Account): Promise<void> {
  const now = services.now();
  if (account.lastSeenAt !== null && now.getTime() - Date.parse(account.lastSeenAt) < TOUCH_EVERY_MS) return;
  try {
    await touchUser(services.db, account.id, now);
  } catch (error) {
    services.log.warn({ err: error, userId: account.id }, 'last sight of a user was not written');
  }
}

function registrationRequired(): ApiError {
  return new ApiError('registration_required', 'Nobody is registered with the email of this identity.');
}

function noIssuer(): ApiError {
  return new ApiError('credentials_invalid', 'No identity provider is configured: no bearer token is accepted.', {
    headers: { 'WWW-Authenticate': 'Bearer error="invalid_token", error_description="no issuer is configured"' },
  });
}

function disabled(): ApiError {
  return new ApiError('user_disabled', 'The user is disabled. Ask an administrator.');
}
