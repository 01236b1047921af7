import { copyFile, readdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '@quartermaster/db/database.ts';
import { TABLE_NAMES } from '@quartermaster/db/stored-tables.ts';
import { contentsOf } from '@quartermaster/db/table-contents.ts';
import SqliteDatabase from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { databaseFile, newBootstrapKey } from './support/environment.ts';
import { runProgram, type ServiceProcess, startProcess } from './support/process.ts';
import { wire } from './support/wire.ts';

const COMMAND = fileURLToPath(new URL('../src/commands/backup.ts', import.meta.url));
const ADMIN = newBootstrapKey();
const HEADERS = { 'x-api-key': ADMIN, 'content-type': 'application/json' };

const environmentOf = (file: string) => ({
  ...{ DATABASE_URL: `sqlite:${file}`, QM_BOOTSTRAP_API_KEY: ADMIN, QM_LOG_LEVEL: 'error' },
});

function backup(file: string, to: string) {
  return runProgram(environmentOf(file), [COMMAND, '--to', to]);
}

async function create({ url }: ServiceProcess, id: string): Promise<number> {
  const body = JSON.stringify({ id, name: id, tenantId: 'acme' });
  return (await wire(url, { method: 'POST', target: '/v1/service-accounts', headers: HEADERS, body })).status;
}

async function openSession({ url }: ServiceProcess, gateway: string): Promise<number> {
  const post = (target: string, body: object) =>
    wire(url, { method: 'POST', target, headers: HEADERS, body: JSON.stringify(body) });
  const { id } = JSON.parse((await post('/v1/gateways', { name: gateway })).text);
  return (await post(`/v1/gateways/${id}/sessions`, {})).status;
}

async function end({ child, ended }: ServiceProcess): Promise<void> {
  child.kill('SIGTERM');
  await ended;
}

test('a backup under writes has all that was acknowledged before it, and a server starts on it', {
  timeout: 120_000,
}, async () => {
  const file = await databaseFile();
  const service = await startProcess(environmentOf(file));
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
  await expect.poll(() => acknowledged.length, { timeout: 30_000 }).toBeGreaterThan(50);
  const before = [...acknowledged];
  const to = join(dirname(file), 'backup.db');
  const command = backup(file, to);
  expect(await command.ended, command.output()).toEqual({ code: 0, signal: null });
  writing.abort();
  await Promise.all(writers);
  // Nobody waited for it: writes went on all the while.
  expect(acknowledged.length).toBeGreaterThan(before.length);
  await end(service);

  expect(command.output()).toContain('integrity check: ok; compared with the database: the same');
  expect((await stat(to)).mode & 0o777).toBe(0o600);
  expect((await readdir(dirname(to))).filter((name) => name.startsWith(basename(to)))).toEqual([basename(to)]);
  await copyFile(`${file}.key`, `${to}.key`);
  const restored = await startProcess(environmentOf(to));
  const there = idsIn(to);
  expect(there).toEqual(expect.arrayContaining(before));
  // The secrets open with the key that was kept, and the audit is whole.
  expect(await openSession(restored, 'again')).toBe(200);
  const answer = await wire(restored.url, { target: '/v1/audit-events/verify?tenant_id=acme', headers: HEADERS });
  expect(JSON.parse(answer.text)).toMatchObject({ status: 'intact', faults: [] });
});

test('the checksums that it prints are those of the database, and of the one that is restored from it', async () => {
  const file = await databaseFile();
  const service = await startProcess(environmentOf(file));
  for (const id of ['one', 'two', 'three']) expect(await create(service, id)).toBe(200);
  await end(service);
  const to = join(dirname(file), 'backup.db');
  const command = backup(file, to);
  expect(await command.ended, command.output()).toEqual({ code: 0, signal: null });
  for (const path of [file, to]) {
    const db = await openDatabase(`sqlite:${path}`, '/');
    for (const table of TABLE_NAMES) {
      const { rows, checksum } = await contentsOf(db, table);
      expect(command.output()).toMatch(new RegExp(`^${table} +${rows}  ${checksum}$`, 'm'));
    }
    await db.destroy();
  }
});

test('it overwrites nothing, leaves nothing behind where it fails, and says why in one line', async () => {
  const file = await databaseFile();
  const folder = dirname(file);
  const taken = join(folder, 'taken.db');
  const missing = backup(file, join(folder, 'none.db'));
  expect((await missing.ended).code).toBe(2);
  expect(missing.output()).toMatch(/^there is no database at [^\n]+\n$/);
  const service = await startProcess(environmentOf(file));
  await end(service);
  await writeFile(taken, 'kept');
  const refused = backup(file, taken);
  expect((await refused.ended).code).toBe(2);
  expect(refused.output()).toContain(`${taken} exists`);
  // Regression: it copied everything before it noticed.
  expect(refused.output()).not.toContain('pages');
  const nowhere = backup(file, join(folder, 'no-folder', 'backup.db'));
  expect((await nowhere.ended).code).toBe(2);
  expect((await readdir(folder)).filter((name) => name.includes('partial'))).toEqual([]);
  expect((await stat(taken)).size).toBe(4);
});

test('regression: half a move is not backed up, and neither is what never was a database of the service', async () => {
  const file = await databaseFile();
  await end(await startProcess(environmentOf(file)));
  const db = new SqliteDatabase(file);
  db.exec(`create table database_move (table_name text primary key, last_key text, copied integer);
    insert into database_move values ('', 'sqlite:/the/source.db', 0)`);
  db.close();
  const to = join(dirname(file), 'backup.db');
  const half = backup(file, to);
  expect((await half.ended).code, half.output()).toBe(2);
  expect(half.output()).toMatch(/^[^\n]+ an unfinished move from sqlite:\/the\/source\.db: [^\n]+\n$/);
  const other = join(dirname(file), 'other.db');
  await writeFile(other, '');
  const empty = backup(other, to);
  expect((await empty.ended).code, empty.output()).toBe(2);
  expect(empty.output()).toMatch(/^DATABASE_URL: the database has no schema of this service\n$/);
  expect((await readdir(dirname(file))).filter((name) => name.startsWith('backup'))).toEqual([]);
});

test.each([[['--to']], [[]], [['--to=']], [['--bogus', 'x']], [['--to', 'x', 'y']]])(
  'regression: arguments that it does not take are said in one line: %j',
  async (given) => {
    const { output, ended } = runProgram(environmentOf(await databaseFile()), [COMMAND, ...given]);
    expect((await ended).code, output()).toBe(2);
    expect(output()).toMatch(/^[^\n]+: usage: npm run backup -- --to <file>\n$/);
  },
);

test('--help says how it is used', async () => {
  const { output, ended } = runProgram({}, [COMMAND, '--help']);
  expect((await ended).code).toBe(0);
  expect(output()).toMatch(/^usage: npm run backup -- --to <file>\n/);
});

test('regression: a relative --to counts from where npm was called', async () => {
  const file = await databaseFile();
  await end(await startProcess(environmentOf(file)));
  const environment = { ...environmentOf(file), INIT_CWD: dirname(file) };
  const command = runProgram(environment, [COMMAND, '--to', 'relative.db']);
  expect(await command.ended, command.output()).toEqual({ code: 0, signal: null });
  expect((await stat(join(dirname(file), 'relative.db'))).size).toBeGreaterThan(0);
});

function idsIn(path: string): string[] {
  const db = new SqliteDatabase(path, { readonly: true });
  onTestFinished(() => void db.close());
  return db.prepare(`select id from service_accounts where tenant_id = 'acme'`).pluck().all() as string[];
}
