import type { Provider } from 'oidc-provider';
import { sendPage } from './page.ts';
import { errorPage, unlockedPage } from './pages.ts';
import type { SignInSecret } from './sign-in-secret.ts';

type Middleware = Parameters<Provider['use']>[0];

/** What is needed of a Koa context. */
type CookieContext = {
  cookies: {
    get: (name: string, options: { signed: boolean }) => string | undefined;
    set: (name: string, value: string, options: object) => unknown;
  };
};

/** Lets a browser sign in that has shown the secret of this start, until the server ends. */
export type BrowserLock = {
  isUnlocked: (ctx: CookieContext) => boolean;
  unlock: (ctx: CookieContext) => void;
};

export function createBrowserLock(secret: SignInSecret, issuer: string): BrowserLock {
  const { pathname, port } = new URL(issuer);
  // Cookies do not keep to a port: the name has to differ from that of another server on this machine.
  const name = `qm_dev_sign_in_${port}`;
  return {
    isUnlocked: (ctx) => secret.isCookie(ctx.cookies.get(name, { signed: false }) ?? ''),
    unlock: (ctx) => {
      ctx.cookies.set(name, secret.cookie, { signed: false, httpOnly: true, sameSite: 'lax', path: pathname });
    },
  };
}

/** `/sign-in?secret=...`: the link that a start prints. It unlocks the browser that opens it. */
export function unlockLink(secret: SignInSecret, lock: BrowserLock): Middleware {
  return (ctx, next) => {
    if (ctx.path !== '/sign-in' || !['GET', 'HEAD'].includes(ctx.method)) return next();
    const given = ctx.query['secret'];
    if (typeof given !== 'string' || !secret.isSecret(given)) {
      ctx.status = 403;
      return sendPage(ctx, errorPage({ code: 'secret_required', description: secretRequired(secret) }));
    }
    lock.unlock(ctx);
    return sendPage(ctx, unlockedPage());
  };
}

/** A program sends the secret in this header. */
export const SECRET_HEADER = 'quartermaster-sign-in-secret';

/**
 * Starting a device (RFC 8628) needs the secret, too. The tokens go to the program that starts it, so an outsider could
 * otherwise start one and talk a person with an unlocked browser into confirming it.
 *
 * The answer is replaced, because the library decides which spellings of a path are this endpoint.
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

/** What a person has to do who signs in without the secret. */
export function secretRequired({ file }: SignInSecret): string {
  return `A sign-in needs the secret of this start. Open the link that npm start printed, or copy the secret from ${file}.`;
}
