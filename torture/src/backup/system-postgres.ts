import { execFile, spawn } from 'node:child_process';
import { access, chown, readdir, rm } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@quartermaster/db/testing/free-port.ts';
import { administer } from '@quartermaster/db/testing/postgres-server.ts';
import { temporaryFolder } from '../stores.ts';
import { until } from '../until.ts';

const run = promisify(execFile);

/** The programs that an installation must have: the server and its clients. */
const PROGRAMS = ['initdb', 'postgres', 'pg_dump', 'pg_restore'];

/** The folder in which Debian and Ubuntu install each version. */
const VERSIONS = '/usr/lib/postgresql';

const USER = 'postgres';

/** A PostgreSQL server of this machine's installation, with a data folder for this run. */
export type SystemPostgres = {
  version: string;
  urlOf: (database: string) => string;
  /** Runs one of its client programs. @throws an error with its output if it fails */
  run: (program: 'pg_dump' | 'pg_restore', args: readonly string[]) => Promise<void>;
  stop: () => Promise<void>;
};

/** Starts the newest installed version. Null if none is installed with its clients, or only root could run it. */
export async function startSystemPostgres(): Promise<SystemPostgres | null> {
  const folder = await programs();
  const owner = await ownerOf();
  if (folder === null || owner === null) return null;
  const parent = await temporaryFolder();
  if ('uid' in owner) await chown(parent, owner.uid, owner.gid);
  const data = join(parent, 'data');
  await run(join(folder, 'initdb'), ['-D', data, '-U', USER, '--auth=trust', '--encoding=UTF8', '--locale=C'], owner);
  const port = await freePort();
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories='].flatMap((setting) => ['-c', setting]);
  const server = spawn(join(folder, 'postgres'), ['-D', data, '-p', String(port), ...settings], {
    ...owner,
    stdio: 'ignore',
  });
  const ended = new Promise<void>((resolve) => server.on('close', () => resolve()));
  const urlOf = (database: string) => `postgres://${USER}@127.0.0.1:${port}/${database}`;
  const stop = async () => {
    server.kill('SIGINT');
    await ended;
    await rm(parent, { recursive: true });
  };
  let version = '';
  const answers = async () => {
    const rows = await administer(urlOf('postgres'), 'show server_version').catch(() => []);
    version = String(rows[0]?.['server_version'] ?? '').replace(/ .*/, '');
    return version !== '';
  };
  try {
    await until(answers, 'PostgreSQL to answer');
  } catch (error) {
    await stop();
    throw error;
  }
  return { version, urlOf, stop, run: async (program, args) => void (await run(join(folder, program), args)) };
}

/** The folder of a complete installation: on the path, else the newest version. */
async function programs(): Promise<string | null> {
  const versions = (await readdir(VERSIONS).catch(() => [])).toSorted((a, b) => Number(b) - Number(a));
  const folders = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    ...versions.map((version) => join(VERSIONS, version, 'bin')),
  ];
  for (const folder of folders) {
    const found = await Promise.all(PROGRAMS.map((name) => isThere(join(folder, name))));
    if (found.every(Boolean)) return folder;
  }
  return null;
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** PostgreSQL refuses to run as root. So root runs it as the user that the installation created; null if there is none. */
async function ownerOf(): Promise<{ uid: number; gid: number } | Record<never, never> | null> {
  if (userInfo().uid !== 0) return {};
  const idOf = async (option: string) => Number((await run('id', [option, USER])).stdout);
  return Promise.all([idOf('-u'), idOf('-g')]).then(
    ([uid, gid]) => ({ uid, gid }),
    () => null,
  );
}
