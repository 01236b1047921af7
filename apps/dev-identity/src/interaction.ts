import type * as http from 'node:http';
import type { Provider } from 'oidc-provider';
import { errors } from 'oidc-provider';
import type { Accounts } from './accounts.ts';
import { parseEmail } from './accounts.ts';
import { sendPage } from './page.ts';
import { errorPage, signInPage } from './pages.ts';
import type { SignInSecret } from './sign-in-secret.ts';
import { type BrowserLock, CONSOLE_CLIENT_ID, secretRequired } from './unlock.ts';

/**
 * `/interaction/:uid`, the page between an authorization request and its code. Sign-in and consent are one step: all clients
 * are our own, so choosing an account grants everything that the client requests. Every token requires a form that was sent
 * to this page, and each form needs the secret of this start: the secret itself, or the cookie of a browser that has shown it.
 * So a caller who comes through a proxy gets no token, even if the proxy makes the request look local.
 */
export function interactionPages({
  provider,
  accounts,
  resource,
  secret,
  lock,
}: {
  provider: Provider;
  accounts: Accounts;
  resource: string;
  secret: SignInSecret;
  lock: BrowserLock;
}): Parameters<Provider['use']>[0] {
  return async (ctx, next) => {
    const uid = /^\/interaction\/([\w-]+)$/.exec(ctx.path)?.[1];
    if (uid === undefined || !['GET', 'HEAD', 'POST'].includes(ctx.method)) return next();

    try {
      const interaction = await provider.interactionDetails(ctx.req, ctx.res);
      if (interaction.uid !== uid) throw new errors.SessionNotFound('interaction and cookie do not match');

      let isUnlocked = lock.isUnlocked(ctx);
      const show = (problem?: string, typed?: string) => {
        const { redirect_uri: redirectUri, login_hint: loginHint } = interaction.params;
        sendPage(
          ctx,
          signInPage({
            accounts: accounts.seeded,
            current: accounts.find(interaction.session?.accountId ?? ''),
            email: typed ?? (typeof loginHint === 'string' ? loginHint : ''),
            problem,
            destination: originOf(redirectUri),
            isUnlocked,
          }),
          { formTarget: originOf(redirectUri) },
        );
      };
      const signIn = async (email: string) => {
        const accountId = accounts.signIn(email);
        if (interaction.session && interaction.session.accountId !== accountId) {
          await endSession(provider, interaction);
        }
        const grantId = await grantEverything({ provider, interaction, accountId, resource });
        const result = { login: { accountId }, consent: { grantId } };
        return redirect(await provider.interactionResult(ctx.req, ctx.res, result, REPLACE));
      };
      if (ctx.method !== 'POST') {
        const [first] = accounts.seeded;
        const isOfConsole = interaction.params['client_id'] === CONSOLE_CLIENT_ID;
        const isWelcome = ctx.method === 'GET' && isOfConsole && isUnlocked && lock.takeWelcome(ctx);
        return isWelcome && first ? signIn(first.email) : show();
      }

      const form = await readForm(ctx.req);
      if (form === undefined) {
        ctx.status = 400;
        return sendPage(ctx, errorPage({ code: 'invalid_request', description: 'not a form, or too long' }));
      }

      if (form.has('abort')) {
        const aborted = { error: 'access_denied', error_description: 'the sign-in was cancelled' };
        return redirect(await provider.interactionResult(ctx.req, ctx.res, aborted, REPLACE));
      }

      const given = form.get('secret');
      if (!isUnlocked && !secret.isSecret(given ?? '')) {
        ctx.status = 403;
        return show(given === null ? secretRequired(secret) : 'This is not the secret of this start.');
      }
      if (!isUnlocked) {
        lock.unlock(ctx);
        isUnlocked = true;
        if (!form.has('email')) return show();
      }

      const typed = form.get('email') ?? '';
      const email = parseEmail(typed);
      if (email === undefined) {
        ctx.status = 400;
        return show('Enter an email address, such as name@example.com.', typed);
      }

      return await signIn(email);
    } catch (error) {
      if (!(error instanceof errors.SessionNotFound)) throw error;
      ctx.status = 400;
      const description = 'This sign-in has expired, or was started in another browser. Start again.';
      return sendPage(ctx, errorPage({ code: error.message, description }));
    }

    function redirect(location: string): void {
      ctx.redirect(location);
      ctx.status = 303;
    }
  };
}

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

const REPLACE = { mergeWithLastSubmission: false };
const FORM_BYTES_MAX = 16 * 1024;

/**
 * When the account changes, the library would first log the other one out, through a page that submits itself with a script.
 * Ending that session here, and detaching the interaction from it, has the same effect without a script.
 */
async function endSession(provider: Provider, interaction: Interaction): Promise<void> {
  const session = await provider.Session.findByUid(interaction.session?.uid ?? '');
  await session?.destroy();
  interaction.session = undefined;
  await interaction.persist();
}

async function grantEverything({
  provider,
  interaction,
  accountId,
  resource,
}: {
  provider: Provider;
  interaction: Interaction;
  accountId: string;
  resource: string;
}): Promise<string> {
  const { client_id: clientId, scope } = interaction.params;
  const grant = new provider.Grant({ accountId, clientId: String(clientId) });
  if (typeof scope === 'string') {
    grant.addOIDCScope(scope);
    grant.addResourceScope(resource, scope);
  }
  return grant.save();
}

/** The library has checked that the redirect URI belongs to the client. The device flow has none. */
function originOf(redirectUri: unknown): string | undefined {
  return typeof redirectUri === 'string' ? URL.parse(redirectUri)?.origin : undefined;
}

/** Undefined if the body is not a form, or longer than any of our forms. */
async function readForm(req: http.IncomingMessage): Promise<URLSearchParams | undefined> {
  if (!/^application\/x-www-form-urlencoded\b/i.test(req.headers['content-type'] ?? '')) return undefined;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of req.iterator({ destroyOnReturn: false })) {
    length += chunk.length;
    if (length > FORM_BYTES_MAX) return undefined;
    chunks.push(chunk);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString());
}
