import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { administer, createDatabase, startPostgres } from '@quartermaster/db/testing/postgres-server.ts';
import SqliteDatabase from 'better-sqlite3';
import { until } from './until.ts';

/** A database for one part of the suite. */
export type Store = {
  name: string;
  /** As DATABASE_URL has it. */
  url: string;
  /** What it is checked by, and what it finds wrong with what it holds. */
  checks: string;
  integrityFaults: () => Promise<string[]>;
  /** Where all of its files stand. */
  folder: () => Promise<string>;
  /** Removes it. */
  close: () => Promise<void>;
  /** Where the database is a server: kills it, all of its processes at once, and starts it again. */
  server?: { processes: () => Promise<number[]>; kill: () => Promise<void>; resume: () => Promise<void> };
};

/** A folder of its own for one part of the suite. */
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

/** Does something on a store of each dialect, or of those that are named, one after the other. */
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

/** What SQLite finds wrong with a file: its pages and indexes, and rows that point nowhere. */
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

/** What a server has to be set to, or a kill that it survives says nothing of the machine's. */
const DURABLE = { fsync: 'on', synchronous_commit: 'on' };

/**
 * A new database on a PostgreSQL server of its own, which syncs as it does where people run it.
 *
 * @throws where the server says that it does not
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
  // Whether indexes agree with their tables is an extension's to say; not every build has it.
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

/** Every B-tree of the database against its table: each row has its entry, in its place. */
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

/** The processes of the server that has its data in a folder, the first one before those that it started. */
async function processesOf(folder: string): Promise<number[]> {
  const [pid = ''] = (await readFile(join(folder, 'postmaster.pid'), 'utf8')).split('\n');
  return [Number(pid), ...(await childrenOf(Number(pid)))];
}

/** The processes that a process started, as Linux lists them. */
export async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return text.split(' ').filter(Boolean).map(Number);
}

/** Without the first of them, the others may end before it is their turn. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** Gone is also what nobody has asked after yet: a zombie holds nothing any more. */
async function isGone(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat === '' || /\) Z /.test(stat);
}
