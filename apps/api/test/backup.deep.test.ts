import { copyFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '@quartermaster/db/open-database.ts';
import { TABLE_NAMES } from '@quartermaster/db/stored-tables.ts';
import { readTableChecksum } from '@quartermaster/db/table-checksum.ts';
import SqliteDatabase from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { runBackup } from '../src/commands/run-backup.ts';
import type { RunningServer } from '../src/server/start.ts';
import { runInProcess } from './support/command.ts';
import { databaseFile, newBootstrapKey } from './support/environment.ts';
import { runProgram } from './support/process.ts';
import { databaseServedOnce, startFailure, startService } from './support/start.ts';
import { wire } from './support/wire.ts';

const COMMAND = fileURLToPath(new URL('../src/commands/backup.ts', import.meta.url));
const ADMIN = newBootstrapKey();
const HEADERS = { 'x-api-key': ADMIN, 'content-type': 'application/json' };

const ENVIRONMENT = { QM_BOOTSTRAP_API_KEY: ADMIN, QM_LOG_LEVEL: 'error' };

const environmentOf = (file: string) => ({ DATABASE_URL: `sqlite:${file}`, ...ENVIRONMENT });

function backup(file: string, to: string) {
  return runInProcess(runBackup, ['--to', to], environmentOf(file));
}

async function create({ url }: RunningServer, id: string): Promise<number> {
  const body = JSON.stringify({ id, name: id, tenantId: 'acme' });
  return (await wire(url, { method: 'POST', target: '/v1/service-accounts', headers: HEADERS, body })).status;
}

async function openSession({ url }: RunningServer, gateway: string): Promise<number> {
  const post = (target: string, body: object) =>
    wire(url, { method: 'POST', target, headers: HEADERS, body: JSON.stringify(body) });
  const { id } = JSON.parse((await post('/v1/gateways', { name: gateway })).text);
  return (await post(`/v1/gateways/${id}/sessions`, {})).status;
}

test('the command copies a database during writes with all acknowledged ones, and a server starts on the copy', async () => {
  const file = await databaseFile();
  const service = await startService(environmentOf(file));
  expect(await openSession(service, 'edge')).toBe(200);
  const acknowledged: string[] = [];
  const writing = new AbortController();
  const writers = Array.from({ length: 4 }, async (_, writer) => {
    for (let count = 0; !writing.signal.aborted; count += 1) {
      const id = `writer-${writer}-${count}`;
      expect(await create(service, id)).toBe(200);
      acknowledged.push(id);
    }
  });
  await expect.poll(() => acknowledged.length).toBeGreaterThan(50);
  const before = [...acknowledged];
  const to = join(dirname(file), 'backup.db');
  const command = runProgram(environmentOf(file), [COMMAND, '--to', to]);
  expect(await command.ended, command.output()).toEqual({ code: 0, signal: null });
  writing.abort();
  await Promise.all(writers);
  // It did not block writers: writes went on meanwhile.
  expect(acknowledged.length).toBeGreaterThan(before.length);
  await service.stop();

  expect(command.stdout()).toContain('integrity check: ok; compared with the database: the same');
  expect(command.stderr()).toMatch(/^(database: \d+ of \d+ pages\n)+$/);
  expect((await stat(to)).mode & 0o777).toBe(0o600);
  expect((await readdir(dirname(to))).filter((name) => name.startsWith(basename(to)))).toEqual([basename(to)]);
  await copyFile(`${file}.key`, `${to}.key`);
  const restored = await startService(environmentOf(to));
  const there = idsIn(to);
  expect(there).toEqual(expect.arrayContaining(before));
  // The secrets can be decrypted with the same key, and the audit chain is intact.
  expect(await openSession(restored, 'again')).toBe(200);
  const answer = await wire(restored.url, { target: '/v1/audit-events/verify?tenant_id=acme', headers: HEADERS });
  expect(JSON.parse(answer.text)).toMatchObject({ status: 'intact', faults: [] });
});

// Regression: the service started, and the pages of the former log destroyed the restored database.
test('a restored copy is refused while the write-ahead log of the database that it replaced is there', async () => {
  const file = await databaseFile();
  const service = await startService(environmentOf(file));
  expect(await create(service, 'one')).toBe(200);
  await service.stop();
  const to = join(dirname(file), 'backup.db');
  expect(await backup(file, to)).toMatchObject({ code: 0 });
  // The log that a killed service leaves.
  const killed = new SqliteDatabase(file);
  killed.exec(`update tenants set display_name = 'new'`);
  await copyFile(`${file}-wal`, `${to}-wal`);
  killed.close();

  const failure = await startFailure(environmentOf(to));
  expect(failure).toEqual({
    message: `DATABASE_URL: the database was put in the place of another one, whose write-ahead log is still there: remove ${to}-wal and ${to}-shm`,
    exitCode: 2,
  });
  await rm(`${to}-wal`);
  await copyFile(`${file}.key`, `${to}.key`);
  await startService(environmentOf(to));
  expect(idsIn(to)).toContain('one');
});

test('it prints the checksums of the database, which are the same for the restored copy', async () => {
  const file = await databaseFile();
  const service = await startService(environmentOf(file));
  for (const id of ['one', 'two', 'three']) expect(await create(service, id)).toBe(200);
  await service.stop();
  const to = join(dirname(file), 'backup.db');
  const { code, stdout, stderr } = await backup(file, to);
  expect(code, stderr).toBe(0);
  for (const path of [file, to]) {
    const db = await openDatabase(`sqlite:${path}`, '/');
    for (const table of TABLE_NAMES) {
      const { rows, checksum } = await readTableChecksum(db, table);
      expect(stdout).toMatch(new RegExp(`^${table} +${rows}  ${checksum}$`, 'm'));
    }
    await db.destroy();
  }
});

test('it does not overwrite files, leaves no files after a failure, and reports the error in one line', async () => {
  const { file } = await databaseServedOnce(ENVIRONMENT);
  const folder = dirname(file);
  const taken = join(folder, 'taken.db');
  const missing = await backup(join(folder, 'missing.db'), join(folder, 'none.db'));
  expect(missing).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(/^there is no database at [^\n]+\n$/) });
  await writeFile(taken, 'kept');
  const refused = runProgram(environmentOf(file), [COMMAND, '--to', taken]);
  expect(await refused.ended).toEqual({ code: 2, signal: null });
  expect(refused.stdout()).toBe('');
  // Regression: it noticed the error only after it had copied everything and printed its progress.
  expect(refused.stderr()).toMatch(/^[^\n]+\n$/);
  expect(refused.stderr()).toContain(`${taken} exists`);
  const nowhere = await backup(file, join(folder, 'no-folder', 'backup.db'));
  expect([nowhere.code, nowhere.stdout]).toEqual([2, '']);
  expect((await readdir(folder)).filter((name) => name.includes('partial'))).toEqual([]);
  expect((await stat(taken)).size).toBe(4);
});

test('regression: it refuses a partly migrated database, and a database of another program', async () => {
  const { file } = await databaseServedOnce(ENVIRONMENT);
  const db = new SqliteDatabase(file);
  db.exec(`create table database_move (table_name text primary key, last_key text, copied integer);
    insert into database_move values ('', 'sqlite:/the/source.db', 0)`);
  db.close();
  const to = join(dirname(file), 'backup.db');
  const half = await backup(file, to);
  expect([half.code, half.stdout]).toEqual([2, '']);
  expect(half.stderr).toMatch(/^[^\n]+ an unfinished move from sqlite:\/the\/source\.db: [^\n]+\n$/);
  const other = join(dirname(file), 'other.db');
  await writeFile(other, '');
  const empty = await backup(other, to);
  expect([empty.code, empty.stdout]).toEqual([2, '']);
  expect(empty.stderr).toMatch(/^DATABASE_URL: the database has no schema of this service\n$/);
  expect((await readdir(dirname(file))).filter((name) => name.startsWith('backup'))).toEqual([]);
});

test.each([[['--to']], [[]], [['--to=']], [['--bogus', 'x']], [['--to', 'x', 'y']]])(
  'regression: it reports unknown arguments in one line: %j',
  async (given) => {
    const { code, stdout, stderr } = await runInProcess(runBackup, given, environmentOf(await databaseFile()));
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^[^\n]+: usage: npm run backup -- --to <file>\n$/);
  },
);

test('--help prints its usage', async () => {
  const { code, stdout, stderr } = await runInProcess(runBackup, ['--help']);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^usage: npm run backup -- --to <file>\n/);
});

test('regression: a relative --to is relative to the folder in which npm was called', async () => {
  const { file } = await databaseServedOnce(ENVIRONMENT);
  const environment = { ...environmentOf(file), INIT_CWD: dirname(file) };
  const { code, stderr } = await runInProcess(runBackup, ['--to', 'relative.db'], environment);
  expect(code, stderr).toBe(0);
  expect((await stat(join(dirname(file), 'relative.db'))).size).toBeGreaterThan(0);
});

function idsIn(path: string): string[] {
  const db = new SqliteDatabase(path, { readonly: true });
  onTestFinished(() => void db.close());
  return db.prepare(`select id from service_accounts where tenant_id = 'acme'`).pluck().all() as string[];
}
