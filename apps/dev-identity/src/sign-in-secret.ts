import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { isAbsolute } from 'node:path';

/**
 * The member of the discovery document with the path of the file that contains the secret. The path itself is not secret. Only
 * the user who started the server can read the file.
 */
export const SECRET_FILE_MEMBER = 'quartermaster_sign_in_secret_file';

/** A secret of one start. Only a caller who can read a file of mode 0600 on this machine knows it. */
export type SignInSecret = {
  file: string;
  /** For a link that is shown on the terminal of the person who started the server. */
  text: string;
  isSecret: (text: string) => boolean;
  /** The value of the cookie of a browser that has shown the secret. It is not the secret itself. */
  cookie: string;
  isCookie: (text: string) => boolean;
  remove: () => Promise<void>;
};

/**
 * Creates a new secret and writes it to `file`, together with the issuer that it belongs to.
 *
 * @throws a system error if the file cannot be written
 */
export async function createSignInSecret({ file, issuer }: { file: string; issuer: string }): Promise<SignInSecret> {
  const text = randomBytes(32).toString('base64url');
  const cookie = hash('sha256', `cookie ${text}`, 'base64url');
  // Always a new file: an existing one could have another mode, or be a link to another file.
  await rm(file, { force: true });
  await writeFile(file, `${JSON.stringify({ issuer, secret: text })}\n`, { flag: 'wx', mode: 0o600 });
  return {
    file,
    text,
    isSecret: (given) => isSame(given, text),
    cookie,
    isCookie: (given) => isSame(given, cookie),
    remove: () => rm(file, { force: true }),
  };
}

/**
 * Reads the secret of the server at `issuer` from the file that this server names.
 *
 * The server at `issuer` is not trusted: it may be any program. So the file has to contain exactly this issuer, on loopback.
 * Then such a program gets neither the content of another file nor the secret of another server.
 *
 * @throws {Error} with the reason why the secret could not be read
 */
export async function readSignInSecret({ file, issuer }: { file: string; issuer: string }): Promise<string> {
  if (!isLoopback(issuer)) throw new Error('a sign-in secret is only sent to a server on this machine');
  if (!isAbsolute(file)) throw new Error('the server names no absolute path of a sign-in secret');
  const content: unknown = await contentOf(file);
  const { issuer: named, secret } = (content ?? {}) as { issuer?: unknown; secret?: unknown };
  if (named !== issuer || typeof secret !== 'string') throw new Error(`${file} is not the sign-in secret of ${issuer}`);
  return secret;
}

const MAX_FILE_BYTES = 4096;

async function contentOf(file: string): Promise<unknown> {
  try {
    const found = await stat(file);
    if (!found.isFile() || found.size > MAX_FILE_BYTES) return null;
    const text = await readFile(file, 'utf8');
    return parsed(text);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new Error(
      `the sign-in secret ${file} cannot be read (${code}): run this on the same machine, as the user who started the server`,
      { cause: error },
    );
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isLoopback(url: string): boolean {
  const host = URL.parse(url)?.hostname.replace(/^\[|\]$/g, '') ?? '';
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** Compares digests, so that the time reveals nothing about the secret or its length. */
function isSame(given: string, expected: string): boolean {
  const digest = (text: string) => hash('sha256', text, 'buffer');
  return timingSafeEqual(digest(given), digest(expected));
}
