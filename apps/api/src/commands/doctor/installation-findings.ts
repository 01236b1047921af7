import { access, constants, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isPostgresUrl, sqlitePath } from '@quartermaster/db/database-url.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { DatabaseUnavailableError, DatabaseUnfitError } from '@quartermaster/db/errors.ts';
import { compareSchema } from '@quartermaster/db/migrate.ts';
import { openDatabase } from '@quartermaster/db/open-database.ts';
import { type Config, ConfigError, ROOT, readConfig } from '../../config.ts';
import { installation } from '../../installation.ts';
import { causeOf } from '../../server/failures.ts';
import { type KeyState, stateOfSecretKey } from '../../server/secret-key.ts';
import type { Invocation } from '../run-command.ts';
import { type Finding, failed, ok, skipped, warning } from './finding.ts';

/** The types of file systems on other machines, by the number that `statfs` returns. SQLite's locks do not work on them. */
const NETWORK_FILE_SYSTEMS = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB 2'],
  [0x01021997, '9p'],
  [0x00c36400, 'Ceph'],
]);

/** The root of a container, which is gone with the container. */
const OVERLAY = 0x794c7630;

/** Below this free space a warning is given, in bytes. */
const LITTLE_SPACE = 1024 ** 3;

/** Checks the settings, the database and the secret key of this machine. Changes nothing, and creates no file. */
export async function checkInstallation(environment: Invocation['environment']): Promise<Finding[]> {
  const read = readSettings(environment);
  if ('finding' in read) return [read.finding];
  const { config } = read;
  return [ok('settings', 'all settings are valid'), ...(await checkDatabase(config))];
}

function readSettings(environment: Invocation['environment']): { config: Config } | { finding: Finding } {
  try {
    return { config: readConfig(environment) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const found = error.message.split('\n').join('; ');
    return {
      finding: failed('settings', found, 'change the variables that are named; docs/configuration.md lists all'),
    };
  }
}

async function checkDatabase(config: Config): Promise<Finding[]> {
  const file = sqlitePath(config.databaseUrl, ROOT);
  if (file === null && !isPostgresUrl(config.databaseUrl)) return [skipped('database', 'it is in memory')];
  if (file !== null) {
    const folder = await checkFolder(dirname(file));
    if (folder.status === 'failed') return [folder];
    const exists = await isThere(file);
    if (!exists) return [folder, ok('database', `${file} does not exist: the first start creates it`)];
    if (!(await mayWrite(file))) {
      return [
        folder,
        failed('database', `${file} is not writable for this user`, `chown it to the user of the service`),
      ];
    }
    return [folder, ...(await checkContents(config, file))];
  }
  return checkContents(config, 'PostgreSQL');
}

async function checkFolder(folder: string): Promise<Finding> {
  const check = 'folder';
  const existing = (await isThere(folder)) ? folder : dirname(folder);
  if (!(await isThere(existing))) return failed(check, `${existing} does not exist`, 'create it, or set QM_DATA_DIR');
  if (!(await mayWrite(existing))) {
    return failed(
      check,
      `${existing} is not writable for this user`,
      'chown it to the user of the service, or set QM_DATA_DIR',
    );
  }
  const { type, bavail, bsize } = await statfs(existing);
  const network = NETWORK_FILE_SYSTEMS.get(type);
  if (network !== undefined) {
    const fix = 'put the database on a local disk: SQLite loses data on a file system of another machine';
    return failed(check, `${existing} is on ${network}`, fix);
  }
  if (type === OVERLAY) {
    return warning(
      check,
      `${existing} is in the container itself`,
      'mount a volume there, or the data is lost with the container',
    );
  }
  const free = bavail * bsize;
  if (free < LITTLE_SPACE) {
    return warning(check, `${existing} has ${Math.round(free / 1e6)} MB left`, 'make room: writes fail on a full disk');
  }
  return ok(check, `${existing} is writable and local, with ${Math.round(free / 1e9)} GB left`);
}

async function checkContents(config: Config, name: string): Promise<Finding[]> {
  let db: Database | null = null;
  try {
    db = await openDatabase(config.databaseUrl, ROOT, { poolSize: 2 });
    const schema = schemaFinding(name, await compareSchema(db));
    if (schema.status !== 'ok') return [schema];
    return [schema, keyFinding(await stateOfSecretKey(db, config), config)];
  } catch (error) {
    if (error instanceof DatabaseUnfitError)
      return [failed('database', `${name} ${error.message}`, 'set DATABASE_URL')];
    if (!(error instanceof DatabaseUnavailableError)) throw error;
    const fix = 'check that the database runs, and host, name, user and password in DATABASE_URL';
    return [failed('database', `it cannot be used: ${causeOf(error)}`, fix)];
  } finally {
    await db?.destroy();
  }
}

function schemaFinding(name: string, state: Awaited<ReturnType<typeof compareSchema>>): Finding {
  switch (state) {
    case 'same':
      return ok('database', `${name} has the schema of this version`);
    case 'empty':
      return ok('database', `${name} is empty: the first start creates the schema`);
    case 'older':
      return warning('database', `${name} has an older schema`, 'make a backup; the next start updates the schema');
    case 'newer':
      return ok('database', `${name} has the schema of a newer version, and this version runs on it`);
  }
}

function keyFinding(state: KeyState, { secretKey }: Config): Finding {
  const where = secretKey === null ? 'the key file beside the database' : 'QM_SECRET_KEY';
  switch (state) {
    case 'opens':
      return ok('secret key', `${where} opens the secrets of the database`);
    case 'unused':
      return ok('secret key', 'the database has no secrets yet');
    case 'missing':
      return failed(
        'secret key',
        `${where} is missing, and the database has secrets`,
        'restore the file `<database>.key` from your backup of it, or set QM_SECRET_KEY to its content',
      );
    case 'wrong':
      return failed(
        'secret key',
        `${where} is not the key of this database`,
        `set QM_SECRET_KEY to the key with which ${installation.commandLine('serve')} ran on it before`,
      );
  }
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function mayWrite(path: string): Promise<boolean> {
  return access(path, constants.W_OK).then(
    () => true,
    () => false,
  );
}
