import { resolve } from 'node:path';

/**
 * Whether a URL is one of a Postgres server, and can be read. With an @ behind the host it is read wrong: a password that
 * is not percent-encoded, a piece of which would be taken for the host, and told by errors. So it is with a % that begins
 * no escape.
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

/** The file of an embedded database, absolute; null where the URL names none, as SQLite's `:memory:` does not. */
export function sqlitePath(url: string, root: string): string | null {
  const path = /^sqlite:(?:\/\/)?(.+)$/.exec(url)?.[1];
  return path === undefined || path === ':memory:' ? null : resolve(root, path);
}
