import type { KeyObject } from 'node:crypto';
import { verify } from 'node:crypto';
import type { Provider } from 'oidc-provider';
import type { Accounts } from './accounts.ts';

/**
 * The library's userinfo endpoint takes opaque tokens only, and refuses any that has an audience. Resource servers
 * ask it with the token that they were given, and real providers answer: so here the JWTs are answered, and
 * everything else is left to the library.
 */
export function userinfoForAccessTokens({
  publicKey,
  issuer,
  audience,
  accounts,
}: {
  publicKey: KeyObject;
  issuer: string;
  audience: string;
  accounts: Accounts;
}): Parameters<Provider['use']>[0] {
  return (ctx, next) => {
    const token = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(ctx.get('authorization'))?.[1];
    if (ctx.path !== '/me' || !['GET', 'POST'].includes(ctx.method) || token === undefined) return next();

    ctx.set('Cache-Control', 'no-store');
    ctx.vary('Origin');
    const origin = ctx.get('origin');
    if (URL.parse(origin)?.hostname === '127.0.0.1') ctx.set('Access-Control-Allow-Origin', origin);

    const claims = verifiedClaims(token, publicKey);
    const current =
      claims?.iss === issuer && claims.aud === audience && Number(claims.exp) > Date.now() / 1000 ? claims : undefined;
    const account = current && accounts.find(String(current.sub));
    if (current === undefined || account === undefined) {
      ctx.status = 401;
      ctx.set('WWW-Authenticate', 'Bearer error="invalid_token"');
      ctx.body = { error: 'invalid_token', error_description: 'invalid token provided' };
      return;
    }

    const scopes = new Set(String(current.scope ?? '').split(' '));
    if (!scopes.has('openid')) {
      ctx.status = 403;
      ctx.set('WWW-Authenticate', 'Bearer error="insufficient_scope", scope="openid"');
      ctx.body = { error: 'insufficient_scope', error_description: 'access token missing openid scope' };
      return;
    }

    const { name, ...email } = accounts.claims(account);
    ctx.body = { sub: current.sub, ...(scopes.has('email') ? email : {}), ...(scopes.has('profile') ? { name } : {}) };
  };
}

type AccessTokenClaims = { iss?: unknown; aud?: unknown; sub?: unknown; exp?: unknown; scope?: unknown };

/** The claims of an access token that this process signed. ID tokens, signed with the same key, are told by `typ`. */
function verifiedClaims(token: string, publicKey: KeyObject): AccessTokenClaims | undefined {
  const [header = '', payload = '', signature = ''] = token.split('.');
  const key = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const;
  const signed = Buffer.from(`${header}.${payload}`);
  if (!verify('sha256', signed, key, Buffer.from(signature, 'base64url'))) return undefined;
  return decode(header)['typ'] === 'at+jwt' ? decode(payload) : undefined;
}

function decode(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
}
