import { resolve } from 'node:path';
import { isPostgresUrl, sqlitePath } from '@quartermaster/db/database-url.ts';
import { z } from 'zod';
import { CONNECTION_LIMITS } from './http/messages/limits.ts';
import { installation } from './installation.ts';
import { isNetwork } from './platform/outbound/addresses.ts';
import { isLoopback } from './platform/loopback.ts';
import { unknownVariables } from './platform/unknown-variables.ts';

/** Relative paths in the configuration are relative to it: the root of the checkout, or the current folder for the npm package. */
export const ROOT = installation.root;

export const VERSION = '0.1.0';

/** Values separated by commas. */
const list = z.string().transform((text) =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== ''),
);

const SECRET_KEY_FORM = 'should be 32 bytes, base64';

const secretKey = z
  .base64({ error: SECRET_KEY_FORM, abort: true })
  .refine((text) => Buffer.from(text, 'base64').length === 32, { error: SECRET_KEY_FORM });

function wholeNumber(min: number, max: number) {
  const error = `should be a whole number from ${min} to ${max}`;
  const digits = z.string().trim().regex(/^\d+$/, { error, abort: true });
  return digits.transform(Number).pipe(z.number().min(min, { error }).max(max, { error }));
}

const port = wholeNumber(0, 65535);

const portOrOff = z.union([z.literal('off'), port], { error: 'should be a port from 0 to 65535, or off' });

const requestsAMinute = wholeNumber(1, 10_000_000);

/** An absolute URL to which paths are appended. */
const baseUrl = z
  .url({ protocol: /^https?$/, error: 'should be an http or https URL', abort: true })
  .refine(isWithoutCredentials, { error: 'should have no user and no password, because it is public' })
  .refine((url) => !/[?#]/.test(url), { error: 'should have no query and no fragment' });

export const DATABASE_URL_FORM =
  'sqlite:<path> or postgres://<user>:<password>@<host>:<port>/<database>, each part percent-encoded';

const EnvironmentSchema = z.object({
  HOST: z
    .string()
    // An IPv6 address may have the brackets that it has in a URL.
    .transform((host) => host.replace(/^\[(.*)\]$/, '$1'))
    .default('127.0.0.1'),
  PORT: port.default(8080),
  QM_PUBLIC_URL: baseUrl.optional(),
  QM_TRUSTED_PROXIES: list
    .pipe(z.array(z.string().refine(isProxy, { error: 'should be addresses or networks, such as 10.0.0.0/8' })))
    .default([]),
  QM_ALLOW_PRIVATE_ADDRESSES: list
    .pipe(z.array(z.string().refine(isNetwork, { error: 'should be addresses or networks, such as 10.0.0.0/8' })))
    .default([]),
  DATABASE_URL: z
    .string()
    .refine(isDatabaseUrl, { error: `should be ${DATABASE_URL_FORM}` })
    .default(`sqlite:${installation.dataFolder}/quartermaster.db`),
  QM_DATA_DIR: z.string().default(installation.dataFolder),
  QM_DATABASE_POOL: wholeNumber(2, 1000).default(10),
  QM_BOOTSTRAP_API_KEY: z.string().optional(),
  // OpenID Connect Discovery 1.0, section 3, forbids a query and a fragment.
  QM_OIDC_ISSUER: baseUrl
    .refine(isSafeIssuer, { error: 'should be an https URL; http is only for loopback hosts' })
    .optional(),
  QM_OIDC_AUDIENCE: z.string().min(1).default('quartermaster'),
  QM_OIDC_EMAIL_CLAIM: z.string().min(1).default('email'),
  QM_OIDC_TRUST_EMAILS: z.enum(['', '0', '1']).default('0'),
  QM_OIDC_TOKEN_TYPES: list.pipe(z.array(z.string()).min(1, { error: 'should name a type' })).default(['at+jwt']),
  QM_OIDC_CLIENT_ID: z.string().min(1).optional(),
  QM_OIDC_CLIENT_SECRET: z.string().min(1).optional(),
  QM_OIDC_SCOPES: z
    .string()
    .regex(/^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/, {
      error: 'should be scopes with one space between them',
    })
    .refine((scopes) => scopes.split(' ').includes('openid'), { error: 'should contain openid' })
    .default('openid email profile'),
  QM_OIDC_ADMIN_CLAIM: z.string().min(1).optional(),
  QM_OIDC_ADMIN_VALUE: z.string().min(1).optional(),
  QM_SECRET_KEY: secretKey.optional(),
  QM_SECRET_KEY_LOST: z.enum(['', '0', '1']).default('0'),
  QM_SECRET_KEY_PREVIOUS: list.pipe(z.array(secretKey)).default([]),
  QM_MAX_CONNECTIONS_PER_ADDRESS: wholeNumber(1, CONNECTION_LIMITS.maxConnections).default(
    CONNECTION_LIMITS.maxConnectionsPerAddress,
  ),
  QM_METRICS_HOSTS: list.pipe(z.array(z.hostname({ error: 'should be names without ports' }))).default([]),
  QM_METRICS_PORT: portOrOff.default(9464),
  QM_RATE_LIMITS: z.enum(['on', 'off']).default('on'),
  QM_RATE_LIMIT_PRINCIPAL: requestsAMinute.default(1200),
  QM_RATE_LIMIT_INGEST: requestsAMinute.default(6000),
  QM_RATE_LIMIT_ADDRESS: requestsAMinute.default(300),
  QM_RATE_LIMIT_PUBLIC: requestsAMinute.default(3000),
  QM_RATE_LIMIT_REGISTRATION: requestsAMinute.default(10),
  QM_OTLP_MAX_BYTES: wholeNumber(1024, 256 * 1024 * 1024).default(64 * 1024 * 1024),
  QM_OTLP_ORIGINS: list
    .pipe(z.array(z.string().refine(isOrigin, { error: 'should be origins, such as https://app.example.com' })))
    .default([]),
  QM_OTLP_GRPC_PORT: portOrOff.default(4317),
  QM_CONSOLE: z.enum(['on', 'off']).default('on'),
  QM_SELF_SERVICE: z.enum(['on', 'off']).default('on'),
  QM_SHUTDOWN_DELAY_MS: wholeNumber(0, 600_000).default(1000),
  QM_MAX_OBSERVATIONS: wholeNumber(1, Number.MAX_SAFE_INTEGER).default(10_000),
  QM_MAX_USAGE_SERIES: wholeNumber(1, 100_000).default(20_000),
  QM_MAX_OPEN_SESSIONS: wholeNumber(1, 1_000_000).default(1000),
  QM_LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent']).optional(),
  QM_DEV_IDENTITY: z.enum(['', '0', '1']).default('0'),
});

export type Config = ReturnType<typeof readConfig>;

/**
 * How the program was started. `development` (`npm start`, `npm run dev`) has defaults for one person on this machine.
 * `production` (`npm run serve`) refuses settings for development. Null uses the settings as they are.
 */
export type StartMode = 'development' | 'production' | null;

/** Defaults of a development start. A variable that is set, even to an empty value, overrides them. */
const DEVELOPMENT_DEFAULTS = { QM_DEV_IDENTITY: '1', QM_ALLOW_PRIVATE_ADDRESSES: '127.0.0.0/8,::1' };

/** The value of QM_OIDC_ISSUER for a service without sign-in, which accepts only API keys. */
const NO_ISSUER = 'none';

/** A setting or an argument of a command is missing, wrong or unusable. The program does not start its work. */
export class ConfigError extends Error {}

/** Reads only DATABASE_URL, for commands that need nothing else. @throws {ConfigError} for a wrong value */
export function readDatabaseUrl(environment: Record<string, string | undefined>): string {
  return parsed(EnvironmentSchema.pick({ DATABASE_URL: true }), environment).DATABASE_URL;
}

/** The address of the server on this machine, by HOST and PORT. @throws {ConfigError} for a wrong value */
export function readOwnUrl(environment: Record<string, string | undefined>): string {
  const { HOST, PORT } = parsed(EnvironmentSchema.pick({ HOST: true, PORT: true }), environment);
  if (isEveryAddress(HOST)) return `http://127.0.0.1:${PORT}`;
  return `http://${HOST.includes(':') ? `[${HOST}]` : HOST}:${PORT}`;
}

/** Reads only QM_OIDC_ISSUER. Null for none. @throws {ConfigError} for a wrong value */
export function readIssuer(environment: Record<string, string | undefined>): string | null {
  if (environment['QM_OIDC_ISSUER'] === NO_ISSUER) return null;
  return parsed(EnvironmentSchema.pick({ QM_OIDC_ISSUER: true }), environment).QM_OIDC_ISSUER ?? null;
}

/** Reads only DATABASE_URL and the secret keys. @throws {ConfigError} for a wrong value */
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
 * Reads the configuration. No other code of the service reads the environment. Empty variables count as unset, except
 * DATABASE_URL: if a deployment failed to set it, the service would otherwise create a new, empty database.
 *
 * @throws {ConfigError} with one line for each wrong setting, without values, because some are secrets
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
    ...clientFaults(env),
    ...(mode === 'production' ? productionFaults(env, keysOnly) : []),
  ];
  if (faults.length > 0) throw new ConfigError(faults.join('\n'));
  return {
    mode,
    ...secretKeysOf(env),
    /** The folder for files that belong to a database on a server. */
    dataFolder: resolve(ROOT, env.QM_DATA_DIR),
    host: env.HOST,
    port: env.PORT,
    /** Null: derived from the address that the server listens on. */
    publicUrl: env.QM_PUBLIC_URL?.replace(/\/+$/, '') ?? null,
    trustedProxies: env.QM_TRUSTED_PROXIES,
    /** Maximum connections to PostgreSQL. */
    databasePool: env.QM_DATABASE_POOL,
    bootstrapApiKey: env.QM_BOOTSTRAP_API_KEY ?? null,
    oidc: {
      issuer: env.QM_OIDC_ISSUER ?? null,
      audience: env.QM_OIDC_AUDIENCE,
      emailClaim: env.QM_OIDC_EMAIL_CLAIM,
      /** Whether an email without a flag counts as verified. */
      trustsEmails: env.QM_OIDC_TRUST_EMAILS === '1',
      tokenTypes: env.QM_OIDC_TOKEN_TYPES,
    },
    /** The web console as a client of the issuer. `clientId` null: no sign-in by browser. */
    consoleClient: {
      clientId: env.QM_OIDC_CLIENT_ID ?? null,
      clientSecret: env.QM_OIDC_CLIENT_SECRET ?? null,
      scopes: env.QM_OIDC_SCOPES,
    },
    /** The claim of the issuer that makes a user a platform administrator. */
    administrators:
      env.QM_OIDC_ADMIN_CLAIM !== undefined && env.QM_OIDC_ADMIN_VALUE !== undefined
        ? { claim: env.QM_OIDC_ADMIN_CLAIM, value: env.QM_OIDC_ADMIN_VALUE }
        : null,
    /** Private networks that syncs may reach. */
    allowedNetworks: env.QM_ALLOW_PRIVATE_ADDRESSES,
    metricsPort: env.QM_METRICS_PORT === 'off' ? null : env.QM_METRICS_PORT,
    /** Additional names of this machine that are accepted in the Host header of requests for metrics. */
    metricsHosts: env.QM_METRICS_HOSTS.map((host) => host.toLowerCase()),
    maxConnectionsPerAddress: env.QM_MAX_CONNECTIONS_PER_ADDRESS,
    /** Requests per minute; null: no limits. */
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
    /** The origins whose pages may send traces from a browser. */
    tracesOrigins: env.QM_OTLP_ORIGINS,
    /** On the same host as HTTP. Null: OTLP/gRPC is off. */
    otlpGrpcPort: env.QM_OTLP_GRPC_PORT === 'off' ? null : env.QM_OTLP_GRPC_PORT,
    console: env.QM_CONSOLE === 'on',
    selfService: env.QM_SELF_SERVICE === 'on',
    maxObservations: env.QM_MAX_OBSERVATIONS,
    /** Maximum combinations of provider, name, agent and account in the usage of a tenant. */
    maxUsageSeries: env.QM_MAX_USAGE_SERIES,
    /** Maximum open gateway sessions of a subject at a gateway. */
    maxOpenSessions: env.QM_MAX_OPEN_SESSIONS,
    /** How long a stopping service answers that it is not ready before it stops listening. */
    shutdownDelayMs: env.QM_SHUTDOWN_DELAY_MS,
    logLevel: env.QM_LOG_LEVEL ?? 'info',
    hasLogLevel: env.QM_LOG_LEVEL !== undefined,
    devIdentity,
  };
}

type Settings = z.output<typeof EnvironmentSchema>;

/** The development identity provider lets anyone sign in as any user, so it runs only on one machine, without a proxy. */
function devIdentityFaults({ HOST, QM_PUBLIC_URL, QM_TRUSTED_PROXIES }: Settings): string[] {
  const faults: string[] = [];
  const refuse = (why: string) => faults.push(`QM_DEV_IDENTITY: the development identity provider ${why}`);
  const instead = `for production set QM_OIDC_ISSUER and use ${installation.commandLine('serve')}`;
  if (!isLoopback(HOST)) refuse('runs only on a loopback HOST');
  if (QM_PUBLIC_URL !== undefined && !isLoopback(hostOf(QM_PUBLIC_URL))) {
    refuse(`does not run with a QM_PUBLIC_URL that is not loopback: ${instead}`);
  }
  if (QM_TRUSTED_PROXIES.length > 0) refuse(`does not run behind a proxy (QM_TRUSTED_PROXIES): ${instead}`);
  return faults;
}

/** A path that means the same in a URL, in a page and in a header. */
const PLAIN_PATH = /^(\/[\w.~-]+)*\/*$/;

/** The first segments of the service's own paths. */
const OWN_PATH = /^\/(v1|trpc|console|docs|oidc|openapi\.json|favicon\.ico|healthz|readyz|\.well-known)(\/|$)/i;

/** Tokens would name `http://0.0.0.0:8080` as their issuer. No caller can use that address. */
function addressFaults({ HOST, QM_PUBLIC_URL }: Settings): string[] {
  const path = QM_PUBLIC_URL === undefined ? '' : new URL(QM_PUBLIC_URL).pathname;
  if (!PLAIN_PATH.test(path)) return ['QM_PUBLIC_URL: should have a path of letters, digits and . _ ~ - alone'];
  if (OWN_PATH.test(path)) {
    return ['QM_PUBLIC_URL: should have another path, because the service has paths of its own that begin with it'];
  }
  if (!isEveryAddress(QM_PUBLIC_URL === undefined ? HOST : hostOf(QM_PUBLIC_URL))) return [];
  return QM_PUBLIC_URL === undefined
    ? ['QM_PUBLIC_URL: is required if HOST is every address of the machine: the address that callers use']
    : ['QM_PUBLIC_URL: should be the address that callers use, not every address of the machine'];
}

/** Settings that mean nothing one without the other. */
function clientFaults(env: Settings): string[] {
  const faults: string[] = [];
  if ((env.QM_OIDC_ADMIN_CLAIM === undefined) !== (env.QM_OIDC_ADMIN_VALUE === undefined)) {
    faults.push('QM_OIDC_ADMIN_CLAIM: is set together with QM_OIDC_ADMIN_VALUE, or not at all');
  }
  if (env.QM_OIDC_CLIENT_SECRET !== undefined && env.QM_OIDC_CLIENT_ID === undefined) {
    faults.push('QM_OIDC_CLIENT_SECRET: needs QM_OIDC_CLIENT_ID');
  }
  if (env.QM_OIDC_CLIENT_ID !== undefined && env.QM_OIDC_ISSUER === undefined) {
    faults.push('QM_OIDC_CLIENT_ID: needs QM_OIDC_ISSUER');
  }
  if (env.QM_OIDC_TRUST_EMAILS === '1' && isPublicIssuer(env.QM_OIDC_ISSUER)) {
    faults.push('QM_OIDC_TRUST_EMAILS: is only for an issuer whose users one organization manages');
  }
  return faults;
}

function productionFaults({ QM_DEV_IDENTITY, QM_OIDC_ISSUER }: Settings, keysOnly: boolean): string[] {
  const faults: string[] = [];
  if (QM_DEV_IDENTITY === '1') {
    const [dev, serve] = [installation.commandLine('dev'), installation.commandLine('serve')];
    faults.push(`QM_DEV_IDENTITY: is only for development (${dev}). ${serve} does not accept it`);
  }
  if (QM_OIDC_ISSUER === undefined && !keysOnly) {
    const what = `the issuer of bearer tokens, or ${NO_ISSUER} if only API keys are used`;
    faults.push(`QM_OIDC_ISSUER: is required by ${installation.commandLine('serve')}: ${what}`);
  }
  return faults;
}

type KeyEnvironment = Pick<
  z.output<typeof EnvironmentSchema>,
  'DATABASE_URL' | 'QM_SECRET_KEY' | 'QM_SECRET_KEY_PREVIOUS' | 'QM_SECRET_KEY_LOST'
>;

function secretKeysOf(env: KeyEnvironment) {
  if (isPostgresUrl(env.DATABASE_URL) && env.QM_SECRET_KEY === undefined) {
    // If each process generated its own key, it could not open the secrets of the others.
    throw new ConfigError('QM_SECRET_KEY: is required for a PostgreSQL database');
  }
  return {
    databaseUrl: env.DATABASE_URL,
    secretKey: env.QM_SECRET_KEY === undefined ? null : Buffer.from(env.QM_SECRET_KEY, 'base64'),
    /** Secrets of former keys can still be opened, and are sealed with the current key at the start. */
    formerSecretKeys: env.QM_SECRET_KEY_PREVIOUS.map((key) => Buffer.from(key, 'base64')),
    /** Start although no key opens the secrets. They are given up. */
    secretKeyLost: env.QM_SECRET_KEY_LOST === '1',
  };
}

function parsed<Schema extends z.ZodType>(
  schema: Schema,
  environment: Record<string, string | undefined>,
): z.output<Schema> {
  const set = Object.entries(withDatabaseUrl(environment)).filter(
    ([name, value]) => value || (value === '' && name === 'DATABASE_URL'),
  );
  const { success, data, error } = schema.safeParse(Object.fromEntries(set));
  if (success) return data;
  throw new ConfigError(error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('\n'));
}

/** The embedded database is in the data folder unless DATABASE_URL names one. */
function withDatabaseUrl(environment: Record<string, string | undefined>): Record<string, string | undefined> {
  const folder = environment['QM_DATA_DIR'];
  if (!folder || environment['DATABASE_URL'] !== undefined) return environment;
  return { ...environment, DATABASE_URL: `sqlite:${folder}/quartermaster.db` };
}

export function isDatabaseUrl(url: string): boolean {
  return isPostgresUrl(url) || sqlitePath(url, ROOT) !== null;
}

function isWithoutCredentials(url: string): boolean {
  const { username, password } = new URL(url);
  return username === '' && password === '';
}

function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}

/** Whether it is written as browsers send it in `Origin`. */
function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === text;
}

/** Whether it is the unspecified address, in any spelling: `0.0.0.0`, `0`, `::`, `0:0::0`, `::ffff:0.0.0.0`. */
function isEveryAddress(host: string): boolean {
  const url = URL.parse(`http://${host.includes(':') ? `[${host}]` : host}`);
  return url !== null && ['0.0.0.0', '::', '::ffff:0:0'].includes(hostOf(url.href));
}

/** Over http, an attacker on the network could replace the issuer's keys. */
function isSafeIssuer(url: string): boolean {
  return new URL(url).protocol === 'https:' || isLoopback(hostOf(url));
}

/** An issuer at which anybody can have an account, so that its users partly choose their emails themselves. */
function isPublicIssuer(issuer = ''): boolean {
  return /^https:\/\/(accounts\.google\.com|login\.microsoftonline\.com\/(common|organizations|consumers|9188040d-6c67-4c5b-b112-36a304b66dad))(\/|$)/i.test(
    issuer,
  );
}

/** The values that Express accepts as a trusted proxy. */
function isProxy(text: string): boolean {
  return ['loopback', 'linklocal', 'uniquelocal'].includes(text) || isNetwork(text);
}
