import { isIP } from 'node:net';

/** URLs inside a text, up to the next space or quote. */
const URL_IN_TEXT = /[a-z][a-z0-9+.-]{0,31}:[\\/]{2}[^\s"'<>]*/gi;

const USER_INFO = /([a-z][a-z0-9+.-]{0,31}:[\\/]{2,})[^\s\\/?#"'<>]*@/gi;

const HOST = /^(?:[\p{L}\p{N}_.~-]*|\[[0-9a-f:.]{2,64}\])(?::\d{1,5})?$/iu;

/** The text with scheme, host and path of its URLs. User, password, query and fragment often hold secrets or content. */
export function withPublicUrls(text: string): string {
  return text.includes('://') ? text.replace(URL_IN_TEXT, publicUrl) : text;
}

/** The text without the user and password of its URLs. */
export function withoutUserInfo(text: string): string {
  return text.includes('@') ? text.replace(USER_INFO, '$1') : text;
}

/** Host and port of a URL or of `host:port`; an empty text if there is none. A path, such as that of a socket, stays. */
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

/** Null if what stands before the first slash is no host: `user:pass/word@host`. */
function hostOf(rest: string): string | null {
  const [authority = ''] = rest.split('/', 1);
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  return HOST.test(host) ? host : null;
}
