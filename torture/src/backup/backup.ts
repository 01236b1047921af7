import { spawn } from 'node:child_process';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '@quartermaster/db/open-database.ts';
import { TABLE_NAMES } from '@quartermaster/db/stored-tables.ts';
import { readTableChecksum } from '@quartermaster/db/table-checksum.ts';
import type { Load } from '../load.ts';
import { type Finding, finding, type Options, type Part } from '../part.ts';
import { randomOf } from '../random.ts';
import { killService, startService, stopService } from '../service.ts';
import { openSqliteStore, sqliteFaults, type Store } from '../stores.ts';
import { acknowledged, acknowledgedBefore, checkRestored, loadOn } from './moment.ts';
import { dumps } from './postgres-dump.ts';

const COMMAND = fileURLToPath(new URL('../../../apps/api/src/commands/backup.ts', import.meta.url));

const BACKUPS = 20;

/** The kill of a backup comes within this time, in milliseconds. */
const KILL_MS = 1500;

export const backup: Part = {
  name: 'backup',
  // The short form leaves the file to the API's suite of `npm run backup`, which does the same once.
  run: async (options: Options) => [...(options.short ? [] : [await backupsOfFile(options)]), await dumps(options)],
};

/** Backups of an embedded database while a service writes to it, each restored; and backups that are killed. */
async function backupsOfFile(options: Options): Promise<Finding> {
  const backups = options.loops ?? BACKUPS;
  const random = randomOf(options.seed);
  const store = await openSqliteStore();
  const service = await startService({ databaseUrl: store.url });
  const load = loadOn(service);
  const total = { backups, acknowledgedBefore: 0, writesMeanwhile: 0, accounts: 0, killed: 0, finishedFirst: 0 };
  const faults: string[] = [];
  try {
    for (let count = 1; count <= backups; count += 1) {
      const made = await backedUp({ store, load, to: join(await store.folder(), `backup-${count}.db`) });
      faults.push(...made.faults);
      total.acknowledgedBefore += made.before.length;
      total.writesMeanwhile += made.meanwhile;
      const to = join(await store.folder(), `killed-${count}.db`);
      const finished = await killedBackup(store, to, random() * KILL_MS);
      faults.push(...(await leftFaults(to, finished)));
      if (finished) total.finishedFirst += 1;
      else total.killed += 1;
      // Nothing is backed up any more, so writes would only slow down the checks.
      if (count === backups) await load.stop();
      const held = await checkedBackup(made);
      faults.push(...held.faults);
      total.accounts += held.accounts;
    }
    await load.stop();
    const code = await stopService(service);
    if (code !== 0) faults.push(`the service ended with ${code}`);
  } finally {
    await load.stop();
    await killService(service);
    await store.close();
  }
  return finding({
    promise: 'a backup under load is one moment of the database, and a service starts on it',
    measured: `${backups} backups; ${total.acknowledgedBefore} writes acknowledged before they began, all there; ${total.writesMeanwhile} acknowledged while they were made; checksums of ${TABLE_NAMES.length} tables as printed; of each writer a beginning without gaps; ${total.killed} killed under way: no file of that name, or a whole one`,
    figures: total,
    faults,
  });
}

type Backup = { store: Store; load: Load; to: string };

async function backedUp({ store, load, to }: Backup) {
  const before = await acknowledgedBefore(load);
  const { ended, output } = command(store, to);
  const code = await ended;
  const after = acknowledged(load).length;
  const faults = code === 0 ? [] : [`the backup ended with ${code}: ${output()}`];
  if (after === before.length) faults.push('there were no writes during the backup');
  return { to, printed: output(), before, meanwhile: after - before.length, faults };
}

/** Restores a backup, and compares it with what was acknowledged before it began. */
async function checkedBackup({ to, printed, before }: Awaited<ReturnType<typeof backedUp>>) {
  const faults = [...sqliteFaults(to)];
  const databaseUrl = `sqlite:${to}`;
  faults.push(...(await printedFaults(databaseUrl, printed)));
  const held = await checkRestored(databaseUrl, before);
  faults.push(...held.faults);
  for (const rest of ['', '-wal', '-shm']) await rm(`${to}${rest}`, { force: true });
  return { accounts: held.accounts, faults };
}

/** Compares the rows and checksums that the command printed with the copy. */
async function printedFaults(databaseUrl: string, printed: string): Promise<string[]> {
  const db = await openDatabase(databaseUrl, '/');
  const faults: string[] = [];
  try {
    for (const table of TABLE_NAMES) {
      const { rows, checksum } = await readTableChecksum(db, table);
      if (!new RegExp(`^${table} +${rows}  ${checksum}$`, 'm').test(printed)) faults.push(`${table} differs`);
    }
  } finally {
    await db.destroy();
  }
  return faults;
}

function command(store: Store, to: string) {
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, [COMMAND, '--to', to], {
    env: { PATH, DATABASE_URL: store.url },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  }
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  return { child, ended, output: () => text };
}

/** Kills a running backup. @returns whether it had finished before the kill */
async function killedBackup(store: Store, to: string, afterMs: number): Promise<boolean> {
  const { child, ended } = command(store, to);
  const timer = setTimeout(() => child.kill('SIGKILL'), afterMs);
  const code = await ended;
  clearTimeout(timer);
  return code === 0;
}

/**
 * An unfinished backup has no name yet, and its partial file is removed. A file with the name is complete, even if the command
 * was killed after that.
 */
async function leftFaults(to: string, finished: boolean): Promise<string[]> {
  const folder = join(to, '..');
  const names = (await readdir(folder)).map((name) => join(folder, name)).filter((path) => path.startsWith(to));
  const faults = names.includes(to) ? sqliteFaults(to) : [];
  if (finished && !names.includes(to)) faults.push(`${to} is not there, and the command says that it is`);
  for (const path of names) await rm(path, { force: true });
  return faults;
}
