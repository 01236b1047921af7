import { hash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { CONSOLE_IDLE_HOURS, CONSOLE_MAX_HOURS } from '@quartermaster/contracts/console-sessions.ts';
import { visibleLine } from '@quartermaster/contracts/visible-text.ts';
import type { Database } from '@quartermaster/db/database.ts';
import {
  deleteExpiredConsoleSessions,
  findConsoleSessionByToken,
  insertConsoleSession,
  type StoredConsoleSession,
  touchConsoleSession,
} from '@quartermaster/db/repositories/console-sessions.ts';
import { findAccount } from '@quartermaster/db/repositories/users.ts';
import { ApiError } from '../platform/errors.ts';
import { removeInBatches } from '../platform/remove-in-batches.ts';
import type { Services } from '../platform/services.ts';
import type { AdministratorClaim } from './administrator-claim.ts';
import type { Principal } from './principal.ts';
import type { AuthServices, TrustedIssuer } from './trusted-issuer.ts';
import { principalOfAccount, userDisabled } from './users.ts';
import { cookieNames, cookieOf } from './console-cookies.ts';

const HOUR_MS = 60 * 60 * 1000;

/** The time of last use is written at most once a minute for each session. */
const TOUCH_EVERY_MS = 60_000;

/** Maximum sessions of one user. A further sign-in ends the oldest session. */
const MAX_SESSIONS_PER_USER = 20;

const MAX_USER_AGENT_LENGTH = 300;
const BATCH_SIZE = 500;

/** The web console sends this header with every request. A page of another site cannot send it without a CORS preflight. */
const CONSOLE_HEADER = 'x-quartermaster-console';

/** The id of the user that the page shows. In another tab of the browser another user may have signed in since. */
const USER_HEADER = 'x-quartermaster-user';

/**
 * The principal of the web console's session cookie; null if the request has none, or does not come from one of our pages.
 *
 * Protection against CSRF: `SameSite=Strict` prevents most cross-site requests with the cookie. In addition, `Sec-Fetch-Site`
 * has to say that a page of this origin sent the request, and a write has to carry the console's header.
 *
 * @throws 401 for a session that ended, or of another user than the page shows; 403 for a write from another site, and for a
 *   disabled user
 */
export async function principalOfSession(services: AuthServices, req: IncomingMessage): Promise<Principal | null> {
  const token = sessionToken(services, req);
  if (token === undefined) return null;
  const isSameOrigin = req.headers['sec-fetch-site'] === 'same-origin';
  if (isSafe(req)) {
    if (!isSameOrigin) return null;
  } else {
    requireConsoleRequest(req);
  }
  const { session, account } = await requireSession(services, token);
  const shown = req.headers[USER_HEADER];
  if (shown !== undefined && shown !== account.id) throw sessionEnded();
  await touch(services, session);
  const { id, expiresAt } = session;
  const principal = await principalOfAccount(services.db, account, isStillAdministrator(services, session));
  return { ...principal, scheme: 'session', session: { id, expiresAt } };
}

/** Checks that a page of another site cannot have sent the request. @throws 403 */
export function requireConsoleRequest({ headers }: IncomingMessage): void {
  if (headers['sec-fetch-site'] === 'same-origin' && headers[CONSOLE_HEADER] === '1') return;
  throw new ApiError(
    'cross_site_refused',
    'With the session cookie, a write needs the header X-Quartermaster-Console: 1 and has to come from a page of this origin.',
  );
}

/** The token in the session cookie; undefined if there is none. */
export function sessionToken({ publicUrl }: Pick<Services, 'publicUrl'>, req: IncomingMessage): string | undefined {
  if (req.headers.cookie === undefined) return undefined;
  const names = cookieNames(publicUrl);
  return names === null ? undefined : cookieOf(req, names.session);
}

/** @throws 401 for a session that is unknown, has expired, or was started with another identity provider */
export async function requireSession({ db, now, issuer }: Pick<AuthServices, 'db' | 'now' | 'issuer'>, token: string) {
  const found = await findConsoleSessionByToken(db, digestOf(token));
  if (!found || found.session.issuer !== issuer || isExpired(found.session, now())) throw sessionEnded();
  const { status } = found.account;
  if (status === 'deleted') throw sessionEnded();
  if (status === 'disabled') throw userDisabled();
  return found;
}

/** A session before it is stored. */
export type StartedSession = {
  userId: string;
  issuer: string;
  /** The claims of the user make them a platform administrator. */
  isAdministrator: boolean;
  userAgent: string | undefined;
  idToken: string | null;
};

/**
 * Starts a session. Returns it with the token for the cookie, and with the ids of older sessions that ended because the user
 * had too many. Only the digest of the token is stored.
 *
 * @throws 403 for a user who is disabled or deleted
 */
export async function startSession(
  trx: Database,
  { secrets, administrators }: Pick<AuthServices, 'secrets' | 'administrators'>,
  { userId, issuer, isAdministrator, userAgent, idToken }: StartedSession,
  now: Date,
): Promise<{ token: string; session: StoredConsoleSession; ended: string[] }> {
  // An administrator may have disabled or deleted the user since the identity provider said who they are.
  const account = await findAccount(trx, userId);
  if (!account || account.status === 'disabled' || account.status === 'deleted') throw userDisabled();
  const token = randomBytes(32).toString('base64url');
  const tokenDigest = digestOf(token);
  const { session, ended } = await insertConsoleSession(
    trx,
    {
      userId,
      issuer,
      administratorClaim: isAdministrator ? claimText(administrators) : null,
      userAgent: visibleLine((userAgent ?? '').toWellFormed())
        .slice(0, MAX_USER_AGENT_LENGTH)
        .toWellFormed(),
      tokenDigest,
      sealedIdToken: idToken === null ? null : secrets.seal(idToken, idTokenIdentity(tokenDigest)),
      expiresAt: new Date(now.getTime() + CONSOLE_MAX_HOURS * HOUR_MS),
    },
    { most: MAX_SESSIONS_PER_USER, now },
  );
  return { token, session, ended };
}

/** Decrypts the ID token of a session; null if there is none, or the secret key has changed since. */
export function idTokenOf(
  { secrets }: Pick<Services, 'secrets'>,
  { tokenDigest, sealedIdToken }: { tokenDigest: string; sealedIdToken: string | null },
): string | null {
  if (sealedIdToken === null) return null;
  try {
    return secrets.open(sealedIdToken, idTokenIdentity(tokenDigest));
  } catch {
    return null;
  }
}

/** The time before which a session must have been used last to be expired. */
export function idleSince(now: Date): Date {
  return new Date(now.getTime() - CONSOLE_IDLE_HOURS * HOUR_MS);
}

/** Removes expired sessions. Returns how many. */
export function removeExpiredSessions(services: Pick<Services, 'db' | 'now' | 'stopping'>): Promise<number> {
  return removeInBatches(services, BATCH_SIZE, (limit) => {
    const now = services.now();
    return deleteExpiredConsoleSessions(services.db, { now, lastUsedBefore: idleSince(now), limit });
  });
}

function isSafe({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

function isExpired({ expiresAt, lastUsedAt }: StoredConsoleSession, now: Date): boolean {
  return expiresAt <= now.toISOString() || lastUsedAt <= idleSince(now).toISOString();
}

/** Writes the time of last use. A failure is only logged. */
async function touch(
  { db, now: clock, log }: Pick<Services, 'db' | 'now' | 'log'>,
  { id, lastUsedAt }: StoredConsoleSession,
): Promise<void> {
  const now = clock();
  if (now.getTime() - Date.parse(lastUsedAt) < TOUCH_EVERY_MS) return;
  try {
    await touchConsoleSession(db, id, now);
  } catch (error) {
    log.warn({ err: error, sessionId: id }, 'last use of a console session was not written');
  }
}

/**
 * Whether the claim that made the user a platform administrator is the one that is configured now. An operator who changes or
 * removes it takes the rights away at once, as for bearer tokens.
 */
function isStillAdministrator(
  { administrators }: Pick<TrustedIssuer, 'administrators'>,
  { administratorClaim }: StoredConsoleSession,
): boolean {
  return administratorClaim !== null && administratorClaim === claimText(administrators);
}

function claimText(administrators: AdministratorClaim | null): string | null {
  return administrators && JSON.stringify([administrators.claim, administrators.value]);
}

/** SHA-256. The token is random, so a slow password hash is not needed. */
function digestOf(token: string): string {
  return hash('sha256', token);
}

function idTokenIdentity(tokenDigest: string): string {
  return `console_session_id_token:${tokenDigest}`;
}

export function sessionEnded(): ApiError {
  return new ApiError('session_ended', 'The session of the web console has ended. Sign in again.');
}
