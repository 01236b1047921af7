import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import type { Database } from '@quartermaster/db/database.ts';
import { sqlitePath } from '@quartermaster/db/database-url.ts';
import { type Config, ConfigError, ROOT } from '../config.ts';
import { readability } from './secret-rotation.ts';
import { type SecretBox, SecretUnreadableError, secretBox } from '../platform/secret-box.ts';
import { currentSigner } from '../resources/signing-keys/service.ts';

const KEY_BYTES = 32;

type KeyConfig = Pick<Config, 'databaseUrl' | 'secretKey' | 'formerSecretKeys' | 'secretKeyLost'>;

/**
 * The box that opens and seals the secrets of a database. It uses the configured key, else the key in a file next to the
 * embedded database, which is generated once and which only its owner can read. A backup of the database does not contain
 * that file, so a restore without the key is reported before anything is written.
 *
 * @throws ConfigError if there are secrets and no key opens any of them, unless the operator declared the key lost
 */
export async function openSecretBox(db: Database, config: KeyConfig, now: () => Date): Promise<SecretBox> {
  // For a database on a server the configuration always has a key, so this path is not used.
  const path = `${sqlitePath(config.databaseUrl, ROOT)}.key`;
  const given = config.secretKey ?? (await readKeyFile(path));
  const key = given ?? randomBytes(KEY_BYTES);
  const box = secretBox(key, config.formerSecretKeys);
  if (!config.secretKeyLost) {
    const readable = await readability({ db, secrets: box });
    if (readable === 'none') throw noKeyOpens(given === null ? `, and ${path} is missing` : '');
    if (readable === 'empty' && given !== null) await sealFirstSecret(db, box, now);
  }
  if (given !== null) return box;
  return (await writeKeyFile(path, key)) ? box : openSecretBox(db, config, now);
}

/** What the configured key is to the secrets of a database. `unused`: there are none. */
export type KeyState = 'opens' | 'unused' | 'missing' | 'wrong';

/** Tries the configured key, or the one in the file, and changes nothing. @throws ConfigError if the file cannot be read */
export async function stateOfSecretKey(db: Database, config: KeyConfig): Promise<KeyState> {
  const given = config.secretKey ?? (await readKeyFile(`${sqlitePath(config.databaseUrl, ROOT)}.key`));
  const secrets = secretBox(given ?? randomBytes(KEY_BYTES), config.formerSecretKeys);
  const readable = await readability({ db, secrets });
  if (readable === 'empty') return 'unused';
  if (readable === 'some') return 'opens';
  return given === null ? 'missing' : 'wrong';
}

/**
 * Seals a first secret, so that of several processes that start with different keys only one continues. Otherwise each would
 * seal secrets with its own key, which the others could not read.
 */
async function sealFirstSecret(db: Database, secrets: SecretBox, now: () => Date): Promise<void> {
  try {
    await currentSigner({ db, secrets, now });
  } catch (error) {
    throw error instanceof SecretUnreadableError ? noKeyOpens('') : error;
  }
}

function noKeyOpens(why: string): ConfigError {
  return new ConfigError(
    `QM_SECRET_KEY: none of the configured keys opens the secrets of this database${why} (a former key belongs in QM_SECRET_KEY_PREVIOUS, also after an interrupted change of the key; QM_SECRET_KEY_LOST=1 gives the secrets up)`,
  );
}

/** Null if there is no such file. */
async function readKeyFile(path: string): Promise<Buffer | null> {
  const text = await readFile(path, 'utf8').catch(nullWhere('ENOENT', `${path} cannot be read`));
  if (text === null) return null;
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length !== KEY_BYTES) throw new ConfigError(`QM_SECRET_KEY: ${path} should hold ${KEY_BYTES} bytes, base64`);
  return key;
}

/**
 * Returns false if the file exists: another process that started at the same time wrote it. The file gets its name when all of it
 * is on the disk. If the disk was full, the next start would find an empty key.
 */
async function writeKeyFile(path: string, key: Buffer): Promise<boolean> {
  const draft = `${path}.${process.pid}`;
  const orFail = nullWhere('EEXIST', `${path} cannot be written`);
  try {
    await rm(draft, { force: true }).catch(orFail);
    await writeFile(draft, `${key.toString('base64')}\n`, { mode: 0o600, flush: true }).catch(orFail);
    return (await link(draft, path).catch(orFail)) !== null;
  } finally {
    await rm(draft, { force: true });
  }
}

function nullWhere(code: string, otherwise: string): (error: unknown) => null {
  return (error) => {
    if (!(error instanceof Error && 'code' in error)) throw error;
    if (error.code === code) return null;
    throw new ConfigError(`QM_SECRET_KEY: ${otherwise}: ${String(error.code)}`);
  };
}
