import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';

const KEY_BYTES = 32;

/**
 * The key that encrypts secrets at rest: the configured one, else the one in a file beside the embedded database, made
 * once and readable by its owner alone. Whoever keeps a copy of the database keeps the key elsewhere.
 */
export async function secretKeyOf(configured: Buffer | null, databasePath: string): Promise<Buffer> {
  if (configured) return configured;
  const path = `${databasePath}.key`;
  try {
    await writeFile(path, `${randomBytes(KEY_BYTES).toString('base64')}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  const key = Buffer.from((await readFile(path, 'utf8')).trim(), 'base64');
  if (key.length !== KEY_BYTES) throw new Error(`${path} should hold ${KEY_BYTES} bytes, base64`);
  return key;
}
