import { generateKeyPair, randomBytes } from 'node:crypto';
import type * as http from 'node:http';
import { promisify } from 'node:util';
import type { Configuration, JWK } from 'oidc-provider';
import { errors, Provider } from 'oidc-provider';
import type { Accounts, DevAccount } from './accounts.ts';
import { createAccounts } from './accounts.ts';
import { interactionPages } from './interaction.ts';
import { memoryAdapter } from './memory-adapter.ts';
import { sendPage } from './page.ts';
import { confirmPage, errorPage, successPage, userCodePage } from './pages.ts';
import { refusal } from './refusal.ts';
import { createSignInSecret, SECRET_FILE_MEMBER } from './sign-in-secret.ts';
import { CONSOLE_CLIENT_ID, createBrowserLock, deviceSecret, unlockLink } from './unlock.ts';
import { userinfoForAccessTokens } from './userinfo.ts';

export type { DevAccount };

export type DevIdentity = {
  /** Mount with `app.use('/oidc', devIdentity.handle)`, before any body parser: the provider reads its own bodies. */
  handle: (req: http.IncomingMessage, res: http.ServerResponse) => void;
  issuer: string;
  clientId: string;
  /** The client id of the web console; null if there is no console. */
  consoleClientId: string | null;
  /** The file with the secret of this start. Only its owner can read it. */
  secretFile: string;
  /** Unlocks the browser that opens it. It contains the secret, so show it on a terminal, and never in a log. */
  signInLink: string;
  /** Removes the secret's file. */
  close: () => Promise<void>;
};

/**
 * The development OpenID provider: anyone who knows the secret of this start can sign in as any email. The secret is in a
 * file of mode 0600. Even so, the provider must only listen on loopback. Keys, sessions and tokens are in memory, and end with
 * the process. The subject of an email is the same after a restart. For the API it is an issuer like any other: RFC 9068
 * access tokens (`at+jwt`, ES256), OpenID Connect Discovery, JWKS, the device grant (RFC 8628).
 *
 * `issuer` is the full URL with the mount path; `allowedHosts` are values of the Host header, with ports; `secretFile` is the
 * absolute path of a file that this function creates.
 *
 * @throws a system error if the file cannot be written
 */
export async function createDevIdentity(options: {
  issuer: string;
  audience: string;
  allowedHosts: readonly string[];
  accounts: readonly DevAccount[];
  secretFile: string;
  /** The web console's URLs: one that receives codes, and one that starts a sign-in. */
  console?: { callback: string; signIn: string };
  clientId?: string;
  tokenTtlSeconds?: number;
}): Promise<DevIdentity> {
  const { issuer, audience, clientId = 'quartermaster-dev', tokenTtlSeconds = 3600 } = options;
  const mountPath = new URL(issuer).pathname.replace(/\/$/, '');
  const allowedHosts = new Set(options.allowedHosts.map((host) => host.toLowerCase()));
  const accounts = createAccounts(options.accounts);
  // A resource indicator has to be an absolute URI (RFC 8707). An audience need not be one.
  const consoleClient = options.console ?? null;
  const resource = URL.canParse(audience) ? audience : 'urn:quartermaster:api';

  const { privateKey, publicKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });
  const secret = await createSignInSecret({ file: options.secretFile, issuer });
  const lock = createBrowserLock(secret, issuer);
  const signingKey = { ...privateKey.export({ format: 'jwk' }), kid: randomBytes(8).toString('hex') } as JWK;

  const provider = new Provider(
    issuer,
    configuration({
      mountPath,
      audience,
      resource,
      clientId,
      tokenTtlSeconds,
      accounts,
      signingKey,
      secretFile: secret.file,
      consoleCallback: consoleClient?.callback ?? null,
    }),
  );
  provider.use(responseHeaders);
  provider.use(prefillUserCode);
  provider.use(deviceSecret(secret));
  provider.use(unlockLink(secret, lock, consoleClient?.signIn ?? null));
  provider.use(interactionPages({ provider, accounts, resource, secret, lock }));
  provider.use(userinfoForAccessTokens({ publicKey, issuer, audience, accounts }));
  // The library answers its own bugs with a bare `server_error`, without logging them.
  provider.on('server_error', (_ctx, error: Error) => process.emitWarning(error));

  const callback = provider.callback();
  return {
    issuer,
    clientId,
    consoleClientId: consoleClient && CONSOLE_CLIENT_ID,
    secretFile: secret.file,
    signInLink: `${issuer}/sign-in?secret=${secret.text}`,
    close: secret.remove,
    handle(req, res) {
      withoutMountPath(req, mountPath);
      const reason = refusal(req, allowedHosts);
      if (reason === undefined) {
        void callback(req, res);
        return;
      }
      res.writeHead(403, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' });
      res.end(`${reason}\n`);
    },
  };
}

const DAY_SECONDS = 24 * 60 * 60;
const SCOPES = 'openid email profile offline_access';

function configuration({
  mountPath,
  audience,
  resource,
  clientId,
  tokenTtlSeconds,
  accounts,
  signingKey,
  secretFile,
  consoleCallback,
}: {
  mountPath: string;
  audience: string;
  resource: string;
  clientId: string;
  tokenTtlSeconds: number;
  accounts: Accounts;
  signingKey: JWK;
  secretFile: string;
  consoleCallback: string | null;
}): Configuration {
  return {
    discovery: { [SECRET_FILE_MEMBER]: secretFile },
    adapter: memoryAdapter(),
    jwks: { keys: [{ ...signingKey, alg: 'ES256', use: 'sig' }] },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    clients: [
      {
        client_id: clientId,
        client_name: 'Quartermaster',
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        id_token_signed_response_alg: 'ES256',
        // RFC 8252 section 7.3: the client chooses the port of a loopback redirect at the time of the request.
        redirect_uris: ['http://127.0.0.1/callback'],
        response_types: ['code'],
        grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      },
      ...(consoleCallback === null
        ? []
        : [
            {
              client_id: CONSOLE_CLIENT_ID,
              client_name: 'Quartermaster console',
              token_endpoint_auth_method: 'none' as const,
              id_token_signed_response_alg: 'ES256' as const,
              redirect_uris: [consoleCallback],
              response_types: ['code' as const],
              grant_types: ['authorization_code'],
            },
          ]),
    ],
    pkce: { required: () => true },
    responseTypes: ['code'],
    scopes: SCOPES.split(' '),
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    findAccount: (_ctx, sub) => {
      const account = accounts.find(sub);
      return account && { accountId: sub, claims: () => ({ sub, ...accounts.claims(account) }) };
    },
    extraTokenClaims: (_ctx, token) => {
      const account = 'accountId' in token ? accounts.find(token.accountId) : undefined;
      return account && accounts.claims(account);
    },
    clientBasedCORS: (_ctx, origin) => URL.parse(origin)?.hostname === '127.0.0.1',
    cookies: {
      keys: [randomBytes(32).toString('hex')],
      // Cookies are not separated by port, so the names must differ from those of other programs on this machine.
      names: { interaction: 'qm_dev_interaction', resume: 'qm_dev_resume', session: 'qm_dev_session' },
      long: { httpOnly: true, sameSite: 'lax', path: mountPath || '/' },
      short: { httpOnly: true, sameSite: 'lax' },
    },
    interactions: { url: (_ctx, interaction) => `${mountPath}/interaction/${interaction.uid}` },
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      deviceFlow: {
        enabled: true,
        userCodeInputSource: (ctx, _form, _out, error) => {
          const code = error && 'userCode' in error ? error.userCode : ctx.state[PREFILLED_CODE];
          sendPage(
            ctx,
            userCodePage({
              action: `${mountPath}/device`,
              xsrf: xsrfOf(ctx.oidc.session),
              userCode: typeof code === 'string' ? code : '',
              problem: error && userCodeProblem(error.name),
            }),
          );
        },
        userCodeConfirmSource: (ctx, _form, client, _deviceInfo, userCode) => {
          sendPage(
            ctx,
            confirmPage({
              action: `${mountPath}/device`,
              xsrf: xsrfOf(ctx.oidc.session),
              userCode,
              clientName: client.clientName ?? client.clientId,
            }),
          );
        },
        successSource: (ctx) => sendPage(ctx, successPage()),
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        // Otherwise the library issues an opaque token, which is valid only for the userinfo endpoint.
        useGrantedResource: () => true,
        getResourceServerInfo: (_ctx, indicator) => {
          if (indicator !== resource) throw new errors.InvalidTarget();
          return { audience, scope: SCOPES, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } } };
        },
      },
    },
    renderError: (ctx, out) => sendPage(ctx, errorPage({ code: out.error, description: out.error_description })),
    // All are set, because the library prints a notice for each default that it uses.
    ttl: {
      AccessToken: tokenTtlSeconds,
      IdToken: tokenTtlSeconds,
      AuthorizationCode: 60,
      DeviceCode: 600,
      Interaction: 3600,
      RefreshToken: 14 * DAY_SECONDS,
      Session: 14 * DAY_SECONDS,
      Grant: 14 * DAY_SECONDS,
    },
  };
}

type Middleware = Parameters<Provider['use']>[0];

const BASE_POLICY =
  "default-src 'none'; script-src; form-action 'self' http://127.0.0.1:*; frame-ancestors 'none'; base-uri 'none'";

const PREFILLED_CODE = 'prefilledUserCode';

/**
 * `script-src` is empty, which allows no script. It must be present: for `response_mode=form_post` the library answers with a
 * page that submits itself, and adds the digest of that script to the directive.
 */
const responseHeaders: Middleware = (ctx, next) => {
  ctx.set('Content-Security-Policy', BASE_POLICY);
  ctx.set('X-Content-Type-Options', 'nosniff');
  ctx.set('X-Frame-Options', 'DENY');
  // Not `no-referrer`: browsers would then send `Origin: null` with our own forms.
  ctx.set('Referrer-Policy', 'same-origin');
  return next();
};

/**
 * For `/device?user_code=...` the library submits the code with a script. This provider only fills in the field, and the
 * person presses the button (by RFC 8628 section 3.3.1 they should compare the code anyway).
 */
const prefillUserCode: Middleware = (ctx, next) => {
  if (ctx.method === 'GET' && ctx.path === '/device' && 'user_code' in ctx.query) {
    ctx.state[PREFILLED_CODE] = ctx.query.user_code;
    ctx.querystring = '';
  }
  return next();
};

function userCodeProblem(errorName: string): string {
  switch (errorName) {
    case 'NoCodeError':
      return 'Enter the code that your device shows.';
    case 'NotFoundError':
      return 'This code is not known. Compare it with your device.';
    case 'ExpiredError':
      return 'This code has expired. Start again on your device.';
    case 'AlreadyUsedError':
      return 'This code was used before. Start again on your device.';
    case 'AbortedError':
      return 'The sign-in was cancelled. You may close this page.';
    default:
      return 'The sign-in could not be completed. Start again on your device.';
  }
}

function xsrfOf(session: { state?: Record<string, unknown> | undefined } | undefined): string {
  const secret = session?.state?.['secret'];
  return typeof secret === 'string' ? secret : '';
}

/** Removes the mount path. Express has already removed it if `baseUrl` is set; a bare `http.Server` has not. */
function withoutMountPath(req: http.IncomingMessage & { baseUrl?: string }, mountPath: string): void {
  if (req.baseUrl || !mountPath || !req.url?.startsWith(mountPath)) return;
  const rest = req.url.slice(mountPath.length);
  if (rest === '' || rest.startsWith('?')) req.url = `/${rest}`;
  else if (rest.startsWith('/')) req.url = rest;
}
