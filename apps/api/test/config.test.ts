import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import SqliteDatabase from 'better-sqlite3';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { runAdminKey } from '../src/commands/run-admin-key.ts';
import { runBackup } from '../src/commands/run-backup.ts';
import { ROOT, readConfig, VERSION } from '../src/config.ts';
import type { RunningServer } from '../src/server/start.ts';
import { startMessage } from '../src/server/start-message.ts';
import { runInProcess } from './support/command.ts';
import { configRefusal as refusal } from './support/config-refusal.ts';
import { databaseFile, freePort, newBootstrapKey } from './support/environment.ts';
import { MAIN, runProgram, startProcess } from './support/process.ts';
import { startFailure, startService } from './support/start.ts';
import { wire } from './support/wire.ts';

const ADMIN_KEY = fileURLToPath(new URL('../src/commands/admin-key.ts', import.meta.url));
const SECRET_KEY = Buffer.alloc(32, 7).toString('base64');

test('with nothing set the service listens on loopback, on an embedded database, without development helpers', () => {
  expect(readConfig({})).toEqual({
    mode: null,
    host: '127.0.0.1',
    port: 8080,
    publicUrl: null,
    trustedProxies: [],
    databaseUrl: 'sqlite:data/quartermaster.db',
    databasePool: 10,
    bootstrapApiKey: null,
    oidc: { issuer: null, audience: 'quartermaster', emailClaim: 'email', tokenTypes: ['at+jwt'] },
    consoleClient: { clientId: null, clientSecret: null, scopes: 'openid email profile' },
    administrators: null,
    secretKey: null,
    formerSecretKeys: [],
    secretKeyLost: false,
    allowedNetworks: [],
    metricsPort: 9464,
    metricsHosts: [],
    maxConnectionsPerAddress: 200,
    rateLimits: { principal: 1200, ingest: 6000, address: 300, publicPaths: 3000, registration: 10 },
    otlpMaxBytes: 64 * 1024 * 1024,
    otlpGrpcPort: 4317,
    console: true,
    selfService: true,
    shutdownDelayMs: 1000,
    maxObservations: 10_000,
    maxUsageSeries: 20_000,
    maxOpenSessions: 1000,
    logLevel: 'info',
    devIdentity: false,
  });
});

test('regression: an empty DATABASE_URL is refused: what should have named the database did not arrive', () => {
  expect(refusal({ DATABASE_URL: '' })).toMatch(/^DATABASE_URL: [^\n]+$/);
});

test('an empty variable counts as unset', () => {
  const names = ['HOST', 'PORT', 'QM_PUBLIC_URL', 'QM_TRUSTED_PROXIES', 'QM_BOOTSTRAP_API_KEY'];
  const more = ['QM_OIDC_ISSUER', 'QM_SECRET_KEY', 'QM_METRICS_PORT', 'QM_RATE_LIMITS', 'QM_DEV_IDENTITY'];
  expect(readConfig(Object.fromEntries([...names, ...more].map((name) => [name, ''])))).toEqual(readConfig({}));
});

test('what is set is read', () => {
  const config = readConfig({
    QM_PUBLIC_URL: 'https://qm.example.com/',
    QM_TRUSTED_PROXIES: '10.0.0.0/8, ::1 ,loopback,',
    QM_OIDC_TOKEN_TYPES: 'at+jwt, JWT',
    QM_SECRET_KEY: SECRET_KEY,
    QM_SECRET_KEY_PREVIOUS: ` ${SECRET_KEY}, ${Buffer.alloc(32, 8).toString('base64')}`,
    QM_ALLOW_PRIVATE_ADDRESSES: '127.0.0.0/8, ::1,10.1.2.3',
    QM_METRICS_PORT: 'off',
    QM_OTLP_GRPC_PORT: 'off',
    QM_RATE_LIMITS: 'off',
  });
  expect(config).toMatchObject({ otlpGrpcPort: null });
  expect(config).toMatchObject({ publicUrl: 'https://qm.example.com', metricsPort: null, rateLimits: null });
  expect(config.trustedProxies).toEqual(['10.0.0.0/8', '::1', 'loopback']);
  expect(config.oidc.tokenTypes).toEqual(['at+jwt', 'JWT']);
  expect(config.secretKey).toEqual(Buffer.alloc(32, 7));
  expect(config.formerSecretKeys).toEqual([Buffer.alloc(32, 7), Buffer.alloc(32, 8)]);
  expect(config.allowedNetworks).toEqual(['127.0.0.0/8', '::1', '10.1.2.3']);
});

test('the client of the web console and the claim of administrators are read', () => {
  const issuer = { QM_OIDC_ISSUER: 'https://id.example.com' };
  expect(readConfig(issuer)).toMatchObject({
    consoleClient: { clientId: null, clientSecret: null, scopes: 'openid email profile' },
    administrators: null,
  });
  const config = readConfig({
    ...issuer,
    QM_OIDC_CLIENT_ID: 'console',
    QM_OIDC_CLIENT_SECRET: 'secret',
    QM_OIDC_SCOPES: 'openid groups',
    QM_OIDC_ADMIN_CLAIM: 'groups',
    QM_OIDC_ADMIN_VALUE: 'administrators',
  });
  expect(config).toMatchObject({
    consoleClient: { clientId: 'console', clientSecret: 'secret', scopes: 'openid groups' },
    administrators: { claim: 'groups', value: 'administrators' },
  });
});

test.each([
  ['QM_OIDC_ADMIN_CLAIM', { QM_OIDC_ADMIN_CLAIM: 'groups' }],
  ['QM_OIDC_ADMIN_CLAIM', { QM_OIDC_ADMIN_VALUE: 'hunter2' }],
  ['QM_OIDC_CLIENT_SECRET', { QM_OIDC_ISSUER: 'https://id.example.com', QM_OIDC_CLIENT_SECRET: 'hunter2' }],
  ['QM_OIDC_CLIENT_ID', { QM_OIDC_CLIENT_ID: 'hunter2' }],
])('%s is refused without what it goes with', (name, environment) => {
  const message = refusal(environment);
  expect(message).toMatch(new RegExp(`^${name}: `));
  expect(message).not.toContain('hunter2');
});

const BAD: [string, string][] = [
  ['PORT', '65536'],
  ['PORT', '-1'],
  ['PORT', 'hunter2'],
  ['PORT', '80.5'],
  ['QM_PUBLIC_URL', 'qm.hunter2.example'],
  ['QM_PUBLIC_URL', 'ftp://hunter2.example'],
  ['QM_TRUSTED_PROXIES', 'hunter2'],
  ['QM_TRUSTED_PROXIES', '10.0.0.0/8,10.0.0.0/99'],
  ['DATABASE_URL', 'mysql://user:hunter2@localhost/qm'],
  ['DATABASE_URL', 'postgres://user:hunter2@@a host/qm'],
  // Regression: pieces of a password that is not percent-encoded were taken for the host, and told by the error.
  ['DATABASE_URL', 'postgres://me:pass@hunter2/rest@localhost/qm'],
  ['DATABASE_URL', 'postgres://me:pass@localhost/hunter2@localhost/qm'],
  ['DATABASE_URL', 'postgres://me:pass@hunter2?@localhost/qm'],
  ['DATABASE_URL', 'postgres://me:pass@hunter2#@localhost/qm'],
  ['QM_DATABASE_POOL', '1'],
  ['QM_DATABASE_POOL', 'hunter2'],
  ['DATABASE_URL', 'sqlite:'],
  ['QM_OIDC_ISSUER', 'hunter2'],
  ['QM_OIDC_ISSUER', 'javascript:hunter2'],
  ['QM_OIDC_ISSUER', 'http://hunter2.example'],
  ['QM_OIDC_ISSUER', 'http://10.0.0.1/hunter2'],
  ['QM_OIDC_ISSUER', 'http://127.0.0.1.hunter2.example'],
  ['QM_OIDC_ISSUER', 'http://localhost@hunter2.example'],
  ['QM_SECRET_KEY', 'hunter2'],
  ['QM_SECRET_KEY', Buffer.from('hunter2').toString('base64')],
  ['QM_SECRET_KEY', Buffer.alloc(33).toString('base64')],
  ['QM_SECRET_KEY_PREVIOUS', 'hunter2'],
  ['QM_SECRET_KEY_PREVIOUS', `${SECRET_KEY},${Buffer.from('hunter2').toString('base64')}`],
  ['QM_ALLOW_PRIVATE_ADDRESSES', 'hunter2'],
  ['QM_ALLOW_PRIVATE_ADDRESSES', 'loopback'],
  ['QM_ALLOW_PRIVATE_ADDRESSES', '127.0.0.1,127.0.0.0/33'],
  ['QM_METRICS_PORT', 'hunter2'],
  ['QM_METRICS_PORT', '70000'],
  ['QM_RATE_LIMITS', 'hunter2'],
  ['QM_RATE_LIMITS', '0'],
  ['QM_OTLP_GRPC_PORT', 'hunter2'],
  ['QM_OTLP_MAX_BYTES', '10'],
  ['QM_OTLP_MAX_BYTES', 'hunter2'],
  ['QM_OTLP_MAX_BYTES', String(256 * 1024 * 1024 + 1)],
  ['QM_OIDC_TOKEN_TYPES', ','],
  ['QM_OIDC_SCOPES', 'hunter2'],
  ['QM_OIDC_SCOPES', 'openid  hunter2'],
  ['QM_PUBLIC_URL', 'https://me:hunter2@qm.example.com'],
  ['QM_PUBLIC_URL', 'https://hunter2@qm.example.com'],
  ['DATABASE_URL', 'sqlite::memory:'],
  ['DATABASE_URL', 'postgres://me:hunter2%zz@localhost/qm'],
  ['DATABASE_URL', 'postgres://me:hunter2%E4@localhost/qm'],
  ['DATABASE_URL', 'postgres://me:x@localhost/qm?sslmode=hunter2%'],
  ['QM_LOG_LEVEL', 'hunter2'],
  ['QM_DEV_IDENTITY', 'hunter2'],
  ['QM_DEV_IDENTITY', 'true'],
];

test('Postgres asks for a secret key, since one beside the database would be of each process alone', () => {
  const DATABASE_URL = 'postgres://user:hunter2@localhost/qm';
  expect(refusal({ DATABASE_URL })).toBe('QM_SECRET_KEY: is required for a PostgreSQL database');
  const config = readConfig({ DATABASE_URL, QM_SECRET_KEY: SECRET_KEY, QM_DATABASE_POOL: '25' });
  expect(config).toMatchObject({ databaseUrl: DATABASE_URL, databasePool: 25 });
});

test.each(BAD)('a bad %s is refused by its name, and not repeated: %s', (name, value) => {
  const message = refusal({ [name]: value });
  expect(message).toMatch(new RegExp(`^${name}`));
  expect(message).not.toContain('hunter2');
});

test.each(['http://127.0.0.1:8080/oidc', 'http://localhost:9', 'http://[::1]:9', 'https://id.example.com'])(
  'QM_OIDC_ISSUER may be %s',
  (QM_OIDC_ISSUER) => {
    expect(readConfig({ QM_OIDC_ISSUER }).oidc.issuer).toBe(QM_OIDC_ISSUER);
  },
);

test('every bad setting is named at once, each on its line', () => {
  const message = refusal({ PORT: 'x', QM_RATE_LIMITS: 'x', QM_SECRET_KEY: 'x' });
  expect(message.split('\n').map((line) => line.split(':')[0])).toEqual(['PORT', 'QM_SECRET_KEY', 'QM_RATE_LIMITS']);
});

describe('the development identity provider', () => {
  test.each([
    '0.0.0.0',
    '::',
    '192.168.1.2',
    'example.com',
    '127.0.0.1.example.com',
    'localhost.example.com',
    '1270.0.0.1',
    '::ffff:10.0.0.1',
  ])('is refused where HOST is not loopback: %s', (HOST) => {
    expect(refusal({ HOST, QM_DEV_IDENTITY: '1' })).toMatch(/^QM_DEV_IDENTITY/);
    expect(readConfig({ HOST, QM_PUBLIC_URL: 'https://qm.example.com' }).devIdentity).toBe(false);
  });

  test.each(['127.0.0.1', '127.8.8.8', '::1', 'localhost'])('runs where it is: %s', (HOST) => {
    expect(readConfig({ HOST, QM_DEV_IDENTITY: '1' }).devIdentity).toBe(true);
  });

  test('stays away where an issuer is configured', () => {
    const issuer = { QM_OIDC_ISSUER: 'https://id.example.com' };
    expect(readConfig({ ...issuer, QM_DEV_IDENTITY: '1' }).devIdentity).toBe(false);
    const open = { HOST: '0.0.0.0', QM_PUBLIC_URL: 'https://qm.example.com', QM_TRUSTED_PROXIES: '10.0.0.1' };
    expect(readConfig({ ...issuer, QM_DEV_IDENTITY: '1', ...open }).devIdentity).toBe(false);
  });

  test.each([
    ['QM_PUBLIC_URL', 'https://qm.example.com'],
    ['QM_PUBLIC_URL', 'http://10.0.0.1:8080'],
    ['QM_PUBLIC_URL', 'http://127.0.0.1.example.com'],
    ['QM_TRUSTED_PROXIES', 'loopback'],
    ['QM_TRUSTED_PROXIES', '10.0.0.0/8'],
  ])('regression: is refused where a proxy stands before the service: %s %s', (name, value) => {
    const message = refusal({ QM_DEV_IDENTITY: '1', [name]: value });
    expect(message).toMatch(new RegExp(`^QM_DEV_IDENTITY: [^\\n]*${name}[^\\n]*npm run serve$`));
    expect(readConfig({ QM_DEV_IDENTITY: '0', [name]: value }).devIdentity).toBe(false);
  });

  test.each(['http://localhost:8080', 'http://127.0.0.1:9', 'http://[::1]:8080/'])(
    'runs where the public address is loopback: %s',
    (QM_PUBLIC_URL) => {
      expect(readConfig({ QM_PUBLIC_URL, QM_DEV_IDENTITY: '1' }).devIdentity).toBe(true);
    },
  );

  test('regression: the secret that a sign-in needs is in a file beside the database, for its owner alone', async () => {
    const file = await databaseFile();
    const { url, stop, devSignIn } = await startService({ DATABASE_URL: `sqlite:${file}`, QM_DEV_IDENTITY: '1' });
    const secretFile = `${file}.sign-in-${new URL(url).host.replace(':', '-')}`;
    expect(devSignIn?.secretFile).toBe(secretFile);
    expect((await stat(secretFile)).mode & 0o777).toBe(0o600);
    await stop();
    expect(existsSync(secretFile)).toBe(false);
  });

  test('regression: without a place for that secret the service does not start, and says so in one line', async () => {
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

test('regression: what npm runs with the Node that comes along installs it first, and says nothing of it on stdout', async () => {
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
  test('ends with code 2 and prints what is wrong to stderr alone, without a stack, where a setting is bad', async () => {
    const file = await databaseFile();
    const { stdout, stderr, ended } = runProgram({ PORT: 'hunter2', DATABASE_URL: `sqlite:${file}` });
    expect(await ended).toEqual({ code: 2, signal: null });
    expect(stdout()).toBe('');
    expect(stderr()).toMatch(/^PORT: [^\n]+\n$/);
    expect(stderr()).not.toContain('hunter2');
    expect(existsSync(file)).toBe(false);
  });

  test('ends with code 2 and says so, without a stack or the password, where the database cannot be reached', async () => {
    const database = { DATABASE_URL: 'postgres://me:hunter2@127.0.0.1:1/qm', QM_SECRET_KEY: SECRET_KEY };
    const { stdout, stderr, ended } = runProgram({ PORT: '0', ...database });
    expect(await ended).toEqual({ code: 2, signal: null });
    expect(stdout()).toBe('');
    expect(stderr()).toBe('DATABASE_URL: the database cannot be used: connect ECONNREFUSED 127.0.0.1:1\n');
  });

  test('regression: prints log lines and no secret where stdout is no terminal; the key is in a file', async () => {
    const file = await databaseFile();
    const { url, stdout } = await startProcess({ DATABASE_URL: `sqlite:${file}`, QM_DEV_IDENTITY: '1' });
    const lines = stdout().trimEnd().split('\n');
    const said = lines.map((line) => JSON.parse(line) as Record<string, string>);
    expect(stdout()).not.toMatch(/qm_|secret=/);
    const keyFile = `${file}.bootstrap-key`;
    expect(said.map(({ msg }) => msg).join('\n')).toMatch(`bootstrap API key file: ${keyFile} `);
    expect(said.find(({ bootstrapKeyFile }) => bootstrapKeyFile)).toMatchObject({ bootstrapKeyFile: keyFile });
    expect(said.at(-1)).toMatchObject({ url, msg: `Quartermaster listens on ${url} (version ${VERSION})` });
    expect((await stat(keyFile)).mode & 0o777).toBe(0o600);
    expect(await status(url, (await readFile(keyFile, 'utf8')).trim())).toBe(200);
    expect(await readdir(dirname(file))).not.toContainEqual(expect.stringMatching(/bootstrap-key\.\d+$/));
  });

  test('regression: writes its start lines at every QM_LOG_LEVEL', async () => {
    const DATABASE_URL = `sqlite:${await databaseFile()}`;
    const { stdout } = await startProcess({ DATABASE_URL, QM_LOG_LEVEL: 'silent' });
    expect(stdout()).toContain('bootstrap API key file: ');
  });

  test.each([['--help'], ['-h'], ['--version'], ['-v'], ['--production', '--help']])(
    'regression: %s %s prints, and starts nothing',
    async (...argv) => {
      const file = await databaseFile();
      const { stdout, stderr, ended } = runProgram({ DATABASE_URL: `sqlite:${file}`, PORT: 'x' }, [MAIN, ...argv]);
      expect([await ended, stderr()]).toEqual([{ code: 0, signal: null }, '']);
      expect(stdout()).toMatch(/^Usage: main\.ts \[|^0\.1\.0\n$/);
      expect(existsSync(file)).toBe(false);
    },
  );

  test.each([['--bogus'], ['hunter2'], ['--development', '--production'], ['--help=x']])(
    'regression: %s %s ends with code 2 and the usage, and starts nothing',
    async (...argv) => {
      const file = await databaseFile();
      const { stdout, stderr, ended } = runProgram({ DATABASE_URL: `sqlite:${file}` }, [MAIN, ...argv]);
      expect([await ended, stdout()]).toEqual([{ code: 2, signal: null }, '']);
      expect(stderr()).toMatch(/^[^\n]+: usage: main\.ts \[[^\n]+\n$/);
      expect(stderr()).not.toContain('hunter2');
      expect(existsSync(file)).toBe(false);
    },
  );
});

describe('a start', () => {
  test('regression: a path that is no database is said in one line, by the service and by its commands', async () => {
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
    'regression: a HOST that cannot be listened on is said in one line: %s',
    async (HOST) => {
      const failure = await startFailure({ HOST, DATABASE_URL: `sqlite:${await databaseFile()}` });
      expect(failure).toEqual({ message: expect.stringMatching(/^HOST: [^\n]+$/), exitCode: 2 });
    },
  );

  test.each([
    ['create table users (mine text)', /^DATABASE_URL: the database has a table users that is not [^\n]+$/],
    [
      `create table kysely_migration (name text, timestamp text); insert into kysely_migration values ('9999-x', '')`,
      /^DATABASE_URL: the database has the migration 9999-x, which this version does not know: [^\n]+$/,
    ],
  ])('regression: a foreign or newer schema is said in one line, and left alone: %s', async (schema, said) => {
    const file = await databaseFile();
    const db = new SqliteDatabase(file);
    onTestFinished(() => void db.close());
    db.exec(schema);
    const failure = await startFailure({ DATABASE_URL: `sqlite:${file}` });
    expect(failure).toEqual({ message: expect.stringMatching(said), exitCode: 2 });
    expect(db.prepare('select count(*) from sqlite_schema').pluck().get()).toBe(1);
  });

  test('regression: while it starts it answers a problem, as it does later', async () => {
    const { DATABASE_URL } = await servedOnce({ QM_SECRET_KEY: SECRET_KEY });
    // It listens before it looks for an administrator: that is a transaction, and waits for this one.
    const db = new SqliteDatabase(DATABASE_URL.slice('sqlite:'.length));
    onTestFinished(() => void db.close());
    db.exec('begin immediate');
    const port = await freePort();
    const failing = startFailure({ DATABASE_URL, PORT: String(port), QM_SECRET_KEY: SECRET_KEY });
    const ask = () => wire(`http://127.0.0.1:${port}`, { target: '/v1/tenants', headers: { 'x-request-id': 'mine' } });
    const answer = await vi.waitFor(ask, { timeout: 20_000, interval: 20 });
    expect(answer.status).toBe(503);
    expect(JSON.parse(answer.text)).toMatchObject({ code: 'service_unavailable', status: 503, instance: 'mine' });
    expect(answer.headers).toMatchObject({
      'content-type': 'application/problem+json',
      'x-request-id': 'mine',
      'retry-after': '1',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    });
    // A busy database has another exit code than an unusable one: the same start may succeed later.
    const message = expect.stringMatching(/^DATABASE_URL: the database cannot be used: [^\n]+$/);
    expect(await failing).toEqual({ message, exitCode: 1 });
  });

  test('regression: the files of a database, and its key file, are for their owner alone', async () => {
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
});

async function status(url: string, key: string): Promise<number> {
  return (await fetch(`${url}/v1/tenants`, { headers: { 'x-api-key': key } })).status;
}

/** A database that a service was started on once. */
async function servedOnce(environment: Record<string, string> = {}): Promise<{ DATABASE_URL: string; file: string }> {
  const file = await databaseFile();
  const DATABASE_URL = `sqlite:${file}`;
  const { stop } = await startService({ ...environment, DATABASE_URL });
  await stop();
  return { DATABASE_URL, file };
}

describe('the bootstrap key', () => {
  /** What the program prints once the service listens. */
  const printed = (server: RunningServer, environment: Record<string, string>) =>
    startMessage(server, readConfig(environment));

  test('is generated and printed once on an empty database, and not at the next start', async () => {
    const environment = { DATABASE_URL: `sqlite:${await databaseFile()}` };
    const first = await startService(environment);
    const key = first.bootstrapKey ?? '';
    expect(printed(first, environment)).toContain(`bootstrap API key: ${key}\n`);
    expect(await status(first.url, key)).toBe(200);
    await first.stop();
    const second = await startService(environment);
    expect(printed(second, environment)).not.toContain('bootstrap API key');
    expect(await status(second.url, key)).toBe(200);
  });

  test('regression: is made only where it can be written to its file', async () => {
    const file = await databaseFile();
    const environment = { DATABASE_URL: `sqlite:${file}` };
    const draft = `${file}.bootstrap-key.${process.pid}`;
    await mkdir(draft);
    const refused = startService(environment, { bootstrapKeyToFile: true });
    await expect(refused).rejects.toThrow(/^QM_BOOTSTRAP_API_KEY: .* cannot be written to [^\n]+$/);
    await rmdir(draft);
    const { url, bootstrapKey, bootstrapKeyFile } = await startService(environment, { bootstrapKeyToFile: true });
    expect(bootstrapKeyFile).toBe(`${file}.bootstrap-key`);
    expect(await status(url, bootstrapKey ?? '')).toBe(200);
  });

  test('given, it works and is not printed; another one is ignored once there is an administrator', async () => {
    const DATABASE_URL = `sqlite:${await databaseFile()}`;
    const [given, later] = [newBootstrapKey(), newBootstrapKey()];
    const first = await startService({ DATABASE_URL, QM_BOOTSTRAP_API_KEY: given });
    expect(printed(first, { DATABASE_URL, QM_BOOTSTRAP_API_KEY: given })).not.toContain('qm_');
    expect(await status(first.url, given)).toBe(200);
    await first.stop();
    const second = await startService({ DATABASE_URL, QM_BOOTSTRAP_API_KEY: later });
    expect([await status(second.url, given), await status(second.url, later)]).toEqual([200, 401]);
  });

  test('is not lost to a start that fails because the port is taken', async () => {
    const DATABASE_URL = `sqlite:${await databaseFile()}`;
    const taken = await startService({ DATABASE_URL: `sqlite:${await databaseFile()}` });
    const failure = await startFailure({ DATABASE_URL, PORT: new URL(taken.url).port });
    // Regression: this was a stack.
    expect(failure).toEqual({
      message: expect.stringMatching(/^PORT: 127\.0\.0\.1:\d+ is in use\. [^\n]+$/),
      exitCode: 2,
    });
    const { url, bootstrapKey } = await startService({ DATABASE_URL });
    expect(await status(url, bootstrapKey ?? '')).toBe(200);
  });

  test('of an administrator who was deleted does not come back, and no other is generated at the next start', async () => {
    const given = newBootstrapKey();
    const environment = { DATABASE_URL: `sqlite:${await databaseFile()}`, QM_BOOTSTRAP_API_KEY: given };
    const first = await startService(environment);
    const headers = { 'x-api-key': given };
    const deleted = await fetch(`${first.url}/v1/service-accounts/bootstrap`, { method: 'DELETE', headers });
    expect(deleted.status).toBe(200);
    await first.stop();
    const second = await startService(environment);
    expect(second.bootstrapKey).toBeNull();
    expect(await status(second.url, given)).toBe(401);
  });
});

describe('the admin-key command', () => {
  async function recovered(DATABASE_URL: string): Promise<string> {
    const { code, stdout, stderr } = await runInProcess(runAdminKey, [], { DATABASE_URL });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^qm_\S+\n$/);
    return stdout.trim();
  }

  test('as a program it prints another key to stdout alone, beside a server that runs', async () => {
    const DATABASE_URL = `sqlite:${await databaseFile()}`;
    const { url } = await startService({ DATABASE_URL });
    const { stdout, stderr, ended } = runProgram({ DATABASE_URL }, ADMIN_KEY);
    expect(await ended, stderr()).toEqual({ code: 0, signal: null });
    expect(stderr()).toBe('');
    expect(stdout()).toMatch(/^qm_\S+\n$/);
    expect(await status(url, stdout().trim())).toBe(200);
  });

  test('as a program it ends with code 2, and prints one line to stderr, where it refuses an argument', async () => {
    const { DATABASE_URL, file } = await servedOnce();
    const { stdout, stderr, ended } = runProgram({ DATABASE_URL }, [ADMIN_KEY, '--bogus']);
    expect(await ended).toEqual({ code: 2, signal: null });
    expect(stdout()).toBe('');
    expect(stderr()).toBe('unknown option: usage: npm run --silent admin-key\n');
    expect(keysIn(file)).toBe(1);
  });

  test('leaves an audit event', async () => {
    const DATABASE_URL = `sqlite:${await databaseFile()}`;
    const { url } = await startService({ DATABASE_URL, QM_BOOTSTRAP_API_KEY: newBootstrapKey() });
    const key = await recovered(DATABASE_URL);
    const audited = await fetch(`${url}/v1/audit-events?operation=bootstrap`, { headers: { 'x-api-key': key } });
    const { items } = (await audited.json()) as { items: object[] };
    expect(items).toHaveLength(2);
    expect(items[0]).toMatchObject({ actor: { type: 'system' }, target: { type: 'api_key', id: key.slice(3, 33) } });
  });

  test('regression: it takes no arguments, and makes no key for those that it was given', async () => {
    const { DATABASE_URL, file } = await servedOnce();
    for (const argument of ['--bogus', 'positional']) {
      const { code, stdout, stderr } = await runInProcess(runAdminKey, [argument], { DATABASE_URL });
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(/^(unknown option|too many arguments): usage: npm run --silent admin-key\n$/);
    }
    const help = await runInProcess(runAdminKey, ['--help'], { DATABASE_URL });
    expect(help).toEqual({ code: 0, stdout: expect.stringMatching(/^usage: /), stderr: '' });
    expect(keysIn(file)).toBe(1);
  });

  test('regression: commands say in one line what is wrong with DATABASE_URL, and ask for no other setting', async () => {
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

  test('regression: it makes no database, nor a schema in one, and takes none of another version', async () => {
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
    const served = await servedOnce();
    const older = new SqliteDatabase(served.file);
    older.prepare(`delete from kysely_migration where name >= '0010'`).run();
    older.close();
    expect(await refused(served.DATABASE_URL)).toMatch(
      / has the schema 0009-[^\n]+: start the server of this version on it once\n$/,
    );
  });

  test.each([
    ['disabled', `update service_accounts set status = 'disabled'`],
    ['deleted', `update service_accounts set status = 'deleted'`],
    ['demoted', `update service_accounts set platform_administrator = 0`],
  ])('makes an administrator of its own where the bootstrap account was %s', async (_, sql) => {
    const { DATABASE_URL, file } = await servedOnce();
    const db = new SqliteDatabase(file);
    db.prepare(sql).run();
    db.close();
    const key = await recovered(DATABASE_URL);
    const { url } = await startService({ DATABASE_URL });
    expect(await status(url, key)).toBe(200);
  });
});

function keysIn(file: string): unknown {
  const db = new SqliteDatabase(file, { readonly: true });
  onTestFinished(() => void db.close());
  return db.prepare('select count(*) from credentials').pluck().get();
}
