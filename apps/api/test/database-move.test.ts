import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { type Database, openDatabase } from '@quartermaster/db/database.ts';
import { moveDatabase } from '@quartermaster/db/database-move.ts';
import { newAuditEventId } from '@quartermaster/db/ids.ts';
import { TABLE_NAMES } from '@quartermaster/db/stored-tables.ts';
import { contentsOf } from '@quartermaster/db/table-contents.ts';
import { newTestDatabase } from '@quartermaster/db/testing/test-database.ts';
import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { databaseFile } from './support/environment.ts';
import { runProgram, startProcess } from './support/process.ts';
import { makeRecords } from './support/records.ts';
import { startTestServer } from './support/server.ts';
import { wire } from './support/wire.ts';

const COMMAND = fileURLToPath(new URL('../src/commands/migrate-database.ts', import.meta.url));
const SECRET_KEY = randomBytes(32).toString('base64');

const move = (from: string, to: string) => runProgram({}, [COMMAND, '--from', from, '--to', to]);

/** A deployment with a record of every kind, whose server has ended. Answers its database, and the administrator's key. */
async function deployment(): Promise<{ url: string; admin: string }> {
  const server = await startTestServer({ QM_SECRET_KEY: SECRET_KEY });
  onTestFinished(() => server.removeDatabase());
  await makeRecords(server);
  await server.services.sealer.pass();
  await server.services.refusals.flush('all');
  await server.end();
  return { url: server.databaseUrl, admin: server.admin.key };
}

async function emptyUrl(): Promise<string> {
  const { url, remove } = await newTestDatabase('empty');
  onTestFinished(remove);
  return url;
}

async function opened(url: string): Promise<Database> {
  const db = await openDatabase(url, '/');
  onTestFinished(() => db.destroy());
  return db;
}

async function checksumsOf(url: string): Promise<Record<string, unknown>> {
  const db = await openDatabase(url, '/');
  try {
    const contents = await Promise.all(TABLE_NAMES.map(async (table) => [table, await contentsOf(db, table)] as const));
    return Object.fromEntries(contents);
  } finally {
    await db.destroy();
  }
}

test('a deployment moves to a file and on to another database, and a server goes on there', {
  timeout: 120_000,
}, async () => {
  const { url, admin } = await deployment();
  const before = await checksumsOf(url);
  const file = `sqlite:${await databaseFile()}`;
  const target = await emptyUrl();
  for (const [from, to] of [
    [url, file],
    [file, target],
  ] as const) {
    const command = move(from, to);
    expect(await command.ended, command.output()).toEqual({ code: 0, signal: null });
    for (const table of TABLE_NAMES) expect(command.output()).toMatch(new RegExp(`^${table} .+ same$`, 'm'));
    expect(command.output()).toContain('moved. ');
    expect(await checksumsOf(to)).toEqual(before);
  }
  expect(await checksumsOf(url)).toEqual(before);

  const service = await startProcess({ DATABASE_URL: target, QM_SECRET_KEY: SECRET_KEY, QM_LOG_LEVEL: 'error' });
  const ask = async (path: string, method = 'GET') => {
    const headers = { 'x-api-key': admin };
    return JSON.parse((await wire(service.url, { method, target: path, headers })).text);
  };
  expect(await ask('/v1/audit-events/verify?tenant_id=records')).toMatchObject({ status: 'intact', faults: [] });
  const gateways = await ask('/v1/gateways?tenant_id=records');
  expect((await ask(`/v1/gateways/${gateways.items[0].id}/sessions`, 'POST')).status).toBe('active');
  expect(await ask(`/v1/traces/${'a1'.repeat(16)}/spans`)).toMatchObject({ items: [{ name: 'chat' }] });
});

test('a move that is killed goes on with the same command, from where it was', { timeout: 180_000 }, async () => {
  const { url } = await deployment();
  await fill(await opened(url), 30_000);
  const target = await emptyUrl();
  const begun = move(url, target);
  const progress = await opened(target);
  const copied = async () => {
    const tables = await progress.introspection.getTables();
    if (!tables.some(({ name }) => name === 'database_move')) return 0;
    const query = sql<{ copied: number }>`select copied from database_move where table_name = 'audit_events'`;
    return Number((await query.execute(progress)).rows[0]?.copied ?? 0);
  };
  await expect.poll(copied, { interval: 5, timeout: 60_000 }).toBeGreaterThan(0);
  begun.child.kill('SIGKILL');
  expect(await begun.ended).toEqual({ code: null, signal: 'SIGKILL' });
  const done = await copied();
  expect(done).toBeLessThan(30_000);

  const other = move(`sqlite:${await filledFile()}`, target);
  expect((await other.ended).code).toBe(2);
  expect(other.output()).toContain('unfinished move from');
  const again = move(url, target);
  expect(await again.ended, again.output()).toEqual({ code: 0, signal: null });
  expect(Number(/^audit_events: (\d+) of/m.exec(again.output())?.[1])).toBeGreaterThanOrEqual(done);
  expect(await checksumsOf(target)).toEqual(await checksumsOf(url));
});

test('SIGINT ends it between two batches, and the same command goes on', { timeout: 120_000 }, async () => {
  const { url } = await deployment();
  await fill(await opened(url), 30_000);
  const target = await emptyUrl();
  const command = move(url, target);
  await expect.poll(() => command.output(), { interval: 5, timeout: 60_000 }).toContain('audit_events: ');
  command.child.kill('SIGINT');
  expect(await command.ended, command.output()).toEqual({ code: 130, signal: null });
  expect(command.output()).toContain('interrupted: the same command goes on from here');
  const again = move(url, target);
  expect(await again.ended, again.output()).toEqual({ code: 0, signal: null });
});

test('while it runs the source takes no writes, and afterwards it does', async () => {
  const { url } = await deployment();
  const [source, target, other] = [await opened(url), await opened(await emptyUrl()), await opened(url)];
  const write = () => other.updateTable('tenants').set({ display_name: 'written' }).execute();
  const refused: Promise<unknown>[] = [];
  await moveDatabase(source, target, {
    ...{ origin: 'test', signal: new AbortController().signal },
    onProgress: () => {
      if (refused.length === 0)
        refused.push(
          write().then(
            () => 'written',
            (error: Error) => error.name,
          ),
        );
    },
  });
  // Refused while the move took its time, or done after it: never in between.
  const [said] = await Promise.all(refused);
  expect(['DatabaseUnavailableError', 'written']).toContain(said);
  expect((await contentsOf(target, 'tenants')).checksum === (await contentsOf(source, 'tenants')).checksum).toBe(
    said !== 'written',
  );
  await write();
});

test('what was written to the source between two runs is found: the target is not finished', {
  timeout: 60_000,
}, async () => {
  const { url } = await deployment();
  const [source, target] = [await opened(url), await opened(await emptyUrl())];
  const stopping = new AbortController();
  const options = {
    origin: 'test',
    onProgress: ({ table }: { table: string }) => table === 'spans' && stopping.abort(),
  };
  await expect(moveDatabase(source, target, { ...options, signal: stopping.signal })).rejects.toThrow('aborted');
  await source.updateTable('providers').set({ display_name: 'changed meanwhile' }).execute();
  const moved = await moveDatabase(source, target, { ...options, signal: new AbortController().signal });
  const different = moved.filter(({ from, to }) => from.checksum !== to.checksum).map(({ table }) => table);
  expect(different).toEqual(['providers']);
});

test('regression: a server does not start on a half-finished move, and does once it is finished', async () => {
  const { url } = await deployment();
  const target = await emptyUrl();
  const [source, half] = [await opened(url), await opened(target)];
  const stopping = new AbortController();
  const options = { origin: 'sqlite:/the/source.db', onProgress: () => stopping.abort() };
  await expect(moveDatabase(source, half, { ...options, signal: stopping.signal })).rejects.toThrow('aborted');
  const environment = { DATABASE_URL: target, QM_SECRET_KEY: SECRET_KEY, QM_LOG_LEVEL: 'error' };
  const refused = runProgram({ PORT: '0', ...environment });
  expect((await refused.ended).code, refused.output()).toBe(2);
  expect(refused.output()).toMatch(/^DATABASE_URL: [^\n]+ an unfinished move from sqlite:\/the\/source\.db: [^\n]+\n$/);
  const moved = await moveDatabase(source, half, { ...options, signal: new AbortController().signal });
  expect(moved.filter(({ from, to }) => from.checksum !== to.checksum)).toEqual([]);
  await startProcess(environment);
});

test('regression: half a move is no source, however it came to its end', { timeout: 60_000 }, async () => {
  const { url } = await deployment();
  const half = await emptyUrl();
  const stopping = new AbortController();
  const options = { origin: 'sqlite:/the/source.db', onProgress: () => stopping.abort() };
  const moving = moveDatabase(await opened(url), await opened(half), { ...options, signal: stopping.signal });
  await expect(moving).rejects.toThrow('aborted');
  const target = await emptyUrl();
  const command = move(half, target);
  expect((await command.ended).code, command.output()).toBe(2);
  expect(command.output()).toMatch(/^the source holds an unfinished move from sqlite:\/the\/source\.db: [^\n]+\n$/);
  // Nothing was made there.
  expect(await (await opened(target)).introspection.getTables()).toEqual([]);
});

test('regression: a source without any table is refused in one line', async () => {
  const [from, to] = [await emptyUrl(), await emptyUrl()];
  await sql`select 1`.execute(await opened(from));
  const command = move(from, to);
  expect((await command.ended).code, command.output()).toBe(2);
  expect(command.output()).toMatch(/^the source has the schema none, this version has [^\n]+\n$/);
});

test.each([
  [['--from', 'sqlite:hunter2', '--to'], /^an option is without its value[^\n]+: usage: [^\n]+\n$/],
  [['--from', 'sqlite:hunter2'], /^--to is missing: usage: [^\n]+\n$/],
  [['--bogus', 'hunter2'], /^there is no such option: usage: [^\n]+\n$/],
  [['postgres://me:hunter2@localhost/qm'], /^there is an argument too many: usage: [^\n]+\n$/],
])('regression: arguments that it does not take are said in one line, and not repeated: %#', async (given, said) => {
  const { output, ended } = runProgram({}, [COMMAND, ...given]);
  expect((await ended).code, output()).toBe(2);
  expect(output()).toMatch(said);
  expect(output()).not.toContain('hunter2');
});

test('--help says how it is used', async () => {
  const { output, ended } = runProgram({}, [COMMAND, '--help']);
  expect((await ended).code).toBe(0);
  expect(output()).toMatch(/^usage: npm run migrate-database -- --from <url> --to <url>\n/);
});

test('it refuses what it cannot move, in one line, and changes nothing', { timeout: 60_000 }, async () => {
  const { url } = await deployment();
  const empty = await databaseFile();
  const full = `sqlite:${await filledFile()}`;
  const rows: [string, string, RegExp][] = [
    [url, full, /^the target is not empty: its table users has rows\n$|^the target is not empty: [^\n]+\n$/],
    [url, url, /^the source and the target are the same database\n$/],
    [`sqlite:${empty}`, full, /^there is no database at [^\n]+\n$/],
    ['mysql://x', full, /^a database is [^\n]+\n$/],
  ];
  for (const [from, to, said] of rows) {
    const command = move(from, to);
    expect((await command.ended).code).toBe(2);
    expect(command.output()).toMatch(said);
  }
  const old = await opened(`sqlite:${empty}`);
  await sql`create table kysely_migration (name text primary key, timestamp text)`.execute(old);
  const command = move(`sqlite:${empty}`, await emptyUrl());
  expect((await command.ended).code).toBe(2);
  expect(command.output()).toMatch(/^the source has the schema none, this version has [^\n]+\n$/);
});

/** A file that a server has been started on. */
async function filledFile(): Promise<string> {
  const file = await databaseFile();
  const server = await startTestServer({ DATABASE_URL: `sqlite:${file}`, QM_SECRET_KEY: SECRET_KEY });
  await server.end();
  return file;
}

/** So many audit events more, of the same kind as one that is there. */
async function fill(db: Database, count: number): Promise<void> {
  const { id: _id, ...event } = await db.selectFrom('audit_events').selectAll().limit(1).executeTakeFirstOrThrow();
  const columns = sql.join(Object.keys(event).map((column) => sql.ref(column)));
  await sql`
    with recursive numbers(number) as (select 1 union all select number + 1 from numbers where number < ${sql.lit(count)})
    insert into audit_events (id, ${columns})
    select ${sql.lit(newAuditEventId(new Date()))} || number, ${columns}
    from numbers cross join (select * from audit_events limit 1) as event`.execute(db);
}
