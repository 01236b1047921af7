import { isIP } from 'node:net';

/** URLs inside a text, up to the next space or quote. */
const URL_IN_TEXT = /[a-z][a-z0-9+.-]{0,31}:[\\/]{2}[^\s"'<>]*/gi;

const USER_INFO = /([a-z][a-z0-9+.-]{0,31}:[\\/]{2,})[^\s\\/?#"'<>]*@/gi;

const HOST = /^(?:[\p{L}\p{N}_.~-]*|\[[0-9a-f:.]{2,64}\])(?::\d{1,5})?$/iu;

/** Reduces the URLs in a text to scheme, host and path. User, password, query and fragment may hold secrets or content. */
export function withPublicUrls(text: string): string {
  return text.includes('://') ? text.replace(URL_IN_TEXT, publicUrl) : text;
}

/** Removes the user and password from the URLs in a text. */
export function withoutUserInfo(text: string): string {
  return text.includes('@') ? text.replace(USER_INFO, '$1') : text;
}

/** Host and port of a URL or of `host:port`, or an empty text. A file path, such as that of a socket, is returned as it is. */
export function hostAndPort(address: string): string {
  const afterScheme = address.replace(/^[a-z][a-z0-9+.-]{0,31}:\/\//i, '');
  const [plain = ''] = afterScheme.split(/[?#]/, 1);
  if (afterScheme === address && (plain.startsWith('/') || isIP(plain) !== 0)) return plain;
  return hostOf(plain) ?? '';
}

function publicUrl(url: string): string {
  const colon = url.indexOf(':');
  const scheme = url.slice(0, colon + 3);
  const [rest = ''] = url.slice(colon + 3).split(/[?#]/, 1);
  const slash = rest.indexOf('/');
  const host = hostOf(rest);
  if (host === null) return scheme;
  return scheme + host + (slash === -1 ? '' : rest.slice(slash));
}

/** The host and port before the first slash. Null if they are not valid, as in `user:pass/word@host`. */
function hostOf(rest: string): string | null {
  const [authority = ''] = rest.split('/', 1);
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  return HOST.test(host) ? host : null;
}
