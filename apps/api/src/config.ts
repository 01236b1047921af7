import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { isPostgresUrl, sqlitePath } from '@quartermaster/db/database-url.ts';
import { z } from 'zod';
import { CONNECTION_LIMITS } from './http/limits.ts';
import { isNetwork } from './outbound/addresses.ts';
import { unknownVariables } from './unknown-variables.ts';

/** The repository's root: what relative paths of the configuration are relative to. */
export const ROOT = resolve(import.meta.dirname, '../../..');

export const VERSION = '0.1.0';

/** What stands between commas. */
const list = z.string().transform((text) =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== ''),
);

const secretKey = z
  .base64({ abort: true })
  .refine((text) => Buffer.from(text, 'base64').length === 32, { error: 'should be 32 bytes, base64' });

const port = z.coerce.number().int().min(0).max(65535);

const requestsAMinute = z.coerce.number().int().min(1).max(10_000_000);

export const DATABASE_URL_FORM =
  'sqlite:<path> or postgres://<user>:<password>@<host>:<port>/<database>, each part percent-encoded';

const EnvironmentSchema = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: port.default(8080),
  QM_PUBLIC_URL: z
    .url({ protocol: /^https?$/, abort: true })
    .refine(isWithoutCredentials, { error: 'should have no user and no password: it is told to everybody' })
    .optional(),
  QM_TRUSTED_PROXIES: list
    .pipe(z.array(z.string().refine(isProxy, { error: 'should be addresses or networks, such as 10.0.0.0/8' })))
    .default([]),
  QM_ALLOW_PRIVATE_ADDRESSES: list
    .pipe(z.array(z.string().refine(isNetwork, { error: 'should be addresses or networks, such as 10.0.0.0/8' })))
    .default([]),
  DATABASE_URL: z
    .string()
    .refine(isDatabaseUrl, { error: `should be ${DATABASE_URL_FORM}` })
    .default('sqlite:data/quartermaster.db'),
  QM_DATABASE_POOL: z.coerce.number().int().min(2).max(1000).default(10),
  QM_BOOTSTRAP_API_KEY: z.string().optional(),
  QM_OIDC_ISSUER: z
    .url({ protocol: /^https?$/, abort: true })
    .refine(isSafeIssuer, { error: 'should be an https URL; http is for loopback hosts alone' })
    .optional(),
  QM_OIDC_AUDIENCE: z.string().min(1).default('quartermaster'),
  QM_OIDC_EMAIL_CLAIM: z.string().min(1).default('email'),
  QM_OIDC_TOKEN_TYPES: list.pipe(z.array(z.string()).min(1, { error: 'should name a type' })).default(['at+jwt']),
  QM_SECRET_KEY: secretKey.optional(),
  QM_SECRET_KEY_LOST: z.enum(['', '0', '1']).default('0'),
  QM_SECRET_KEY_PREVIOUS: list.pipe(z.array(secretKey)).default([]),
  QM_MAX_CONNECTIONS_PER_ADDRESS: z.coerce
    .number()
    .int()
    .min(1)
    .max(CONNECTION_LIMITS.maxConnections)
    .default(CONNECTION_LIMITS.maxConnectionsPerAddress),
  QM_METRICS_HOSTS: list.pipe(z.array(z.hostname({ error: 'should be names without ports' }))).default([]),
  QM_METRICS_PORT: z.union([z.literal('off'), port]).default(9464),
  QM_RATE_LIMITS: z.enum(['on', 'off']).default('on'),
  QM_RATE_LIMIT_PRINCIPAL: requestsAMinute.default(1200),
  QM_RATE_LIMIT_INGEST: requestsAMinute.default(6000),
  QM_RATE_LIMIT_ADDRESS: requestsAMinute.default(300),
  QM_RATE_LIMIT_PUBLIC: requestsAMinute.default(3000),
  QM_RATE_LIMIT_REGISTRATION: requestsAMinute.default(10),
  QM_OTLP_MAX_BYTES: z.coerce
    .number()
    .int()
    .min(1024)
    .max(256 * 1024 * 1024)
    .default(64 * 1024 * 1024),
  QM_OTLP_GRPC_PORT: z.union([z.literal('off'), port]).default(4317),
  QM_SELF_SERVICE: z.enum(['on', 'off']).default('on'),
  QM_SHUTDOWN_DELAY_MS: z.coerce.number().int().min(0).max(600_000).default(1000),
  QM_MAX_OBSERVATIONS: z.coerce.number().int().min(1).default(10_000),
  QM_MAX_USAGE_SERIES: z.coerce.number().int().min(1).max(100_000).default(20_000),
  QM_MAX_OPEN_SESSIONS: z.coerce.number().int().min(1).max(1_000_000).default(1000),
  QM_LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent']).default('info'),
  QM_DEV_IDENTITY: z.enum(['', '0', '1']).default('0'),
});

export type Config = ReturnType<typeof readConfig>;

/**
 * How the program was started. `development` (`npm start`, `npm run dev`) has defaults for one person at this machine;
 * `production` (`npm run serve`) refuses what only development needs; null takes the settings as they are.
 */
export type StartMode = 'development' | 'production' | null;

/** Defaults of a development start. A variable that is set, even if it is empty, is used instead. */
const DEVELOPMENT_DEFAULTS = { QM_DEV_IDENTITY: '1', QM_ALLOW_PRIVATE_ADDRESSES: '127.0.0.0/8,::1' };

/** In the place of an issuer: people do not sign in, only API keys are accepted. */
const NO_ISSUER = 'none';

/** What is configured, or asked of a command, is missing, wrong or unusable: nothing is begun. */
export class ConfigError extends Error {}

/**
 * Reads which database is meant, and nothing else: for commands that need no more.
 *
 * @throws {ConfigError} where that is wrong
 */
export function readDatabaseUrl(environment: Record<string, string | undefined>): string {
  return parsed(EnvironmentSchema.pick({ DATABASE_URL: true }), environment).DATABASE_URL;
}

/** Reads which issuer is trusted, and nothing else. Null for none. @throws {ConfigError} where that is wrong */
export function readIssuer(environment: Record<string, string | undefined>): string | null {
  if (environment['QM_OIDC_ISSUER'] === NO_ISSUER) return null;
  return parsed(EnvironmentSchema.pick({ QM_OIDC_ISSUER: true }), environment).QM_OIDC_ISSUER ?? null;
}

/**
 * Reads which database is meant and which keys open its secrets.
 *
 * @throws {ConfigError} where that is wrong
 */
export function readSecretKeys(environment: Record<string, string | undefined>) {
  const names = {
    DATABASE_URL: true,
    QM_SECRET_KEY: true,
    QM_SECRET_KEY_PREVIOUS: true,
    QM_SECRET_KEY_LOST: true,
  } as const;
  return secretKeysOf(parsed(EnvironmentSchema.pick(names), environment));
}

/**
 * Reads the configuration. Nothing else reads the environment. Empty variables count as unset, but for DATABASE_URL: a
 * secret that did not arrive would make a new, empty database.
 *
 * @throws {ConfigError} with one line for each setting that is wrong; values are not shown, since some are secrets
 */
export function readConfig(environment: Record<string, string | undefined>, mode: StartMode = null) {
  const given: Record<string, string | undefined> = {
    ...(mode === 'development' && DEVELOPMENT_DEFAULTS),
    ...environment,
  };
  const unknown = unknownVariables(given, Object.keys(EnvironmentSchema.shape));
  if (unknown.length > 0) throw new ConfigError(unknown.join('\n'));
  const keysOnly = given['QM_OIDC_ISSUER'] === NO_ISSUER;
  const env = parsed(EnvironmentSchema, keysOnly ? { ...given, QM_OIDC_ISSUER: '' } : given);
  const devIdentity = env.QM_DEV_IDENTITY === '1' && env.QM_OIDC_ISSUER === undefined;
  const faults = [
    ...(devIdentity ? devIdentityFaults(env) : []),
    ...addressFaults(env),
    ...(mode === 'production' ? productionFaults(env, keysOnly) : []),
  ];
  if (faults.length > 0) throw new ConfigError(faults.join('\n'));
  return {
    mode,
    ...secretKeysOf(env),
    host: env.HOST,
    port: env.PORT,
    /** Null: made of the address that the server listens on. */
    publicUrl: env.QM_PUBLIC_URL?.replace(/\/+$/, '') ?? null,
    trustedProxies: env.QM_TRUSTED_PROXIES,
    /** Connections to Postgres. */
    databasePool: env.QM_DATABASE_POOL,
    bootstrapApiKey: env.QM_BOOTSTRAP_API_KEY ?? null,
    oidc: {
      issuer: env.QM_OIDC_ISSUER ?? null,
      audience: env.QM_OIDC_AUDIENCE,
      emailClaim: env.QM_OIDC_EMAIL_CLAIM,
      tokenTypes: env.QM_OIDC_TOKEN_TYPES,
    },
    /** Private networks that syncs may reach. */
    allowedNetworks: env.QM_ALLOW_PRIVATE_ADDRESSES,
    metricsPort: env.QM_METRICS_PORT === 'off' ? null : env.QM_METRICS_PORT,
    /** Further names of this machine that requests for metrics may have in Host. */
    metricsHosts: env.QM_METRICS_HOSTS.map((host) => host.toLowerCase()),
    maxConnectionsPerAddress: env.QM_MAX_CONNECTIONS_PER_ADDRESS,
    /** Requests a minute; null: without limits. */
    rateLimits:
      env.QM_RATE_LIMITS === 'off'
        ? null
        : {
            principal: env.QM_RATE_LIMIT_PRINCIPAL,
            ingest: env.QM_RATE_LIMIT_INGEST,
            address: env.QM_RATE_LIMIT_ADDRESS,
            publicPaths: env.QM_RATE_LIMIT_PUBLIC,
            registration: env.QM_RATE_LIMIT_REGISTRATION,
          },
    otlpMaxBytes: env.QM_OTLP_MAX_BYTES,
    /** On the same host as HTTP. Null: OTLP/gRPC is off. */
    otlpGrpcPort: env.QM_OTLP_GRPC_PORT === 'off' ? null : env.QM_OTLP_GRPC_PORT,
    selfService: env.QM_SELF_SERVICE === 'on',
    maxObservations: env.QM_MAX_OBSERVATIONS,
    /** Combinations of provider, name, agent and account that usage of a tenant is summed up for. */
    maxUsageSeries: env.QM_MAX_USAGE_SERIES,
    /** Open gateway sessions of a subject at a gateway. */
    maxOpenSessions: env.QM_MAX_OPEN_SESSIONS,
    /** How long a stopping service says that it is not ready before it stops listening. */
    shutdownDelayMs: env.QM_SHUTDOWN_DELAY_MS,
    logLevel: env.QM_LOG_LEVEL,
    devIdentity,
  };
}

type Settings = z.output<typeof EnvironmentSchema>;

/** The development identity provider signs in as anybody. It is for one machine, and nothing may stand in front of it. */
function devIdentityFaults({ HOST, QM_PUBLIC_URL, QM_TRUSTED_PROXIES }: Settings): string[] {
  const faults: string[] = [];
  const refuse = (why: string) => faults.push(`QM_DEV_IDENTITY: the development identity provider ${why}`);
  const instead = 'for production set QM_OIDC_ISSUER and use npm run serve';
  if (!isLoopback(HOST)) refuse('runs on a loopback HOST alone');
  if (QM_PUBLIC_URL !== undefined && !isLoopback(hostOf(QM_PUBLIC_URL))) {
    refuse(`does not run with a QM_PUBLIC_URL that is not loopback: ${instead}`);
  }
  if (QM_TRUSTED_PROXIES.length > 0) refuse(`does not run behind a proxy (QM_TRUSTED_PROXIES): ${instead}`);
  return faults;
}

/** Tokens would name `http://0.0.0.0:8080` as their issuer, which is nobody's address. */
function addressFaults({ HOST, QM_PUBLIC_URL }: Settings): string[] {
  if (QM_PUBLIC_URL !== undefined || !isEveryAddress(HOST)) return [];
  return ['QM_PUBLIC_URL: is required where HOST is every address of the machine: the address that callers use'];
}

function productionFaults({ QM_DEV_IDENTITY, QM_OIDC_ISSUER }: Settings, keysOnly: boolean): string[] {
  const faults: string[] = [];
  if (QM_DEV_IDENTITY === '1') {
    faults.push('QM_DEV_IDENTITY: is for development (npm start): npm run serve starts without it');
  }
  if (QM_OIDC_ISSUER === undefined && !keysOnly) {
    const what = `the issuer of bearer tokens, or ${NO_ISSUER} where API keys are all that is used`;
    faults.push(`QM_OIDC_ISSUER: is required by npm run serve: ${what}`);
  }
  return faults;
}

type KeyEnvironment = Pick<
  z.output<typeof EnvironmentSchema>,
  'DATABASE_URL' | 'QM_SECRET_KEY' | 'QM_SECRET_KEY_PREVIOUS' | 'QM_SECRET_KEY_LOST'
>;

function secretKeysOf(env: KeyEnvironment) {
  if (isPostgresUrl(env.DATABASE_URL) && env.QM_SECRET_KEY === undefined) {
    // A key that each process made for itself would open nothing of the others'.
    throw new ConfigError('QM_SECRET_KEY: is required where the database is Postgres');
  }
  return {
    databaseUrl: env.DATABASE_URL,
    secretKey: env.QM_SECRET_KEY === undefined ? null : Buffer.from(env.QM_SECRET_KEY, 'base64'),
    /** Former ones: what they sealed still opens, and is sealed again at start. */
    formerSecretKeys: env.QM_SECRET_KEY_PREVIOUS.map((key) => Buffer.from(key, 'base64')),
    /** Start although no key opens what is sealed: it is given up. */
    secretKeyLost: env.QM_SECRET_KEY_LOST === '1',
  };
}

function parsed<Schema extends z.ZodType>(
  schema: Schema,
  environment: Record<string, string | undefined>,
): z.output<Schema> {
  const set = Object.entries(environment).filter(([name, value]) => value || (value === '' && name === 'DATABASE_URL'));
  const { success, data, error } = schema.safeParse(Object.fromEntries(set));
  if (success) return data;
  throw new ConfigError(error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('\n'));
}

export function isDatabaseUrl(url: string): boolean {
  return isPostgresUrl(url) || sqlitePath(url, ROOT) !== null;
}

function isWithoutCredentials(url: string): boolean {
  const { username, password } = new URL(url);
  return username === '' && password === '';
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}

/** Whether it is the unspecified address, in any spelling: `0.0.0.0`, `0`, `::`, `0:0::0`, `::ffff:0.0.0.0`. */
function isEveryAddress(host: string): boolean {
  const url = URL.parse(`http://${host.includes(':') ? `[${host}]` : host}`);
  return url !== null && ['0.0.0.0', '::', '::ffff:0:0'].includes(hostOf(url.href));
}

/** Whoever is between here and the issuer could hand out keys of their own over http. */
function isSafeIssuer(url: string): boolean {
  return new URL(url).protocol === 'https:' || isLoopback(hostOf(url));
}

/** What Express takes as a trusted proxy. */
function isProxy(text: string): boolean {
  return ['loopback', 'linklocal', 'uniquelocal'].includes(text) || isNetwork(text);
}
