import { fileURLToPath } from 'node:url';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import SqliteDatabase from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runAdminKey } from '../src/commands/run-admin-key.ts';
import { runBackup } from '../src/commands/run-backup.ts';
import { runInProcess } from './support/command.ts';
import { databaseFile, newBootstrapKey } from './support/environment.ts';
import { runProgram } from './support/process.ts';
import { databaseServedOnce, startService, statusWith } from './support/start.ts';

const ADMIN_KEY = fileURLToPath(new URL('../src/commands/admin-key.ts', import.meta.url));

describe('the admin-key command', () => {
  async function recovered(DATABASE_URL: string): Promise<string> {
    const { code, stdout, stderr } = await runInProcess(runAdminKey, [], { DATABASE_URL });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^qm_\S+\n$/);
    return stdout.trim();
  }

  test('as a program prints a new key to stdout only, while a server is running', async () => {
    const DATABASE_URL = `sqlite:${await databaseFile()}`;
    const { url } = await startService({ DATABASE_URL });
    const { stdout, stderr, ended } = runProgram({ DATABASE_URL }, ADMIN_KEY);
    expect(await ended, stderr()).toEqual({ code: 0, signal: null });
    expect(stderr()).toBe('');
    expect(stdout()).toMatch(/^qm_\S+\n$/);
    expect(await statusWith(url, stdout().trim())).toBe(200);
  });

  test('as a program exits with code 2 for an unknown argument, and prints one line to stderr', async () => {
    const { DATABASE_URL, file } = await databaseServedOnce();
    const { stdout, stderr, ended } = runProgram({ DATABASE_URL }, [ADMIN_KEY, '--bogus']);
    expect(await ended).toEqual({ code: 2, signal: null });
    expect(stdout()).toBe('');
    expect(stderr()).toBe('unknown option: usage: npm run --silent admin-key\n');
    expect(keysIn(file)).toBe(1);
  });

  test('causes an audit event', async () => {
    const DATABASE_URL = `sqlite:${await databaseFile()}`;
    const { url } = await startService({ DATABASE_URL, QM_BOOTSTRAP_API_KEY: newBootstrapKey() });
    const key = await recovered(DATABASE_URL);
    const audited = await fetch(`${url}/v1/audit-events?operation=bootstrap`, { headers: { 'x-api-key': key } });
    const { items } = (await audited.json()) as { items: object[] };
    expect(items).toHaveLength(2);
    expect(items[0]).toMatchObject({ actor: { type: 'system' }, target: { type: 'api_key', id: key.slice(3, 33) } });
  });

  test('regression: refuses arguments without creating a key', async () => {
    const { DATABASE_URL, file } = await databaseServedOnce();
    for (const argument of ['--bogus', 'positional']) {
      const { code, stdout, stderr } = await runInProcess(runAdminKey, [argument], { DATABASE_URL });
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(/^(unknown option|too many arguments): usage: npm run --silent admin-key\n$/);
    }
    const help = await runInProcess(runAdminKey, ['--help'], { DATABASE_URL });
    expect(help).toEqual({ code: 0, stdout: expect.stringMatching(/^usage: /), stderr: '' });
    expect(keysIn(file)).toBe(1);
  });

  test('regression: reports an invalid DATABASE_URL in one line, like other commands, and needs no other setting', async () => {
    const backup = ['--to', 'x'];
    for (const [command, argv] of [[runAdminKey, []] as const, [runBackup, backup] as const]) {
      const { code, stdout, stderr } = await runInProcess(command, argv, { DATABASE_URL: 'mysql://hunter2' });
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(/^DATABASE_URL: [^\n]+\n$/);
      expect(stderr).not.toContain('hunter2');
    }
    const postgres = await runInProcess(runBackup, backup, { DATABASE_URL: 'postgres://me@127.0.0.1:1/qm' });
    expect(postgres).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(/^[^\n]+use pg_dump[^\n]+\n$/) });
  });

  test('regression: does not create a database or schema, and refuses the schema of another version', async () => {
    const file = await databaseFile();
    const refused = async (DATABASE_URL: string) => {
      const { code, stdout, stderr } = await runInProcess(runAdminKey, [], { DATABASE_URL });
      expect([code, stdout], stderr).toEqual([2, '']);
      expect(stderr).toMatch(/^[^\n]+\n$/);
      return stderr;
    };
    expect(await refused(`sqlite:${file}`)).toBe(`there is no database at ${file}\n`);
    expect(existsSync(file)).toBe(false);
    await writeFile(file, '');
    expect(await refused(`sqlite:${file}`)).toMatch(
      /^DATABASE_URL: the database has the schema none, this version has [^\n]+\n$/,
    );
    const db = new SqliteDatabase(file);
    expect(db.prepare('select count(*) from sqlite_schema').pluck().get()).toBe(0);
    db.close();
    const served = await databaseServedOnce();
    const older = new SqliteDatabase(served.file);
    older.exec(`delete from kysely_migration; insert into kysely_migration values ('0001-initial', '')`);
    older.close();
    expect(await refused(served.DATABASE_URL)).toMatch(/ was made by a version before the first release, [^\n]+\n$/);
  });

  test.each([
    ['disabled', `update service_accounts set status = 'disabled'`],
    ['deleted', `update service_accounts set status = 'deleted'`],
    ['demoted', `update service_accounts set platform_administrator = 0`],
  ])('creates another administrator if the bootstrap account was %s', async (_, sql) => {
    const { DATABASE_URL, file } = await databaseServedOnce();
    const db = new SqliteDatabase(file);
    db.prepare(sql).run();
    db.close();
    const key = await recovered(DATABASE_URL);
    const { url } = await startService({ DATABASE_URL });
    expect(await statusWith(url, key)).toBe(200);
  });
});

function keysIn(file: string): unknown {
  const db = new SqliteDatabase(file, { readonly: true });
  onTestFinished(() => void db.close());
  return db.prepare('select count(*) from credentials').pluck().get();
}
