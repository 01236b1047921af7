import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { Database } from '@quartermaster/db/database.ts';
import { openDatabase } from '@quartermaster/db/open-database.ts';
import { moveDatabase, type MoveOptions } from '@quartermaster/db/database-move.ts';
import { newAuditEventId } from '@quartermaster/db/ids.ts';
import { TABLE_NAMES } from '@quartermaster/db/stored-tables.ts';
import { readTableChecksum } from '@quartermaster/db/table-checksum.ts';
import { countedRecordBytes } from '@quartermaster/db/testing/record-bytes.ts';
import { scaled } from '@quartermaster/db/testing/scale.ts';
import { copyTestDatabase, newTestDatabase } from '@quartermaster/db/testing/test-database.ts';
import { sql } from 'kysely';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { runMigrateDatabase } from '../src/commands/run-migrate-database.ts';
import { runInProcess } from './support/command.ts';
import { databaseFile } from './support/environment.ts';
import { runProgram } from './support/process.ts';
import { makeRecords } from './support/records.ts';
import { startTestServer, type TestServer } from './support/server.ts';
import { startFailure, startService } from './support/start.ts';
import { wire } from './support/wire.ts';

const COMMAND = fileURLToPath(new URL('../src/commands/migrate-database.ts', import.meta.url));
const SECRET_KEY = randomBytes(32).toString('base64');

/** More than two batches of the copy and of the checksums, and not a multiple of either. */
const SEVERAL_BATCHES = 1200;

/** Enough events for a signal to reach the program while it copies them. */
const EVENTS_WHEN_KILLED = scaled({ usual: 4000, full: 30_000 });

/** Runs the program in a separate process. */
const spawnMove = (from: string, to: string) => runProgram({}, [COMMAND, '--from', from, '--to', to]);

/** Runs the command in this process. */
const move = (from: string, to: string) => runWith(['--from', from, '--to', to]);

function runWith(argv: readonly string[]) {
  const { signal } = new AbortController();
  return runInProcess((invocation) => runMigrateDatabase({ ...invocation, signal }), argv);
}

/** Runs the command in this process, and interrupts it when it begins to copy a table. */
function moveUpTo(table: string, [from, to]: readonly [string, string]) {
  const interrupted = new AbortController();
  return runInProcess(
    (invocation) => runMigrateDatabase({ ...invocation, signal: interrupted.signal }),
    ['--from', from, '--to', to],
    {},
    (text) => {
      if (text.startsWith(`${table}: `)) interrupted.abort();
    },
  );
}

/** The database of a stopped deployment with a record of every kind, for all tests of this file. None of them changes it. */
let deployed: Promise<TestServer> | undefined;
afterAll(async () => (await deployed)?.removeDatabase());

async function deploy(): Promise<TestServer> {
  const server = await startTestServer({ QM_SECRET_KEY: SECRET_KEY });
  await makeRecords(server);
  await server.services.audit.sealer.pass();
  await server.services.audit.refusals.flush('all');
  await server.end();
  return server;
}

/** A copy of that database, and the administrator's key. */
async function deployment(): Promise<{ url: string; admin: string }> {
  deployed ??= deploy();
  const { databaseUrl, admin } = await deployed;
  const { url, remove } = await copyTestDatabase(databaseUrl);
  onTestFinished(remove);
  return { url, admin: admin.key };
}

/** A database with only an administrator and this many additional audit events. */
async function auditEvents(count: number): Promise<string> {
  const server = await startTestServer({ QM_SECRET_KEY: SECRET_KEY });
  onTestFinished(() => server.removeDatabase());
  await fill(server.services.db, count);
  await server.end();
  return server.databaseUrl;
}

async function newUrl(schema: 'empty' | 'migrated'): Promise<string> {
  const { url, remove } = await newTestDatabase(schema);
  onTestFinished(remove);
  return url;
}

async function opened(url: string): Promise<Database> {
  const db = await openDatabase(url, '/');
  onTestFinished(() => db.destroy());
  return db;
}

/** The checksum of every table, and the bytes of records, which every database counts for itself. */
async function checksumsOf(url: string): Promise<Record<string, unknown>> {
  const db = await openDatabase(url, '/');
  try {
    const recordBytes = await countedRecordBytes(db);
    expect(Object.values(recordBytes).length).toBeGreaterThan(0);
    const contents = await Promise.all(
      TABLE_NAMES.map(async (table) => [table, await readTableChecksum(db, table)] as const),
    );
    return { recordBytes, ...Object.fromEntries(contents) };
  } finally {
    await db.destroy();
  }
}

async function tablesWithoutStatistics(url: string): Promise<string[]> {
  const db = await openDatabase(url, '/');
  try {
    const tables = sql.join(TABLE_NAMES.map((name) => sql.lit(name)));
    const { rows } = await sql<{ relname: string }>`
      select relname from pg_class where relname in (${tables}) and relkind = 'r' and reltuples < 0`.execute(db);
    return rows.map(({ relname }) => relname);
  } finally {
    await db.destroy();
  }
}

/** Begins a move and aborts it before the first row is copied. */
async function beginMove(source: Database, target: Database): Promise<void> {
  const stopping = new AbortController();
  const options = { origin: ORIGIN, onProgress: () => stopping.abort(), signal: stopping.signal };
  await expect(moveDatabase(source, target, options)).rejects.toThrow('aborted');
}

const ORIGIN = 'sqlite:/the/source.db';

test('a deployment is moved to a file and then to another database, and a server continues on it', async () => {
  const { url, admin } = await deployment();
  const before = await checksumsOf(url);
  const file = `sqlite:${await databaseFile()}`;
  const target = await newUrl('empty');
  for (const [from, to] of [
    [url, file],
    [file, target],
  ] as const) {
    const { code, stdout, stderr } = await move(from, to);
    expect(code, stderr).toBe(0);
    for (const table of TABLE_NAMES) expect(stdout).toMatch(new RegExp(`^${table} .+ same$`, 'm'));
    expect(stdout).toContain('moved. ');
    expect(await checksumsOf(to)).toEqual(before);
  }
  expect(await checksumsOf(url)).toEqual(before);
  if (target.startsWith('postgres')) expect(await tablesWithoutStatistics(target)).toEqual([]);

  const service = await startService({ DATABASE_URL: target, QM_SECRET_KEY: SECRET_KEY });
  const ask = async (path: string, method = 'GET') => {
    const headers = { 'x-api-key': admin };
    return JSON.parse((await wire(service.url, { method, target: path, headers })).text);
  };
  expect(await ask('/v1/audit-events/verify?tenant_id=records')).toMatchObject({ status: 'intact', faults: [] });
  const gateways = await ask('/v1/gateways?tenant_id=records');
  expect((await ask(`/v1/gateways/${gateways.items[0].id}/sessions`, 'POST')).status).toBe('active');
  expect(await ask(`/v1/traces/${'a1'.repeat(16)}/spans`)).toMatchObject({ items: [{ name: 'chat' }] });
});

test('all rows of a table with several batches are moved', async () => {
  const url = await auditEvents(SEVERAL_BATCHES);
  const target = await newUrl('migrated');
  const { code, stdout, stderr } = await move(url, target);
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/^audit_events +12\d\d +12\d\d .+ same$/m);
  const ids = async (db: Database) =>
    (await db.selectFrom('audit_events').select('id').orderBy('id').execute()).map(({ id }) => id);
  expect(await ids(await opened(target))).toEqual(await ids(await opened(url)));
});

test('a move that is interrupted several times copies each row once', async () => {
  const { url } = await deployment();
  const [source, target] = [await opened(url), await opened(await newUrl('migrated'))];
  const batches: string[] = [];
  /** Copies up to eight batches. */
  const step = async () => {
    const stopping = new AbortController();
    const seen = new Map<string, number>();
    const options: MoveOptions = {
      origin: ORIGIN,
      signal: stopping.signal,
      batchSize: 2,
      onProgress({ table, rows }) {
        const before = seen.get(table);
        seen.set(table, rows);
        if (before === undefined) return;
        batches.push(`${table} ${before} to ${rows}`);
        if (batches.length % 8 === 0) stopping.abort();
      },
    };
    return moveDatabase(source, target, options).catch((error: Error) => {
      if (!stopping.signal.aborted) throw error;
      return null;
    });
  };
  let moved = null;
  let runs = 0;
  while (moved === null && runs < 50) {
    moved = await step();
    runs += 1;
  }
  expect(runs).toBeGreaterThan(3);
  expect(moved?.filter(({ from, to }) => from.checksum !== to.checksum)).toEqual([]);
  const expected = (moved ?? []).flatMap(({ table, from }) =>
    Array.from({ length: Math.ceil(from.rows / 2) }, (_, batch) => {
      return `${table} ${batch * 2} to ${Math.min(batch * 2 + 2, from.rows)}`;
    }),
  );
  expect(batches).toEqual(expected);
});

test('after a kill -9 the same command continues the move where it stopped', async () => {
  const url = await auditEvents(EVENTS_WHEN_KILLED);
  const target = await newUrl('migrated');
  const begun = spawnMove(url, target);
  const progress = await opened(target);
  const copied = async () => {
    const tables = await progress.introspection.getTables();
    if (!tables.some(({ name }) => name === 'database_move')) return 0;
    const query = sql<{ copied: number }>`select copied from database_move where table_name = 'audit_events'`;
    return Number((await query.execute(progress)).rows[0]?.copied ?? 0);
  };
  await expect.poll(copied, { interval: 1 }).toBeGreaterThan(0);
  begun.child.kill('SIGKILL');
  expect(await begun.ended).toEqual({ code: null, signal: 'SIGKILL' });
  const done = await copied();
  expect(done).toBeLessThan(EVENTS_WHEN_KILLED);

  const other = await move(`sqlite:${await filledFile()}`, target);
  expect([other.code, other.stdout]).toEqual([2, '']);
  expect(other.stderr).toContain('unfinished move from');
  const again = await move(url, target);
  expect(again.code, again.stderr).toBe(0);
  expect(Number(/^audit_events: (\d+) of/m.exec(again.stderr)?.[1])).toBeGreaterThanOrEqual(done);
  expect(await checksumsOf(target)).toEqual(await checksumsOf(url));
});

test('SIGINT ends the program between two batches, and the same command continues it', async () => {
  const url = await auditEvents(EVENTS_WHEN_KILLED);
  const target = await newUrl('migrated');
  const command = spawnMove(url, target);
  await expect.poll(command.stderr, { interval: 1 }).toContain('audit_events: ');
  command.child.kill('SIGINT');
  expect(await command.ended, command.output()).toEqual({ code: 130, signal: null });
  expect(command.stdout()).toBe('');
  expect(command.stderr()).toMatch(/\ninterrupted: run the same command again to continue\n$/);
  const again = spawnMove(url, target);
  expect(await again.ended, again.output()).toEqual({ code: 0, signal: null });
  expect(again.stdout()).toMatch(/\nmoved\. [^\n]+\n$/);
  expect(again.stderr()).toMatch(/^(\w+: \d+ of \d+ rows\n)+$/);
});

test('the source refuses writes during the move, and accepts them afterwards', async () => {
  const { url } = await deployment();
  const [source, target, other] = [await opened(url), await opened(await newUrl('migrated')), await opened(url)];
  const write = () => other.updateTable('tenants').set({ display_name: 'written' }).execute();
  const refused: Promise<unknown>[] = [];
  let isWritten = false;
  let isWrittenWhileMoving = false;
  await moveDatabase(source, target, {
    origin: 'test',
    signal: new AbortController().signal,
    onProgress: () => {
      isWrittenWhileMoving ||= isWritten;
      if (refused.length === 0)
        refused.push(
          write().then(
            () => {
              isWritten = true;
              return 'written';
            },
            (error: Error) => error.name,
          ),
        );
    },
  });
  // A write is either refused during the move, or done after it.
  const [expected] = await Promise.all(refused);
  expect(isWrittenWhileMoving).toBe(false);
  expect(['DatabaseUnavailableError', 'written']).toContain(expected);
  expect(
    (await readTableChecksum(target, 'tenants')).checksum === (await readTableChecksum(source, 'tenants')).checksum,
  ).toBe(expected !== 'written');
  await write();
});

test('a move fails if the source was written to between two runs', async () => {
  const { url } = await deployment();
  const target = await newUrl('migrated');
  const interrupted = await moveUpTo('trace_blocks', [url, target]);
  expect([interrupted.code, interrupted.stdout]).toEqual([130, '']);
  expect(interrupted.stderr).toMatch(/\ninterrupted: run the same command again to continue\n$/);
  await (await opened(url)).updateTable('providers').set({ display_name: 'changed meanwhile' }).execute();
  const { code, stdout, stderr } = await move(url, target);
  expect(code).toBe(1);
  expect(stderr).toMatch(/\nthe target differs: [^\n]+\n$/);
  expect(stdout).not.toContain('moved. ');
  expect(stdout.match(/^\w+(?= .*DIFFERS$)/gm)).toEqual(['providers']);
  expect(await startFailure({ DATABASE_URL: target, QM_SECRET_KEY: SECRET_KEY })).toMatchObject({ exitCode: 2 });
});

test('regression: a server does not start on a partly moved database, and starts once the move is finished', async () => {
  const { url } = await deployment();
  const target = await newUrl('migrated');
  const [source, half] = [await opened(url), await opened(target)];
  await beginMove(source, half);
  const environment = { DATABASE_URL: target, QM_SECRET_KEY: SECRET_KEY };
  const { message, exitCode } = await startFailure(environment);
  expect(exitCode).toBe(2);
  expect(message).toMatch(/^DATABASE_URL: [^\n]+ an unfinished move from sqlite:\/the\/source\.db: [^\n]+$/);
  const { signal } = new AbortController();
  const moved = await moveDatabase(source, half, { origin: ORIGIN, onProgress: () => {}, signal });
  expect(moved.filter(({ from, to }) => from.checksum !== to.checksum)).toEqual([]);
  await startService(environment);
});

test('regression: a partly moved database cannot be the source of a move', async () => {
  const half = await newUrl('migrated');
  await beginMove(await opened(await newUrl('migrated')), await opened(half));
  const target = await newUrl('empty');
  const { code, stdout, stderr } = await move(half, target);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^the source holds an unfinished move from sqlite:\/the\/source\.db: [^\n]+\n$/);
  // No database was created there.
  expect(await (await opened(target)).introspection.getTables()).toEqual([]);
});

test('regression: a source without any table is refused in one line', async () => {
  const [from, to] = [await newUrl('empty'), await newUrl('empty')];
  await sql`select 1`.execute(await opened(from));
  const { code, stdout, stderr } = await move(from, to);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^the source has the schema none, this version has [^\n]+\n$/);
});

test.each([
  [['--from', 'sqlite:hunter2', '--to'], /^an option has no value[^\n]+: usage: [^\n]+\n$/],
  [['--from', 'sqlite:hunter2'], /^--to is missing: usage: [^\n]+\n$/],
  [['--bogus', 'hunter2'], /^unknown option: usage: [^\n]+\n$/],
  [['postgres://me:hunter2@localhost/qm'], /^too many arguments: usage: [^\n]+\n$/],
])('regression: unknown arguments are reported in one line, and not repeated: %#', async (given, expected) => {
  const { code, stdout, stderr } = await runWith(given);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(expected);
  expect(stderr).not.toContain('hunter2');
});

test('regression: for a server that is down the program exits with code 1, and prints one line to stderr only', async () => {
  const { stdout, stderr, ended } = spawnMove('postgres://me:hunter2@127.0.0.1:1/qm', 'sqlite:/dev/null/x.db');
  expect(await ended).toEqual({ code: 1, signal: null });
  expect(stdout()).toBe('');
  const reason = '--from: the database cannot be used: connect ECONNREFUSED 127.0.0.1:1';
  expect(stderr()).toBe(`a database is busy or away: ${reason}: run the same command again to continue\n`);
});

test('--help prints its usage', async () => {
  const { code, stdout, stderr } = await runWith(['--help']);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^usage: npm run migrate-database -- --from <url> --to <url>\n/);
});

test('it refuses databases that it cannot move in one line, and changes nothing', async () => {
  const url = await auditEvents(1);
  const empty = await databaseFile();
  const full = `sqlite:${await filledFile()}`;
  const before = await checksumsOf(full);
  const rows: [string, string, RegExp][] = [
    [url, full, /^the target is not empty: its table \w+ has rows\n$/],
    [url, url, /^the source and the target are the same database\n$/],
    [`sqlite:${empty}`, full, /^there is no database at [^\n]+\n$/],
    ['mysql://x', full, /^a database is [^\n]+\n$/],
  ];
  for (const [from, to, expected] of rows) {
    expect(await move(from, to)).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(expected) });
  }
  expect(await checksumsOf(full)).toEqual(before);
  const old = await opened(`sqlite:${empty}`);
  await sql`create table kysely_migration (name text primary key, timestamp text)`.execute(old);
  const { code, stdout, stderr } = await move(`sqlite:${empty}`, await newUrl('empty'));
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^the source has the schema none, this version has [^\n]+\n$/);
});

/** A database file on which a server was started. */
async function filledFile(): Promise<string> {
  const file = await databaseFile();
  const server = await startTestServer({ DATABASE_URL: `sqlite:${file}`, QM_SECRET_KEY: SECRET_KEY });
  await server.end();
  return file;
}

/** Inserts this many copies of an audit event. */
async function fill(db: Database, count: number): Promise<void> {
  const { id: _id, ...event } = await db.selectFrom('audit_events').selectAll().limit(1).executeTakeFirstOrThrow();
  const columns = sql.join(Object.keys(event).map((column) => sql.ref(column)));
  await sql`
    with recursive numbers(number) as (select 1 union all select number + 1 from numbers where number < ${sql.lit(count)})
    insert into audit_events (id, ${columns})
    select ${sql.lit(newAuditEventId(new Date()))} || number, ${columns}
    from numbers cross join (select * from audit_events limit 1) as event`.execute(db);
}
