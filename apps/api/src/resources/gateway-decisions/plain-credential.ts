import type { IncomingMessage } from 'node:http';
import { decodeProtectedHeader } from 'jose';
import { SESSION_TOKEN_TYPE } from '../gateway-sessions/token.ts';
import { tokenOf } from './receiver.ts';

/**
 * Moves an API key from `Authorization` to `X-API-Key`, and the token of a session from Basic authentication to Bearer. Some
 * clients of the dialects can send nothing but a Bearer token, or the user and password of a URL.
 */
export function plainCredential(req: IncomingMessage): void {
  const at = req.rawHeaders.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'authorization');
  const value = at < 0 ? '' : (req.rawHeaders[at + 1] ?? '');
  const basic = /^Basic +([A-Za-z0-9+/]+=*)$/i.exec(value)?.[1];
  const secret =
    basic === undefined
      ? /^Bearer +(qm_key_\S+)$/i.exec(value)?.[1]
      : Buffer.from(basic, 'base64')
          .toString()
          .replace(/^[^:]*:/, '');
  if (secret === undefined) return;
  const [name, credential] = secret.startsWith('qm_key_')
    ? ['X-API-Key', secret]
    : ['Authorization', `Bearer ${secret}`];
  // Node makes `headers` and `headersDistinct` from `rawHeaders` when they are first read. They may exist already, so all three
  // are changed.
  req.rawHeaders.splice(at, 2, name, credential);
  delete req.headers.authorization;
  delete req.headersDistinct['authorization'];
  req.headers[name.toLowerCase()] = credential;
  req.headersDistinct[name.toLowerCase()] = [credential];
}

/** The token of a session. Undefined: the request has another credential, or none. Null: it has two tokens. */
export function sessionTokenOf(req: IncomingMessage): string | null | undefined {
  const token = tokenOf(req);
  if (req.headers['x-quartermaster-session'] !== undefined) return token;
  if (token === null) return undefined;
  try {
    return decodeProtectedHeader(token).typ === SESSION_TOKEN_TYPE ? token : undefined;
  } catch {
    return undefined;
  }
}
