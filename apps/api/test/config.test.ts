import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readConfig, readDatabaseUrl, ROOT } from '../src/config.ts';
import { configRefusal as refusal } from './support/config-refusal.ts';

const SECRET_KEY = Buffer.alloc(32, 7).toString('base64');

test('by default the service listens on loopback, uses a SQLite file, and has no development helpers', () => {
  expect(readConfig({})).toEqual({
    mode: null,
    host: '127.0.0.1',
    port: 8080,
    publicUrl: null,
    trustedProxies: [],
    databaseUrl: 'sqlite:data/quartermaster.db',
    dataFolder: join(ROOT, 'data'),
    databasePool: 10,
    bootstrapApiKey: null,
    oidc: { issuer: null, audience: 'quartermaster', emailClaim: 'email', trustsEmails: false, tokenTypes: ['at+jwt'] },
    consoleClient: { clientId: null, clientSecret: null, scopes: 'openid email profile' },
    administrators: null,
    secretKey: null,
    formerSecretKeys: [],
    secretKeyLost: false,
    allowedNetworks: [],
    metricsPort: 9464,
    metricsHosts: [],
    maxConnectionsPerAddress: 500,
    rateLimits: { principal: 1200, ingest: 6000, address: 300, publicPaths: 3000, registration: 10 },
    otlpMaxBytes: 64 * 1024 * 1024,
    tracesOrigins: [],
    otlpGrpcPort: 4317,
    console: true,
    selfService: true,
    shutdownDelayMs: 1000,
    maxObservations: 10_000,
    maxUsageSeries: 20_000,
    maxOpenSessions: 1000,
    logLevel: 'info',
    hasLogLevel: false,
    devIdentity: false,
  });
});

test('regression: an empty DATABASE_URL is refused, because a missing value is probably a mistake', () => {
  expect(refusal({ DATABASE_URL: '' })).toMatch(/^DATABASE_URL: [^\n]+$/);
});

test('QM_DATA_DIR names the folder of the database, unless DATABASE_URL names a database', () => {
  const QM_DATA_DIR = '/var/lib/qm';
  const DATABASE_URL = 'sqlite:other/qm.db';
  expect(readConfig({ QM_DATA_DIR })).toMatchObject({
    databaseUrl: 'sqlite:/var/lib/qm/quartermaster.db',
    dataFolder: QM_DATA_DIR,
  });
  expect(readDatabaseUrl({ QM_DATA_DIR })).toBe('sqlite:/var/lib/qm/quartermaster.db');
  expect(readConfig({ QM_DATA_DIR, DATABASE_URL })).toMatchObject({
    databaseUrl: DATABASE_URL,
    dataFolder: QM_DATA_DIR,
  });
  expect(refusal({ QM_DATA_DIR, DATABASE_URL: '' })).toMatch(/^DATABASE_URL: /);
});

test('an empty variable counts as unset', () => {
  const names = ['HOST', 'PORT', 'QM_PUBLIC_URL', 'QM_TRUSTED_PROXIES', 'QM_BOOTSTRAP_API_KEY'];
  const more = ['QM_OIDC_ISSUER', 'QM_SECRET_KEY', 'QM_METRICS_PORT', 'QM_RATE_LIMITS', 'QM_DEV_IDENTITY'];
  expect(readConfig(Object.fromEntries([...names, ...more].map((name) => [name, ''])))).toEqual(readConfig({}));
});

test('every variable is read', () => {
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

test('regression: HOST may be an IPv6 address in brackets', () => {
  expect(readConfig({ HOST: '[::1]' }).host).toBe('::1');
  expect(readConfig({ HOST: '::1' }).host).toBe('::1');
  expect(refusal({ HOST: '[::]' })).toMatch(/^QM_PUBLIC_URL: is required/);
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
  ...[
    'https://accounts.google.com',
    'https://login.microsoftonline.com/common/v2.0',
    'https://login.microsoftonline.com/organizations/v2.0',
    'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0',
  ].map((issuer) => ['QM_OIDC_TRUST_EMAILS', { QM_OIDC_ISSUER: issuer, QM_OIDC_TRUST_EMAILS: '1' }] as const),
] as const)(
  '%s is refused without a variable that it needs, or with one that it does not fit: %j',
  (name, environment) => {
    const message = refusal(environment);
    expect(message).toMatch(new RegExp(`^${name}: `));
    expect(message).not.toContain('hunter2');
  },
);

const INVALID: [string, string][] = [
  ['PORT', '65536'],
  ['PORT', '-1'],
  ['PORT', 'hunter2'],
  ['PORT', '80.5'],
  ['QM_PUBLIC_URL', 'qm.hunter2.example'],
  ['QM_PUBLIC_URL', 'ftp://hunter2.example'],
  ['QM_PUBLIC_URL', 'https://qm.example.com//hunter2'],
  ['QM_PUBLIC_URL', 'https://qm.example.com/hunter2$&'],
  ['QM_PUBLIC_URL', 'https://qm.example.com/v1/hunter2'],
  ['QM_PUBLIC_URL', 'https://qm.example.com/Console'],
  ['QM_OTLP_ORIGINS', '*'],
  ['QM_OTLP_ORIGINS', 'hunter2.example'],
  ['QM_OTLP_ORIGINS', 'https://hunter2.example/'],
  ['QM_OTLP_ORIGINS', 'null'],
  ['QM_TRUSTED_PROXIES', 'hunter2'],
  ['QM_TRUSTED_PROXIES', '10.0.0.0/8,10.0.0.0/99'],
  ['DATABASE_URL', 'mysql://user:hunter2@localhost/qm'],
  ['DATABASE_URL', 'postgres://user:hunter2@@a host/qm'],
  // Regression: parts of a password that is not percent-encoded were parsed as the host, and repeated in the error.
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
  ['QM_OIDC_TRUST_EMAILS', 'hunter2'],
  ['QM_OIDC_SCOPES', 'hunter2'],
  ['QM_OIDC_SCOPES', 'openid  hunter2'],
  ['QM_PUBLIC_URL', 'https://me:hunter2@qm.example.com'],
  ['QM_PUBLIC_URL', 'https://hunter2@qm.example.com'],
  ['DATABASE_URL', 'sqlite::memory:'],
  ['DATABASE_URL', 'postgres://me:hunter2%zz@localhost/qm'],
  ['DATABASE_URL', 'postgres://me:hunter2%E4@localhost/qm'],
  ['DATABASE_URL', 'postgres://me:x@localhost/qm?sslmode=hunter2%'],
  // Regression: these were accepted. A blank port was any free port, and the password of an issuer was in the log.
  ['PORT', ' '],
  ['QM_METRICS_PORT', ' '],
  ['QM_RATE_LIMIT_PRINCIPAL', '1e3'],
  ['QM_PUBLIC_URL', 'https://qm.example.com?hunter2'],
  ['QM_PUBLIC_URL', 'https://qm.example.com/#hunter2'],
  ['QM_OIDC_ISSUER', 'https://me:hunter2@id.example.com'],
  ['QM_OIDC_ISSUER', 'https://id.example.com/?hunter2'],
  ['QM_LOG_LEVEL', 'hunter2'],
  ['QM_DEV_IDENTITY', 'hunter2'],
  ['QM_DEV_IDENTITY', 'true'],
];

test('PostgreSQL requires QM_SECRET_KEY, because a key file would belong to one process', () => {
  const DATABASE_URL = 'postgres://user:hunter2@localhost/qm';
  expect(refusal({ DATABASE_URL })).toBe('QM_SECRET_KEY: is required for a PostgreSQL database');
  const config = readConfig({ DATABASE_URL, QM_SECRET_KEY: SECRET_KEY, QM_DATABASE_POOL: '25' });
  expect(config).toMatchObject({ databaseUrl: DATABASE_URL, databasePool: 25 });
});

test.each(INVALID)('an invalid %s is refused with its name, and its value is not repeated: %s', (name, value) => {
  const message = refusal({ [name]: value });
  expect(message).toMatch(new RegExp(`^${name}`));
  expect(message).not.toContain('hunter2');
});

test.each([
  ['QM_PUBLIC_URL', 'qm.example.com', 'should be an http or https URL'],
  ['QM_OIDC_ISSUER', 'id.example.com', 'should be an http or https URL'],
  ['QM_SECRET_KEY', 'not base64', 'should be 32 bytes, base64'],
])('regression: the error for a wrong %s says what is allowed', (name, value, allowed) => {
  expect(refusal({ [name]: value })).toBe(`${name}: ${allowed}`);
});

test.each(['http://127.0.0.1:8080/oidc', 'http://localhost:9', 'http://[::1]:9', 'https://id.example.com'])(
  'QM_OIDC_ISSUER may be %s',
  (QM_OIDC_ISSUER) => {
    expect(readConfig({ QM_OIDC_ISSUER }).oidc.issuer).toBe(QM_OIDC_ISSUER);
  },
);

test('an error says what a number should be', () => {
  const message = refusal({ PORT: 'x', QM_METRICS_PORT: 'x', QM_DATABASE_POOL: '1' });
  expect(message.split('\n')).toEqual([
    'PORT: should be a whole number from 0 to 65535',
    'QM_DATABASE_POOL: should be a whole number from 2 to 1000',
    'QM_METRICS_PORT: should be a port from 0 to 65535, or off',
  ]);
});

test('all invalid settings are reported at once, one on each line', () => {
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
  ])('is refused if HOST is not loopback: %s', (HOST) => {
    expect(refusal({ HOST, QM_DEV_IDENTITY: '1' })).toMatch(/^QM_DEV_IDENTITY/);
    expect(readConfig({ HOST, QM_PUBLIC_URL: 'https://qm.example.com' }).devIdentity).toBe(false);
  });

  test.each(['127.0.0.1', '127.8.8.8', '::1', 'localhost'])('runs if HOST is loopback: %s', (HOST) => {
    expect(readConfig({ HOST, QM_DEV_IDENTITY: '1' }).devIdentity).toBe(true);
  });

  test('is off if an issuer is configured', () => {
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
  ])('regression: is refused behind a proxy: %s %s', (name, value) => {
    const message = refusal({ QM_DEV_IDENTITY: '1', [name]: value });
    expect(message).toMatch(new RegExp(`^QM_DEV_IDENTITY: [^\\n]*${name}[^\\n]*npm run serve$`));
    expect(readConfig({ QM_DEV_IDENTITY: '0', [name]: value }).devIdentity).toBe(false);
  });

  test.each(['http://localhost:8080', 'http://127.0.0.1:9', 'http://[::1]:8080/'])(
    'runs if the public URL is loopback: %s',
    (QM_PUBLIC_URL) => {
      expect(readConfig({ QM_PUBLIC_URL, QM_DEV_IDENTITY: '1' }).devIdentity).toBe(true);
    },
  );
});
