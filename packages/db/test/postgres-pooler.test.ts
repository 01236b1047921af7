import { spawn, spawnSync } from 'node:child_process';
import { chmod, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Database } from '../src/database.ts';
import { migrate } from '../src/migrate.ts';
import { openDatabase } from '../src/open-database.ts';
import { freePort } from '../testing/free-port.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { newTestDatabase } from '../testing/test-database.ts';
import { startPooler } from './pooler.ts';

const LIMITS = { statement_timeout: '30s', lock_timeout: '5s', idle_in_transaction_session_timeout: '15s' };

async function emptyDatabase(): Promise<string> {
  const { url, remove } = await newTestDatabase('empty');
  onTestFinished(remove);
  return url;
}

async function opened(url: string): Promise<Database> {
  const db = await openDatabase(url, '/', { poolSize: 3 });
  onTestFinished(() => db.destroy());
  return db;
}

async function limitsOf(db: Database): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of Object.keys(LIMITS)) {
    const { rows } = await sql<Record<string, string>>`show ${sql.raw(name)}`.execute(db);
    Object.assign(found, rows[0]);
  }
  return found;
}

test('every connection has the time limits', async () => {
  const db = await opened(await emptyDatabase());
  await db.connection().execute(async (one) => {
    expect(await limitsOf(one)).toEqual(LIMITS);
    expect(await db.connection().execute(limitsOf)).toEqual(LIMITS);
  });
});

describe('regression: behind a pooler that refuses startup parameters', () => {
  test('in session mode the database works, and the time limits hold', async () => {
    const pooler = await startPooler(await emptyDatabase(), 'session');
    onTestFinished(pooler.close);
    const db = await opened(pooler.url);
    await migrate(db);
    expect([await limitsOf(db), pooler.refused]).toEqual([LIMITS, []]);
  });

  test('in transaction mode it is refused with one line, before anything is created', async () => {
    const url = await emptyDatabase();
    const pooler = await startPooler(url, 'transaction');
    onTestFinished(pooler.close);
    const db = await opened(pooler.url);
    await expect(migrate(db)).rejects.toThrow(/^is behind a connection pooler in transaction mode[^\n]+$/);
    const tables = sql<{ count: number }>`select count(*) from pg_tables where schemaname = 'public'`;
    expect((await tables.execute(await opened(url))).rows).toEqual([{ count: 0 }]);
  });
});

const hasPgBouncer = spawnSync('pgbouncer', ['--version']).status === 0;

describe.skipIf(!hasPgBouncer)('regression: behind the real PgBouncer with its defaults', () => {
  test('in session mode the database works, and the time limits hold', async () => {
    const db = await opened(await startPgBouncer(await emptyDatabase(), 'session'));
    await migrate(db);
    expect(await limitsOf(db)).toEqual(LIMITS);
  });

  test.each([
    ['transaction', /^is behind a connection pooler in transaction mode/],
    ['statement', /^the database is unavailable$/],
  ])('in %s mode it is refused', async (mode, message) => {
    const db = await opened(await startPgBouncer(await emptyDatabase(), mode));
    await expect(migrate(db)).rejects.toThrow(message);
  });

  test('in transaction mode it is refused, also while other clients use the pooler', async () => {
    const url = await startPgBouncer(await emptyDatabase(), 'transaction');
    const others = await opened(url);
    const stop = new AbortController();
    const load = [1, 2, 3].map(async () => {
      while (!stop.signal.aborted)
        await others.transaction().execute((trx) => sql`select pg_sleep(0.001)`.execute(trx));
    });
    for (let start = 0; start < 20; start += 1) {
      const db = await openDatabase(url, '/', { poolSize: 2 });
      await expect(migrate(db)).rejects.toThrow(/transaction mode/);
      await db.destroy();
    }
    stop.abort();
    await Promise.all(load);
  });
});

/** Starts PgBouncer in front of a database. @returns the URL of that database through it */
async function startPgBouncer(databaseUrl: string, mode: string): Promise<string> {
  const { hostname, port, username } = new URL(databaseUrl);
  const folder = await temporaryFolder('quartermaster-pgbouncer-');
  await chmod(folder, 0o755);
  const own = await freePort();
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${port} user=${username}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${own}`,
    'unix_socket_dir =',
    'auth_type = any',
    `pool_mode = ${mode}`,
  ];
  const file = join(folder, 'pgbouncer.ini');
  await writeFile(file, `${lines.join('\n')}\n`);
  // PgBouncer refuses to run as root.
  const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
  const child = spawn('pgbouncer', [file], { stdio: 'ignore', ...user });
  const ended = new Promise((resolve) => child.on('close', resolve));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
    await rm(folder, { recursive: true });
  });
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${own}`;
  await vi.waitFor(
    async () => {
      const probe = await openDatabase(url.href, '/', { poolSize: 2 });
      try {
        await sql`select 1`.execute(probe);
      } finally {
        await probe.destroy();
      }
    },
    { timeout: 60_000, interval: 100 },
  );
  return url.href;
}
