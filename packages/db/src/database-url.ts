import { resolve } from 'node:path';

/**
 * Whether a URL names a Postgres server and can be parsed safely.
 *
 * An @ after the host means that the password is not percent-encoded. Part of the password would then be taken for the host,
 * and appear in error messages. Such a URL is refused, and so is one with an invalid percent escape.
 */
export function isPostgresUrl(url: string): boolean {
  const parsed = /^postgres(ql)?:\/\//.test(url) ? URL.parse(url) : null;
  return parsed !== null && !`${parsed.pathname}${parsed.search}${parsed.hash}`.includes('@') && canBeDecoded(url);
}

function canBeDecoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** The absolute path of a SQLite database. Null if the URL names no file, as `sqlite::memory:` does. */
export function sqlitePath(url: string, root: string): string | null {
  const path = /^sqlite:(?:\/\/)?(.+)$/.exec(url)?.[1];
  return path === undefined || path === ':memory:' ? null : resolve(root, path);
}
