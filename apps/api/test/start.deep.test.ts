import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, open, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { runAdminKey } from '../src/commands/run-admin-key.ts';
import { ConfigError, ROOT, VERSION } from '../src/config.ts';
import { readArguments } from '../src/server/arguments.ts';
import { runInProcess } from './support/command.ts';
import { freePort } from '@quartermaster/db/testing/free-port.ts';
import { databaseFile } from './support/environment.ts';
import { MAIN, runProgram, startProcess } from './support/process.ts';
import { databaseServedOnce, startFailure, startService, statusWith } from './support/start.ts';
import { wire } from './support/wire.ts';

const HELP = /^Usage: main\.ts \[/;

const SECRET_KEY = Buffer.alloc(32, 7).toString('base64');

test('regression: npm scripts that need the bundled Node install it first, without output on stdout', async () => {
  const { scripts } = JSON.parse(await readFile(`${ROOT}/package.json`, 'utf8')) as { scripts: Record<string, string> };
  const [install] = scripts['start']?.split(' && ') ?? [];
  expect(install).toBe('node scripts/install.js server');
  for (const name of ['dev-token', 'admin-key', 'backup', 'migrate-database', 'remove-development-users']) {
    expect(scripts[name], name).toMatch(/ && exec node apps\/\S+\.ts$/);
    expect(scripts[name]?.split(' && ')[0], name).toBe(install);
  }
  const { stdout } = spawnSync('node', ['scripts/install.js', 'server'], { cwd: ROOT, encoding: 'utf8' });
  expect(stdout).toBe('');
});

describe('the program', () => {
  test('exits with code 2 for an invalid setting, and prints the error to stderr only, without a stack trace', async () => {
    const file = await databaseFile();
    const { stdout, stderr, ended } = runProgram({ PORT: 'hunter2', DATABASE_URL: `sqlite:${file}` });
    expect(await ended).toEqual({ code: 2, signal: null });
    expect(stdout()).toBe('');
    expect(stderr()).toMatch(/^PORT: [^\n]+\n$/);
    expect(stderr()).not.toContain('hunter2');
    expect(existsSync(file)).toBe(false);
  });

  test('regression: exits with code 1 if the database server is down, and prints the error without a stack trace or password', async () => {
    const database = { DATABASE_URL: 'postgres://me:hunter2@127.0.0.1:1/qm', QM_SECRET_KEY: SECRET_KEY };
    const { stdout, stderr, ended } = runProgram({ PORT: '0', ...database });
    expect(await ended).toEqual({ code: 1, signal: null });
    expect(stdout()).toBe('');
    expect(stderr()).toBe('DATABASE_URL: the database cannot be used: connect ECONNREFUSED 127.0.0.1:1\n');
  });

  test.each([
    { message: 'server login has been failing, try again later (server_login_retry)', exitCode: 1 },
    { message: 'no more connections allowed (max_client_conn)', exitCode: 1 },
    { message: 'SASL authentication failed', exitCode: 2 },
  ])('regression: exits with code $exitCode if PgBouncer answers: $message', async ({ message, exitCode }) => {
    const pooler = createServer(
      (socket) => void socket.once('data', () => socket.end(errorResponse('08P01', message))),
    );
    pooler.listen(0, '127.0.0.1');
    onTestFinished(() => void pooler.close());
    await once(pooler, 'listening');
    const { port } = pooler.address() as AddressInfo;
    const database = { DATABASE_URL: `postgres://me@127.0.0.1:${port}/qm`, QM_SECRET_KEY: SECRET_KEY };
    expect(await startFailure(database)).toEqual({
      message: `DATABASE_URL: the database cannot be used: ${message}`,
      exitCode,
    });
  });

  test('regression: exits with code 1 if the database server does not answer in time', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void silent.close());
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const database = { DATABASE_URL: `postgres://me@127.0.0.1:${port}/qm`, QM_SECRET_KEY: SECRET_KEY };
    expect(await startFailure(database)).toEqual({
      message: 'DATABASE_URL: the database cannot be used: Connection terminated due to connection timeout',
      exitCode: 1,
    });
  });

  test('regression: prints log lines without secrets if stdout is not a terminal, and writes the bootstrap key to a file', async () => {
    const file = await databaseFile();
    const { url, stdout } = await startProcess({ DATABASE_URL: `sqlite:${file}`, QM_DEV_IDENTITY: '1' });
    const lines = stdout().trimEnd().split('\n');
    const logged = lines.map((line) => JSON.parse(line) as Record<string, string>);
    expect(stdout()).not.toMatch(/qm_|secret=/);
    const keyFile = `${file}.bootstrap-key`;
    expect(logged.map(({ msg }) => msg).join('\n')).toMatch(`bootstrap API key file: ${keyFile} `);
    expect(logged.find(({ bootstrapKeyFile }) => bootstrapKeyFile)).toMatchObject({ bootstrapKeyFile: keyFile });
    expect(logged.find((line) => line.url)).toMatchObject({
      url,
      msg: `Quartermaster listens on ${url} (version ${VERSION})`,
    });
    expect((await stat(keyFile)).mode & 0o777).toBe(0o600);
    expect(await statusWith(url, (await readFile(keyFile, 'utf8')).trim())).toBe(200);
    expect(await readdir(dirname(file))).not.toContainEqual(expect.stringMatching(/bootstrap-key\.\d+$/));
  });

  test('regression: writes its start lines at every QM_LOG_LEVEL', async () => {
    const DATABASE_URL = `sqlite:${await databaseFile()}`;
    const { stdout } = await startProcess({ DATABASE_URL, QM_LOG_LEVEL: 'silent' });
    expect(stdout()).toContain('bootstrap API key file: ');
  });

  test('regression: --production --help prints its output, and starts nothing', async () => {
    const file = await databaseFile();
    const environment = { DATABASE_URL: `sqlite:${file}`, PORT: 'x' };
    const { stdout, stderr, ended } = runProgram(environment, [MAIN, '--production', '--help']);
    expect([await ended, stderr()]).toEqual([{ code: 0, signal: null }, '']);
    expect(stdout()).toMatch(HELP);
    expect(existsSync(file)).toBe(false);
  });

  test('regression: an unknown argument exits with code 2 and the usage, and starts nothing', async () => {
    const file = await databaseFile();
    const { stdout, stderr, ended } = runProgram({ DATABASE_URL: `sqlite:${file}` }, [MAIN, 'hunter2']);
    expect([await ended, stdout()]).toEqual([{ code: 2, signal: null }, '']);
    expect(stderr()).toMatch(/^[^\n]+: usage: main\.ts \[[^\n]+\n$/);
    expect(stderr()).not.toContain('hunter2');
    expect(existsSync(file)).toBe(false);
  });
});

test('the memory that loading the modules took is returned to the system', async () => {
  const { child } = await startProcess({ DATABASE_URL: `sqlite:${await databaseFile()}` });
  const megabytes = () =>
    Number(spawnSync('ps', ['-o', 'rss=', '-p', `${child.pid}`], { encoding: 'utf8' }).stdout) / 1024;
  // About 140, and 250 without it.
  await expect.poll(megabytes, { timeout: 10_000 }).toBeLessThan(190);
});

describe('the arguments', () => {
  test.each([
    ['--help', HELP],
    ['-h', HELP],
    ['--version', /^0\.1\.0\n$/],
    ['-v', /^0\.1\.0\n$/],
  ])('regression: %s asks for a text instead of a start', (argument, text) => {
    expect(readArguments([argument])).toEqual({ mode: null, text: expect.stringMatching(text) });
  });

  test.each([['--bogus'], ['hunter2'], ['--development', '--production'], ['--help=x']])(
    'regression: %s %s is refused with the usage, and not repeated',
    (...argv) => {
      expect(() => readArguments(argv)).toThrow(ConfigError);
      expect(() => readArguments(argv)).toThrow(/^[^\n]+: usage: main\.ts \[[^\n]+$/);
      expect(() => readArguments(argv)).not.toThrow(/hunter2/);
    },
  );
});

describe('a start', () => {
  test('regression: a path that is not a database is reported in one line by the service and its commands', async () => {
    const file = await databaseFile();
    await writeFile(file, 'no database '.repeat(100));
    for (const path of [file, '/dev/null/x.db', '/proc/nope/x.db', join(file, '..', 'none', 'none', 'x.db')]) {
      const DATABASE_URL = `sqlite:${path}`;
      const failure = await startFailure({ DATABASE_URL });
      expect(failure.exitCode, path).toBe(2);
      expect(failure.message).toMatch(/^DATABASE_URL: the database cannot be used: [^\n]+$/);
      const command = await runInProcess(runAdminKey, [], { DATABASE_URL });
      expect(command).toMatchObject({ code: 2, stdout: '' });
      expect(command.stderr).toMatch(
        /^(DATABASE_URL: the database cannot be used: |there is no database at )[^\n]+\n$/,
      );
    }
  });

  test.each(['no-such-host.invalid', '192.0.2.1', '1.2.3.4.5'])(
    'regression: a HOST that the server cannot listen on is reported in one line: %s',
    async (HOST) => {
      const failure = await startFailure({ HOST, DATABASE_URL: `sqlite:${await databaseFile()}` });
      expect(failure).toEqual({ message: expect.stringMatching(/^HOST: [^\n]+$/), exitCode: 2 });
    },
  );

  test.each([
    ['create table users (mine text)', /^DATABASE_URL: the database has a table users of another application: [^\n]+$/],
    // Regression: the tables of the service were added to it.
    ['create table notes (mine text)', /^DATABASE_URL: the database has a table notes of another application: [^\n]+$/],
    [
      `create table kysely_migration (name text, timestamp text);
      insert into kysely_migration values ('0001-baseline', ''), ('9999-x', '')`,
      /^DATABASE_URL: the database has the migration 9999-x, which this version does not know: [^\n]+$/,
    ],
    [
      `create table kysely_migration (name text, timestamp text);
      insert into kysely_migration values ('0001-initial', ''), ('0002-governance-loop', '')`,
      /^DATABASE_URL: the database was made by a version before the first release, [^\n]+: use an empty database$/,
    ],
  ])(
    'regression: a foreign, newer or unreleased schema is refused in one line, and not changed: %s',
    async (schema, message) => {
      const file = await databaseFile();
      const db = new SqliteDatabase(file);
      onTestFinished(() => void db.close());
      db.exec(schema);
      const failure = await startFailure({ DATABASE_URL: `sqlite:${file}` });
      expect(failure).toEqual({ message: expect.stringMatching(message), exitCode: 2 });
      expect(db.prepare('select count(*) from sqlite_schema').pluck().get()).toBe(1);
    },
  );

  test('regression: a damaged database file is reported in one line, without a stack trace', async () => {
    const { file, DATABASE_URL } = await databaseServedOnce({ QM_SECRET_KEY: SECRET_KEY });
    const db = new SqliteDatabase(file);
    const page = db
      .prepare(`select rootpage from sqlite_schema where name = 'service_accounts'`)
      .pluck()
      .get() as number;
    const pageSize = db.pragma('page_size', { simple: true }) as number;
    db.close();
    const handle = await open(file, 'r+');
    await handle.write(Buffer.alloc(pageSize, 'x'), 0, pageSize, (page - 1) * pageSize);
    await handle.close();
    const { stderr, ended } = runProgram({ PORT: '0', DATABASE_URL, QM_SECRET_KEY: SECRET_KEY });
    expect(await ended).toEqual({ code: 2, signal: null });
    expect(stderr()).toMatch(/^DATABASE_URL: the database is damaged \([^\n]+\)\. Restore a backup\.\n$/);
  });

  test('regression: requests during the start are answered with a problem', async () => {
    const { DATABASE_URL } = await databaseServedOnce({ QM_SECRET_KEY: SECRET_KEY });
    // The service already listens when it looks for an administrator. That transaction waits for this one.
    const db = new SqliteDatabase(DATABASE_URL.slice('sqlite:'.length));
    onTestFinished(() => void db.close());
    db.exec('begin immediate');
    const port = await freePort();
    const failing = startFailure({ DATABASE_URL, PORT: String(port), QM_SECRET_KEY: SECRET_KEY });
    const ask = () => wire(`http://127.0.0.1:${port}`, { target: '/v1/tenants', headers: { 'x-request-id': 'mine' } });
    const answer = await vi.waitFor(ask, { timeout: 60_000, interval: 20 });
    expect(answer.status).toBe(503);
    expect(JSON.parse(answer.text)).toMatchObject({ code: 'service_unavailable', status: 503, instance: 'mine' });
    expect(answer.headers).toMatchObject({
      'content-type': 'application/problem+json',
      'x-request-id': 'mine',
      'retry-after': '1',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    });
    // A busy database has another exit code than an unusable one, because the same start may succeed later.
    const message = expect.stringMatching(/^DATABASE_URL: the database cannot be used: [^\n]+$/);
    expect(await failing).toEqual({ message, exitCode: 1 });
  });

  test('regression: the files of a database and its key file are readable only by their owner', async () => {
    const file = await databaseFile();
    await startService({ DATABASE_URL: `sqlite:${file}` });
    for (const name of [file, `${file}-wal`, `${file}-shm`, `${file}.key`]) {
      expect((await stat(name)).mode & 0o777, name).toBe(0o600);
    }
  });

  test.each(['hunter2', 'qm_hunter2', `qm_key_${'0'.repeat(26)}_${'0'.repeat(49)}`])(
    'refuses a malformed QM_BOOTSTRAP_API_KEY, and does not repeat it: %#',
    async (key) => {
      const DATABASE_URL = `sqlite:${await databaseFile()}`;
      const { message, exitCode } = await startFailure({ DATABASE_URL, QM_BOOTSTRAP_API_KEY: key });
      expect(exitCode).toBe(2);
      expect(message).toMatch(/^QM_BOOTSTRAP_API_KEY: [^\n]+$/);
      expect(message).not.toContain(key);
    },
  );

  test('regression: the sign-in secret of the development identity provider is in a file that only its owner can read', async () => {
    const file = await databaseFile();
    const { url, stop, devSignIn } = await startService({ DATABASE_URL: `sqlite:${file}`, QM_DEV_IDENTITY: '1' });
    const secretFile = `${file}.sign-in-${new URL(url).host.replace(':', '-')}`;
    expect(devSignIn?.secretFile).toBe(secretFile);
    expect((await stat(secretFile)).mode & 0o777).toBe(0o600);
    await stop();
    expect(existsSync(secretFile)).toBe(false);
  });

  test('regression: if the sign-in secret cannot be written, the start fails with one line', async () => {
    const file = await databaseFile();
    const port = await freePort();
    await mkdir(`${file}.sign-in-127.0.0.1-${port}`);
    const environment = { DATABASE_URL: `sqlite:${file}`, QM_DEV_IDENTITY: '1', PORT: String(port) };
    const { message, exitCode } = await startFailure(environment);
    expect([message, exitCode]).toEqual([
      expect.stringMatching(/^QM_DEV_IDENTITY: .* cannot be written to [^\n]+$/),
      2,
    ]);
  });
});

/** PostgreSQL's message of a fatal error. */
function errorResponse(code: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0C${code}\0M${message}\0\0`);
  const head = Buffer.from('E\0\0\0\0');
  head.writeInt32BE(4 + fields.length, 1);
  return Buffer.concat([head, fields]);
}
