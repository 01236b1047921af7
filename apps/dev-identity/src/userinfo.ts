import type { KeyObject } from 'node:crypto';
import { verify } from 'node:crypto';
import type { Provider } from 'oidc-provider';
import type { Accounts } from './accounts.ts';

/**
 * The library's userinfo endpoint accepts only opaque tokens, and no token with an audience. But resource servers send the
 * token that they received, and real providers accept it. So this middleware answers for JWTs, and leaves everything else to
 * the library.
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

/** The claims of an access token that this process signed. ID tokens have the same key, but another `typ`. */
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
