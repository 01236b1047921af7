import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import type { Database } from '@quartermaster/db/database.ts';
import { sqlitePath } from '@quartermaster/db/database-url.ts';
import { type Config, ConfigError, ROOT } from '../config.ts';
import { readability } from '../crypto/reseal.ts';
import { type SecretBox, SecretUnreadableError, secretBox } from '../crypto/secret-box.ts';
import { currentSigner } from '../signing-keys/service.ts';

const KEY_BYTES = 32;

type KeyConfig = Pick<Config, 'databaseUrl' | 'secretKey' | 'formerSecretKeys' | 'secretKeyLost'>;

/**
 * What opens and seals the secrets of a database: with the configured key, else with the one in a file beside the embedded
 * database, made once and readable by its owner alone. Whoever keeps a copy of the database keeps the key elsewhere; so a
 * restore without it is told before anything is written.
 *
 * @throws ConfigError where there are secrets and no key opens any of them, unless the key is said to be lost
 */
export async function openSecretBox(db: Database, config: KeyConfig, now: () => Date): Promise<SecretBox> {
  // The configuration asks for a key where the database is no file.
  const path = `${sqlitePath(config.databaseUrl, ROOT)}.key`;
  const given = config.secretKey ?? (await keyIn(path));
  const key = given ?? randomBytes(KEY_BYTES);
  const box = secretBox(key, config.formerSecretKeys);
  if (!config.secretKeyLost) {
    const readable = await readability({ db, secrets: box });
    if (readable === 'none') throw noneOpens(given === null ? `, and ${path} is missing` : '');
    if (readable === 'empty' && given !== null) await sealFirst(db, box, now);
  }
  if (given !== null) return box;
  return (await keep(path, key)) ? box : openSecretBox(db, config, now);
}

/**
 * Seals a first secret, so that of processes with different keys that start at once one alone goes on. Otherwise each would
 * seal with its own, and the others could not read it.
 */
async function sealFirst(db: Database, secrets: SecretBox, now: () => Date): Promise<void> {
  try {
    await currentSigner({ db, secrets, now });
  } catch (error) {
    throw error instanceof SecretUnreadableError ? noneOpens('') : error;
  }
}

function noneOpens(why: string): ConfigError {
  return new ConfigError(
    `QM_SECRET_KEY: no key that is configured opens the secrets of this database${why} (QM_SECRET_KEY_LOST=1 gives them up)`,
  );
}

/** Null where there is no such file. */
async function keyIn(path: string): Promise<Buffer | null> {
  const text = await readFile(path, 'utf8').catch(nullWhere('ENOENT', `${path} cannot be read`));
  if (text === null) return null;
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length !== KEY_BYTES) throw new ConfigError(`QM_SECRET_KEY: ${path} should hold ${KEY_BYTES} bytes, base64`);
  return key;
}

/** Whether it was this process that wrote the key: another one may start at the same time. */
async function keep(path: string, key: Buffer): Promise<boolean> {
  const text = `${key.toString('base64')}\n`;
  const written = await writeFile(path, text, { flag: 'wx', mode: 0o600 }).catch(
    nullWhere('EEXIST', `${path} cannot be written`),
  );
  return written !== null;
}

function nullWhere(code: string, otherwise: string): (error: unknown) => null {
  return (error) => {
    if (!(error instanceof Error && 'code' in error)) throw error;
    if (error.code === code) return null;
    throw new ConfigError(`QM_SECRET_KEY: ${otherwise}: ${String(error.code)}`);
  };
}
