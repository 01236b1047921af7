import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { administer, createDatabase, startPostgres } from '@quartermaster/db/testing/postgres-server.ts';
import SqliteDatabase from 'better-sqlite3';
import { until } from './until.ts';

/** A database for one part of the suite. */
export type Store = {
  name: string;
  /** The value for DATABASE_URL. */
  url: string;
  /** The name of the integrity check, and the check itself. */
  checks: string;
  integrityFaults: () => Promise<string[]>;
  /** The folder with all of its files. */
  folder: () => Promise<string>;
  /** Removes the database. */
  close: () => Promise<void>;
  /** For a database server: kills all of its processes at once, and starts it again. */
  server?: { processes: () => Promise<number[]>; kill: () => Promise<void>; resume: () => Promise<void> };
};

/** A new folder for one part of the suite. */
export function temporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'quartermaster-torture-'));
}

/** A new SQLite file. */
export async function openSqliteStore(): Promise<Store> {
  const folder = await temporaryFolder();
  const file = join(folder, 'torture.db');
  return {
    name: 'SQLite',
    url: `sqlite:${file}`,
    checks: 'integrity_check, foreign_key_check',
    integrityFaults: async () => sqliteFaults(file),
    folder: async () => folder,
    close: () => rm(folder, { recursive: true }),
  };
}

/** Runs work on a store of each named dialect, one after the other. Default: all dialects. */
export async function onEachStore<T>(
  work: (store: Store) => Promise<T>,
  opening: readonly (() => Promise<Store>)[] = [openSqliteStore, openPostgresStore],
): Promise<T[]> {
  const done: T[] = [];
  for (const openStore of opening) {
    const store = await openStore();
    try {
      done.push(await work(store));
    } finally {
      await store.close();
    }
  }
  return done;
}

/** SQLite's checks of a file: pages, indexes and foreign keys. */
export function sqliteFaults(file: string): string[] {
  const db = new SqliteDatabase(file, { readonly: true });
  try {
    const integrity = db.pragma('integrity_check') as { integrity_check: string }[];
    const keys = db.pragma('foreign_key_check') as object[];
    return [
      ...integrity.flatMap(({ integrity_check }) => (integrity_check === 'ok' ? [] : [integrity_check])),
      ...keys.map((row) => `a foreign key points nowhere: ${JSON.stringify(row)}`),
    ];
  } finally {
    db.close();
  }
}

/** Required server settings. Otherwise surviving a kill would prove nothing about a crash of the machine. */
const DURABLE = { fsync: 'on', synchronous_commit: 'on' };

/**
 * A new database on a separate PostgreSQL server, with the durability settings of production.
 *
 * @throws if the server has other settings
 */
export async function openPostgresStore({ settings = [] as string[] } = {}): Promise<Store> {
  const server = await startPostgres({ durable: true, settings });
  const admin = server.urlOf('postgres');
  for (const [name, wanted] of Object.entries(DURABLE)) {
    const [row] = await administer(admin, `show ${name}`);
    if (row?.[name] === wanted) continue;
    await server.stop();
    throw new Error(`PostgreSQL runs with ${name} ${String(row?.[name])}`);
  }
  const folder = async () => String((await administer(admin, 'show data_directory'))[0]?.['data_directory']);
  await createDatabase(admin, 'torture');
  const url = server.urlOf('torture');
  // Only an extension can check indexes against their tables, and not every build has it.
  const checked = await administer(url, 'create extension amcheck').then(
    () => true,
    () => false,
  );
  return {
    name: 'PostgreSQL',
    url,
    checks: `${checked ? 'amcheck' : 'no amcheck in this build'}; fsync and synchronous_commit on`,
    integrityFaults: async () => (checked ? postgresFaults(url) : []),
    folder,
    close: () => server.stop(),
    server: {
      processes: async () => processesOf(await folder()),
      async kill() {
        const processes = await processesOf(await folder());
        for (const each of processes) killIfThere(each);
        for (const each of processes) await until(() => isGone(each), 'PostgreSQL to be gone');
      },
      resume: () => server.resume(),
    },
  };
}

/** Checks every B-tree index against its table: each row has its entry at the right place. */
async function postgresFaults(url: string): Promise<string[]> {
  const indexes = `select c.oid::regclass::text as name from pg_index i join pg_class c on c.oid = i.indexrelid
    join pg_am a on a.oid = c.relam join pg_namespace n on n.oid = c.relnamespace
    where a.amname = 'btree' and n.nspname = 'public' and c.relkind = 'i' and i.indisvalid`;
  const faults: string[] = [];
  for (const { name } of await administer(url, indexes)) {
    await administer(url, `select bt_index_check('${String(name)}', true)`).catch((error: unknown) =>
      faults.push(`${String(name)}: ${String(error)}`),
    );
  }
  return faults;
}

/** The processes of the server with this data folder. The parent process comes first. */
async function processesOf(folder: string): Promise<number[]> {
  const [pid = ''] = (await readFile(join(folder, 'postmaster.pid'), 'utf8')).split('\n');
  return [Number(pid), ...(await childrenOf(Number(pid)))];
}

/** The child processes of a process, from Linux's /proc. */
export async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return text.split(' ').filter(Boolean).map(Number);
}

/** Kills a process unless it has already ended. Children may end by themselves once their parent is killed. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** Whether a process has ended. A zombie counts as ended, because it holds no resources. */
async function isGone(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat === '' || /\) Z /.test(stat);
}
