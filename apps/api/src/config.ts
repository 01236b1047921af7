import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { isPostgresUrl, sqlitePath } from '@quartermaster/db/database-url.ts';
import { z } from 'zod';
import { isNetwork } from './outbound/addresses.ts';

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
  QM_METRICS_PORT: z.union([z.literal('off'), port]).default(9464),
  QM_RATE_LIMITS: z.enum(['on', 'off']).default('on'),
  QM_RATE_LIMIT_PRINCIPAL: requestsAMinute.default(1200),
  QM_RATE_LIMIT_INGEST: requestsAMinute.default(6000),
  QM_RATE_LIMIT_ADDRESS: requestsAMinute.default(300),
  QM_RATE_LIMIT_REGISTRATION: requestsAMinute.default(10),
  QM_OTLP_MAX_BYTES: z.coerce
    .number()
    .int()
    .min(1024)
    .max(256 * 1024 * 1024)
    .default(64 * 1024 * 1024),
  QM_SELF_SERVICE: z.enum(['on', 'off']).default('on'),
  QM_SHUTDOWN_DELAY_MS: z.coerce.number().int().min(0).max(600_000).default(1000),
  QM_MAX_OBSERVATIONS: z.coerce.number().int().min(1).default(10_000),
  QM_LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent']).default('info'),
  QM_DEV_IDENTITY: z.enum(['', '0', '1']).default('0'),
});

export type Config = ReturnType<typeof readConfig>;

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
export function readConfig(environment: Record<string, string | undefined>) {
  const env = parsed(EnvironmentSchema, environment);
  const devIdentity = env.QM_DEV_IDENTITY === '1' && env.QM_OIDC_ISSUER === undefined;
  if (devIdentity && !isLoopback(env.HOST)) {
    throw new ConfigError('QM_DEV_IDENTITY: the development identity provider runs on a loopback HOST alone');
  }
  return {
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
    /** Requests a minute; null: without limits. */
    rateLimits:
      env.QM_RATE_LIMITS === 'off'
        ? null
        : {
            principal: env.QM_RATE_LIMIT_PRINCIPAL,
            ingest: env.QM_RATE_LIMIT_INGEST,
            address: env.QM_RATE_LIMIT_ADDRESS,
            registration: env.QM_RATE_LIMIT_REGISTRATION,
          },
    otlpMaxBytes: env.QM_OTLP_MAX_BYTES,
    selfService: env.QM_SELF_SERVICE === 'on',
    maxObservations: env.QM_MAX_OBSERVATIONS,
    /** How long a stopping service says that it is not ready before it stops listening. */
    shutdownDelayMs: env.QM_SHUTDOWN_DELAY_MS,
    logLevel: env.QM_LOG_LEVEL,
    devIdentity,
  };
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

/** Whoever is between here and the issuer could hand out keys of their own over http. */
function isSafeIssuer(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || isLoopback(hostname.replace(/^\[|\]$/g, ''));
}

/** What Express takes as a trusted proxy. */
function isProxy(text: string): boolean {
  return ['loopback', 'linklocal', 'uniquelocal'].includes(text) || isNetwork(text);
}
