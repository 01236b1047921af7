import { hash } from 'node:crypto';
import type { ServiceAction } from '@quartermaster/contracts/audit-operations.ts';
import { CONSOLE_MAX_HOURS } from '@quartermaster/contracts/console-sessions.ts';
import { deleteConsoleSession } from '@quartermaster/db/repositories/console-sessions.ts';
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import { callerRequestIdOf, requestIdOf } from '../../platform/request-id.ts';
import { auditedWrite } from '../../platform/audit/audited-write.ts';
import { basePathOf, withoutBasePath } from '../../platform/base-path.ts';
import { ApiError } from '../../platform/errors.ts';
import { claimOf, isAdministratorByClaim } from '../administrator-claim.ts';
import { accountOfIdentity, principalOfAccount } from '../users.ts';
import { emailIn, emailInSources, type EmailRules } from '../token-email.ts';
import { type CookieNames, cookieNames, cookieOf, setCookie, surplusSignIns } from '../console-cookies.ts';
import type { AuthServices } from '../trusted-issuer.ts';
import type { IdentityProvider, PendingSignIn } from './identity-provider.ts';
import { signInFailedPage, signedOutPage } from './pages.ts';
import { idTokenOf, requireConsoleRequest, requireSession, sessionToken, startSession } from '../console-sessions.ts';

/** Time limit for a person to sign in at the identity provider, in seconds. */
const SIGN_IN_SECONDS = 15 * 60;

/** The name of the event for a session that a sign-in ended because its user had too many. */
const END_OLDEST = 'end_oldest_console_session';

const HOME = '/console/';

/** Longest path to return to, encoded. The cookie contains it, and browsers drop cookies of more than 4,096 bytes. */
const MAX_RETURN_TO = 2000;

const SIGNED_OUT = '/console/signed-out';

/** `former`: the session that the browser had. The cookie is not sent with the redirect from another site. */
type Pending = PendingSignIn & { returnTo: string; startedAt: number; former?: Session | null };
type Session = { userId: string; id: string };

type Options = {
  services: AuthServices;
  /** Null: no client of an identity provider is configured. */
  provider: IdentityProvider | null;
  emails: EmailRules;
  /** Called with the token of each session that starts. */
  onSignedIn: (token: string) => void;
};

/**
 * Sign-in for browsers: the service is the client of the identity provider (a backend-for-frontend, RFC 10017), and the browser
 * gets a session cookie. No token ever reaches the browser. Mounted at `/console`.
 */
export function consoleSignIn({ services, provider, emails, onSignedIn }: Options): Router {
  const { publicUrl } = services;
  const router = express.Router();
  const names = cookieNames(publicUrl);
  const basePath = basePathOf(publicUrl);

  router.get(
    '/sign-in',
    asPage(services, async (req, res) => {
      const on = requireSwitchedOn(provider, names);
      const query = queryOf(req);
      const returnTo = safeReturnTo(withoutBasePath(basePath, query.get('returnTo') ?? HOME));
      // The cookie of the sign-in has to be there when the identity provider sends the browser back to the public URL.
      if (req.headers.host !== new URL(publicUrl).host && !query.has('redirected')) {
        query.set('redirected', '1');
        res.redirect(303, `${publicUrl}/console/sign-in?${query.toString()}`);
        return;
      }
      const prompt = query.get('prompt') === 'login' ? 'login' : null;
      const { url, pending } = await on.provider.authorizationUrl(prompt);
      const former = await formerSession(services, req);
      const stored: Pending = { ...pending, returnTo, startedAt: services.now().getTime(), former };
      const value = services.secrets.seal(JSON.stringify(stored), pendingIdentity(pending.state));
      const attributes = { secure: on.names.secure, sameSite: 'Lax', maxAge: SIGN_IN_SECONDS } as const;
      for (const name of surplusSignIns(req, on.names)) {
        res.append('Set-Cookie', setCookie(name, '', { ...attributes, maxAge: 0 }));
      }
      res.append('Set-Cookie', setCookie(on.names.signIn(pending.state), value, attributes));
      res.redirect(303, url.href);
    }),
  );

  router.get(
    '/callback',
    asPage(services, async (req, res) => {
      const on = requireSwitchedOn(provider, names);
      const state = queryOf(req).get('state') ?? '';
      const cookie = on.names.signIn(state);
      const pending = openPending(services, { state, value: cookieOf(req, cookie) });
      res.append('Set-Cookie', setCookie(cookie, '', { secure: on.names.secure, sameSite: 'Lax', maxAge: 0 }));
      const token = await signIn({ services, provider: on.provider, emails }, req, { res, pending });
      onSignedIn(token);
      const attributes = { secure: on.names.secure, sameSite: 'Strict', maxAge: CONSOLE_MAX_HOURS * 3600 } as const;
      res.append('Set-Cookie', setCookie(on.names.session, token, attributes));
      res.redirect(303, publicUrl + pending.returnTo);
    }),
  );

  router.get('/signed-out', (_req, res) => {
    sendPage(res, 200, signedOutPage(publicUrl));
  });

  router.get('/session', sessionHandler(services));

  router.post('/sign-out', signOutHandler({ services, provider, names }));

  for (const [path, allowed] of [
    ['/sign-in', 'GET, HEAD'],
    ['/callback', 'GET, HEAD'],
    ['/signed-out', 'GET, HEAD'],
    ['/session', 'GET, HEAD'],
    ['/sign-out', 'POST'],
  ] as const) {
    router.all(path, () => {
      throw new ApiError('method_not_allowed', `This path takes ${allowed}.`, { headers: { Allow: allowed } });
    });
  }
  return router;
}

/** @throws ApiError `console_sign_in_off` */
function requireSwitchedOn(
  provider: IdentityProvider | null,
  names: CookieNames | null,
): { provider: IdentityProvider; names: CookieNames } {
  if (provider === null) {
    throw new ApiError(
      'console_sign_in_off',
      'No client of an identity provider is configured. An operator has to set QM_OIDC_ISSUER and QM_OIDC_CLIENT_ID.',
    );
  }
  if (names === null) {
    throw new ApiError(
      'console_sign_in_off',
      'Browsers sign in over https only. An operator has to set QM_PUBLIC_URL to an https address.',
    );
  }
  return { provider, names };
}

/**
 * Answers whether the browser has a session. The page asks this before anything else, because browsers write every 401 to the
 * console as an error.
 */
function sessionHandler(services: AuthServices): RequestHandler {
  return async (req, res) => {
    res.set('Cache-Control', 'no-store').json({ signedIn: await isSignedIn(services, req) });
  };
}

/** A session of a disabled user counts: the API tells that user why it refuses. */
async function isSignedIn(services: AuthServices, req: Request): Promise<boolean> {
  const token = sessionToken(services, req);
  if (token === undefined) return false;
  try {
    await requireSession(services, token);
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.status !== 401;
  }
}

/** Answers where the browser has to go: to the sign-out of the identity provider, or to a page of ours. */
function signOutHandler({
  services,
  provider,
  names,
}: Pick<Options, 'services' | 'provider'> & { names: CookieNames | null }): RequestHandler {
  return async (req, res) => {
    requireConsoleRequest(req);
    const idToken = await signOut(services, req, res);
    if (names !== null) {
      res.append('Set-Cookie', setCookie(names.session, '', { secure: names.secure, sameSite: 'Strict', maxAge: 0 }));
    }
    const signedOut = services.publicUrl + SIGNED_OUT;
    // The session has ended already, even if the identity provider does not answer.
    const elsewhere = await provider?.signOutUrl(idToken, signedOut).catch((error: unknown) => {
      services.log.warn({ err: error }, 'the identity provider could not be asked for its sign-out');
      return null;
    });
    res.set('Cache-Control', 'no-store').json({ location: elsewhere?.href ?? signedOut });
  };
}

type Needs = { services: AuthServices; provider: IdentityProvider; emails: EmailRules };

/** Redeems the code, finds the user, and starts a session. Returns the token for the cookie. */
async function signIn(
  { services, provider, emails }: Needs,
  req: Request,
  { res, pending }: { res: Response; pending: Pending },
): Promise<string> {
  const { db, issuer } = services;
  if (issuer === null) throw new Error('a sign-in without an issuer');
  const { administrators } = services;
  const { emailClaim, trustsEmails } = emails;
  const hasEmail = (claims: Record<string, unknown>) => {
    const email = emailIn(claims, emailClaim);
    return email !== null && (email.verified !== null || trustsEmails);
  };
  const suffice = (claims: Record<string, unknown>) =>
    hasEmail(claims) && (administrators === null || claimOf(claims, administrators.claim) !== undefined);
  const query = queryOf(req).toString();
  const { subject, idClaims, userinfoClaims, idToken } = await provider.redeem(query, pending, suffice);
  const request = { requestId: requestIdOf(res), callerRequestId: callerRequestIdOf(req) };
  const account = await accountOfIdentity(services, {
    identity: { issuer, subject },
    email: async () => emailInSources([idClaims, userinfoClaims], emails),
    whyNoEmail: async () =>
      `Neither the ID token nor the userinfo endpoint of the identity provider has the claim ${emailClaim}.`,
    request,
  });
  const former = pending.former ?? (await formerSession(services, req));
  const principal = { ...(await principalOfAccount(db, account)), scheme: 'session' as const };
  const ctx = { services, ...request, principal, operation: { operationId: 'sign_in' satisfies ServiceAction } };
  return auditedWrite(ctx, async (trx, record, now) => {
    // A browser has only one session.
    if (former) await deleteConsoleSession(trx, former);
    const { token, session, ended } = await startSession(
      trx,
      services,
      {
        userId: account.id,
        issuer,
        // The claims of the signed ID token take precedence.
        isAdministrator: isAdministratorByClaim(administrators, { ...userinfoClaims, ...idClaims }),
        userAgent: req.headers['user-agent'],
        idToken,
      },
      now,
    );
    for (const id of ended) record({ operation: END_OLDEST, place: null, target: { type: 'console_session', id } });
    record({ place: null, target: { type: 'console_session', id: session.id } });
    return token;
  });
}

/** Ends the session of the request's cookie. Returns its ID token, if there is one. */
async function signOut(services: AuthServices, req: Request, res: Response): Promise<string | null> {
  const token = sessionToken(services, req);
  const found = token === undefined ? null : await requireSession(services, token).catch(nullIfRefused);
  if (found === null) return null;
  const { session, account } = found;
  const principal = { ...(await principalOfAccount(services.db, account)), scheme: 'session' as const };
  const request = { requestId: requestIdOf(res), callerRequestId: callerRequestIdOf(req) };
  const ctx = { services, ...request, principal, operation: { operationId: 'sign_out' satisfies ServiceAction } };
  return auditedWrite(ctx, async (trx, record) => {
    const ended = await deleteConsoleSession(trx, { userId: account.id, id: session.id });
    if (!ended) return null;
    record({ place: null, target: { type: 'console_session', id: session.id } });
    return idTokenOf(services, ended);
  });
}

/** The session that the browser already has, if any. */
async function formerSession(services: AuthServices, req: Request): Promise<Session | null> {
  const token = sessionToken(services, req);
  const found = token === undefined ? null : await requireSession(services, token).catch(nullIfRefused);
  return found && { userId: found.account.id, id: found.session.id };
}

/** Null for a session that has ended. If the database is unavailable, the error is thrown: the session may still be valid. */
function nullIfRefused(error: unknown): null {
  if (error instanceof ApiError) return null;
  throw error;
}

/** @throws 401 if the cookie of the sign-in is missing, too old, or belongs to another sign-in */
function openPending(services: AuthServices, { state, value }: { state: string; value: string | undefined }): Pending {
  const expired = new ApiError(
    'credentials_invalid',
    'This sign-in has expired, or was started in another browser. Start again.',
  );
  if (value === undefined || state === '') throw expired;
  let pending: Pending;
  try {
    pending = JSON.parse(services.secrets.open(value, pendingIdentity(state))) as Pending;
  } catch {
    throw expired;
  }
  if (services.now().getTime() - pending.startedAt > SIGN_IN_SECONDS * 1000) throw expired;
  return pending;
}

/** The associated data of the cookie, which binds it to the state that the callback has to return. */
function pendingIdentity(state: string): string {
  return `console_sign_in:${hash('sha256', state, 'base64url')}`;
}

/** The given path if it belongs to the console, else its start page. Otherwise a link could redirect to another site. */
function safeReturnTo(given: string): string {
  if (!given.startsWith(HOME) || /[\\\p{Cc}]/u.test(given)) return HOME;
  const url = URL.parse(given, 'http://localhost');
  if (url === null || url.host !== 'localhost' || !url.pathname.startsWith(HOME)) return HOME;
  const path = url.pathname + url.search + url.hash;
  return path.length <= MAX_RETURN_TO ? path : HOME;
}

function queryOf({ url }: Request): URLSearchParams {
  const at = url.indexOf('?');
  return new URLSearchParams(at < 0 ? '' : url.slice(at + 1));
}

/** Answers errors with an HTML page, because a person sees them. */
function asPage(services: AuthServices, handle: (req: Request, res: Response) => Promise<void>): RequestHandler {
  return async (req, res) => {
    res.set('Cache-Control', 'no-store');
    // The URL contains the code and the state, so it must not be sent as Referer.
    res.set('Referrer-Policy', 'no-referrer');
    try {
      await handle(req, res);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const requestId = requestIdOf(res);
      services.log.warn({ err: error.cause ?? error, requestId, reason: error.reason }, 'a browser sign-in failed');
      sendPage(res, error.status, signInFailedPage(services.publicUrl, { ...error.problem(requestId) }));
    }
  };
}

function sendPage(res: Response, status: number, html: string): void {
  res.status(status).set('Cache-Control', 'no-store').type('html').send(html);
}
