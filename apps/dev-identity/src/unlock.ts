import type { Provider } from 'oidc-provider';
import { sendPage } from './page.ts';
import { errorPage, unlockedPage } from './pages.ts';
import type { SignInSecret } from './sign-in-secret.ts';

type Middleware = Parameters<Provider['use']>[0];

/** The part of a Koa context that the lock needs. */
type CookieContext = {
  cookies: {
    get: (name: string, options: { signed: boolean }) => string | undefined;
    set: (name: string, value: string, options: object) => unknown;
  };
};

/** Remembers which browsers have shown the secret of this start. They may sign in until the server ends. */
export type BrowserLock = {
  isUnlocked: (ctx: CookieContext) => boolean;
  unlock: (ctx: CookieContext) => void;
  /** Notes that the browser opened the link. Its next sign-in at the console then needs no further click. */
  welcome: (ctx: CookieContext) => void;
  /** Whether the browser opened the link a moment ago. True only once. */
  takeWelcome: (ctx: CookieContext) => boolean;
};

/** The client of the web console. It is a public one: PKCE protects its codes. */
export const CONSOLE_CLIENT_ID = 'quartermaster-console';

/** How long the browser may take from the link to the sign-in. */
const WELCOME_MS = 60_000;

export function createBrowserLock(secret: SignInSecret, issuer: string): BrowserLock {
  const { pathname, port } = new URL(issuer);
  // Cookies are not separated by port, so the name must differ from that of another server on this machine.
  const name = `qm_dev_sign_in_${port}`;
  const welcomeName = `qm_dev_welcome_${port}`;
  const options = { signed: false, httpOnly: true, sameSite: 'lax', path: pathname } as const;
  return {
    isUnlocked: (ctx) => secret.isCookie(ctx.cookies.get(name, { signed: false }) ?? ''),
    unlock: (ctx) => {
      ctx.cookies.set(name, secret.cookie, options);
    },
    welcome: (ctx) => {
      ctx.cookies.set(welcomeName, secret.cookie, { ...options, maxAge: WELCOME_MS });
    },
    takeWelcome: (ctx) => {
      const isWelcome = secret.isCookie(ctx.cookies.get(welcomeName, { signed: false }) ?? '');
      if (isWelcome) ctx.cookies.set(welcomeName, '', { ...options, maxAge: 0 });
      return isWelcome;
    },
  };
}

/**
 * `/sign-in?secret=...`: the link that a start prints. It unlocks the browser that opens it, and redirects to the web console.
 *
 * @param consoleSignIn the URL where the console starts a sign-in; null: shows a page that says that the browser is unlocked
 */
export function unlockLink(secret: SignInSecret, lock: BrowserLock, consoleSignIn: string | null): Middleware {
  return (ctx, next) => {
    if (ctx.path !== '/sign-in' || !['GET', 'HEAD'].includes(ctx.method)) return next();
    const given = ctx.query['secret'];
    if (typeof given !== 'string' || !secret.isSecret(given)) {
      ctx.status = 403;
      return sendPage(ctx, errorPage({ code: 'secret_required', description: secretRequired(secret) }));
    }
    lock.unlock(ctx);
    if (consoleSignIn === null) return sendPage(ctx, unlockedPage());
    lock.welcome(ctx);
    ctx.redirect(consoleSignIn);
    ctx.status = 303;
    return undefined;
  };
}

/** A program sends the secret in this header. */
export const SECRET_HEADER = 'quartermaster-sign-in-secret';

/**
 * Starting the device flow (RFC 8628) needs the secret, too. The program that starts it gets the tokens, so an attacker could
 * otherwise start it and trick a person with an unlocked browser into confirming it.
 *
 * It replaces the response afterwards, because only the library knows which spellings of a path are this endpoint.
 */
export function deviceSecret(secret: SignInSecret): Middleware {
  return async (ctx, next) => {
    await next();
    if (ctx.oidc?.route !== 'device_authorization' || secret.isSecret(ctx.get(SECRET_HEADER))) return;
    ctx.status = 403;
    const description = `the header ${SECRET_HEADER} has to hold the secret in ${secret.file}`;
    ctx.body = { error: 'access_denied', error_description: description };
  };
}

/** Tells a person without the secret how to get it. */
export function secretRequired({ file }: SignInSecret): string {
  return `A sign-in needs the secret of this start. Open the link that the server printed when it started, or copy the secret from ${file}.`;
}
