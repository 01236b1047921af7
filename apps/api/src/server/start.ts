import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { migrate } from '@quartermaster/db/migrate.ts';
import { openDatabase } from '@quartermaster/db/open-database.ts';
import pino, { type Logger } from 'pino';
import { requireNoUnfinishedMove } from '@quartermaster/db/database-move.ts';
import { type IdentityProvider, identityProvider } from '../auth/console/identity-provider.ts';
import { consoleSignIn } from '../auth/console/sign-in.ts';
import { sessionToken } from '../auth/console-sessions.ts';
import { createTokenVerifier } from '../auth/bearer.ts';
import type { AuthServices, TrustedIssuer } from '../auth/trusted-issuer.ts';
import { type Config, ROOT, VERSION } from '../config.ts';
import { startWithoutLostKey } from './lost-secret-key.ts';
import { resealSecrets } from './secret-rotation.ts';
import { createServices, type ServiceParts } from './services.ts';
import { CONNECTION_LIMITS, type ConnectionLimits } from '../http/messages/limits.ts';
import { fairResolver } from '../platform/fair-resolver.ts';
import { type Resolver, resolveAll } from '../platform/outbound/resolver.ts';
import { SYNC_LIMITS, type SyncLimits, type SyncRuns, syncRuns } from '../platform/outbound/sync-runs.ts';
import { createMetrics, type Metrics } from '../platform/metrics.ts';
import type { SecretBox } from '../platform/secret-box.ts';
import type { Services } from '../platform/services.ts';
import { Decisions } from '../resources/gateway-decisions/decide.ts';
import { Intake } from '../telemetry/ingest/intake.ts';
import { createApp, whileStartFails } from './app.ts';
import { bootstrap, bootstrapToFile } from './bootstrap.ts';
import { trustIn } from './client-address.ts';
import { seedDevAdministrator, startDevIdentity } from './dev-identity.ts';
import { sampleData } from './console/sample-data.ts';
import { requireNoDevelopmentUsers } from './development-users.ts';
import { drainServer } from './drain.ts';
import { startHousekeeping } from './housekeeping.ts';
import { createHttpServer } from '../http/http-server.ts';
import { KnownCredentials } from '../http/rate-limits/known-credentials.ts';
import { metricsHandler } from './metrics-server.ts';
import { type OtlpGrpc, startOtlpGrpc } from './otlp-grpc.ts';
import { openSecretBox } from './secret-key.ts';
import type { Console } from './console/build.ts';

export type RunningServer = {
  /** The address that it listens on. */
  url: string;
  /** The address for OTLP/gRPC; null if that is off, or its port is taken. */
  grpcUrl: string | null;
  publicUrl: string;
  services: Services;
  decisions: Decisions;
  trustedIssuer: TrustedIssuer;
  /** The first platform administrator's key, if this start generated it. */
  bootstrapKey: string | null;
  /** The file that the key was written to; null if it has to be printed. */
  bootstrapKeyFile: string | null;
  /** For sign-in at the development identity provider; null if that does not run. The link contains a secret. */
  devSignIn: { link: string; secretFile: string } | null;
  /**
   * Graceful shutdown: fails readiness, waits, stops listening, lets requests in flight finish, then closes everything.
   *
   * @param delayMs how long it still listens; default: the configured delay
   */
  stop: (delayMs?: number) => Promise<void>;
};

/** Replacements for tests, and how the program was started. */
export type Parts = ServiceParts & {
  /** Writes a generated bootstrap key to a file, because standard output is a log. */
  bootstrapKeyToFile?: boolean;
  now?: () => Date;
  log?: Logger;
  resolver?: Resolver;
  syncLimits?: Partial<SyncLimits>;
  connectionLimits?: Partial<ConnectionLimits>;
  /** Opens the web console. Default: no console. */
  openConsole?: (log: Logger) => Console;
  /** Validates every response against its contract. */
  checkAnswers?: boolean;
  /** How old what a decision rests on may be, in milliseconds. */
  decisionsFreshMs?: number;
  /** Runs no background jobs, so that every change comes from a request. */
  noHousekeeping?: boolean;
};

/**
 * Log lines are written in batches, without blocking: a separate write for each line costs a tenth of a short request. A batch
 * is written after 12 KiB or 100 ms, and at every exit that the process can handle; only kill -9 loses lines. If the reader of
 * standard output is too slow, lines beyond 16 MiB are lost, and the service does not stop.
 */
const LOG_BUFFERING = { sync: false, minLength: 12 * 1024, periodicFlush: 100, maxLength: 16 * 1024 * 1024 } as const;

/** Opens the database, migrates it, and listens. */
export async function startServer(config: Config, parts: Parts = {}): Promise<RunningServer> {
  const now = parts.now ?? (() => new Date());
  const log = parts.log ?? pino({ level: config.logLevel }, pino.destination(LOG_BUFFERING));
  const db = await openDatabase(config.databaseUrl, ROOT, { poolSize: config.databasePool });
  const opened: (() => Promise<void>)[] = [() => db.destroy()];
  let stopServing = async (_delayMs: number) => {};
  const stopping = new AbortController();
  const close = async (delayMs = config.shutdownDelayMs) => {
    stopping.abort();
    // Requests first, because they still need what is closed after them.
    await stopServing(delayMs);
    for (const end of opened.toReversed()) await end();
  };
  try {
    const secrets = await prepareDatabase(config, { db, log, now });
    const metrics = createMetrics();
    const { maxConnectionsPerAddress } = config;
    const connectionLimits = { ...CONNECTION_LIMITS, maxConnectionsPerAddress, ...parts.connectionLimits };
    const front = await openFront(config, { connectionLimits, metrics });
    let grpc: OtlpGrpc | null = null;
    const syncs = startSyncRuns(config, parts);
    stopServing = async (delayMs) => {
      front.failReadiness();
      // Give load balancers time to see that the service is not ready, before connections are refused.
      await sleep(delayMs);
      // Abort the running syncs, because requests wait for them.
      await Promise.all([front.drain(), grpc?.stop(), syncs.stop()]);
    };
    const { url, port } = front;
    const publicUrl = config.publicUrl ?? url;

    const devIdentity = config.devIdentity ? await startDevIdentity(config, { url, publicUrl, port }) : null;
    if (devIdentity) opened.push(devIdentity.close);
    const trustedIssuer = trustedIssuerOf(config, devIdentity?.issuer ?? null, now);
    const { services, limits } = createServices(config, parts, {
      db,
      log,
      now,
      secrets,
      metrics,
      syncs,
      publicUrl,
      stopping: stopping.signal,
      issuer: trustedIssuer.issuer,
    });
    if (config.secretKeyLost) await startWithoutLostKey(services);
    // Late, when little can still fail, because a generated key must also be shown.
    const generated = await bootstrapAdministrator(services, config, parts);
    if (devIdentity) await seedDevAdministrator(services);
    opened.push(() => flushAll(services));
    if (parts.noHousekeeping !== true) opened.push(startHousekeeping(services));
    if (config.metricsPort !== null) {
      opened.push(await startMetrics(services, { port: config.metricsPort, hosts: config.metricsHosts }));
    }

    const builtConsole = parts.openConsole?.(log) ?? null;
    if (builtConsole) opened.push(builtConsole.stop);
    const sample = sampleData({ ...services, ...trustedIssuer }, devIdentity && url);
    opened.push(async () => sample.stop());
    const known = new KnownCredentials((req) => sessionToken(services, req));
    const intake = new Intake(services, config.otlpMaxBytes);
    const decisions = new Decisions(services, parts.decisionsFreshMs);
    opened.push(() => decisions.flush());
    const app = createApp({
      services,
      trustedIssuer,
      config,
      intake,
      decisions,
      limits,
      known,
      ready: front.isReady,
      devIdentity: devIdentity?.handle ?? null,
      builtConsole,
      sampleData: sample.router,
      checkAnswers: parts.checkAnswers ?? false,
      consoleSignIn: signInOfConsole(config, {
        services: { ...services, ...trustedIssuer },
        devClientId: devIdentity?.consoleClientId ?? null,
        known,
      }),
    });
    front.handleWith(app, known);
    grpc = await startOtlpGrpc({ services, trustedIssuer, intake, config, connectionLimits, limits });
    return {
      url,
      grpcUrl: grpc?.url ?? null,
      publicUrl,
      services,
      decisions,
      trustedIssuer,
      ...generated,
      devSignIn: devIdentity && { link: devIdentity.signInLink, secretFile: devIdentity.secretFile },
      stop: close,
    };
  } catch (error) {
    await close(0);
    throw error;
  }
}

/**
 * Opens the HTTP server. Requests wait until it gets the app, which needs the address: clients of the process before it come back as
 * soon as it listens, and a 503 would be a failed request to them.
 */
async function openFront(
  { host, port: wantedPort, trustedProxies }: Pick<Config, 'host' | 'port' | 'trustedProxies'>,
  { connectionLimits, metrics }: { connectionLimits: ConnectionLimits; metrics: Metrics },
) {
  let ready = true;
  const early: Parameters<RequestListener>[] = [];
  let handle: RequestListener = (...request) => void early.push(request);
  const handleBy = (listener: RequestListener) => {
    handle = listener;
    for (const request of early.splice(0)) listener(...request);
  };
  let isStarted = false;
  let isKnown = (_req: IncomingMessage) => false;
  const server = createHttpServer(connectionLimits, {
    handle: (req, res) => handle(req, res),
    isEnding: () => !ready,
    isProxy: trustIn(trustedProxies),
    isKnown: (req) => isKnown(req),
    onRefusedConnection: (reason) => metrics.refusedConnections.inc({ reason }),
  });
  const port = await listen(server, wantedPort, host);
  return {
    url: urlOf(host, port),
    port,
    isReady: () => ready,
    failReadiness: () => {
      ready = false;
    },
    handleWith: (app: RequestListener, known: KnownCredentials) => {
      isStarted = true;
      isKnown = (req) => known.has(req);
      handleBy(app);
    },
    drain: () => {
      if (!isStarted) handleBy(whileStartFails());
      return drainServer(server);
    },
  };
}

/** Creates the first platform administrator's key, unless there is one. */
async function bootstrapAdministrator(
  services: Services,
  config: Config,
  { bootstrapKeyToFile }: Pick<Parts, 'bootstrapKeyToFile'>,
): Promise<Pick<RunningServer, 'bootstrapKey' | 'bootstrapKeyFile'>> {
  const written = bootstrapKeyToFile === true ? await bootstrapToFile(services, config) : null;
  const bootstrapKey = written?.key ?? (await bootstrap(services, config.bootstrapApiKey));
  return { bootstrapKey, bootstrapKeyFile: written?.file ?? null };
}

/** Migrates the database, and opens the secrets in it. @throws ConfigError if the database does not fit the configuration */
async function prepareDatabase(
  config: Config,
  { db, log, now }: Pick<Services, 'db' | 'log' | 'now'>,
): Promise<SecretBox> {
  await migrate(db);
  await requireNoUnfinishedMove(db);
  await requireNoDevelopmentUsers(db, config);
  const secrets = await openSecretBox(db, config, now);
  if (config.formerSecretKeys.length > 0) await resealSecrets({ db, log, secrets });
  return secrets;
}

/** @param devIssuer the development identity provider; null if it does not run */
function trustedIssuerOf(
  { oidc, administrators }: Pick<Config, 'oidc' | 'administrators'>,
  devIssuer: string | null,
  now: () => Date,
): TrustedIssuer {
  const issuer = devIssuer ?? oidc.issuer;
  return {
    issuer,
    tokens: issuer === null ? null : createTokenVerifier({ ...oidc, issuer, now }),
    administrators: devIssuer === null ? administrators : null,
  };
}

function startSyncRuns(
  { allowedNetworks }: Pick<Config, 'allowedNetworks'>,
  { resolver, syncLimits }: Pick<Parts, 'resolver' | 'syncLimits'>,
): SyncRuns {
  const policy = {
    allowed: allowedNetworks,
    resolver: fairResolver(resolver ?? resolveAll),
    userAgent: `quartermaster/${VERSION}`,
  };
  return syncRuns({ ...SYNC_LIMITS, ...syncLimits }, policy);
}

/** Writes what was counted in memory. */
async function flushAll({ audit, telemetry }: Pick<Services, 'audit' | 'telemetry'>): Promise<void> {
  for (const kept of [telemetry.accounts, audit.reads, audit.refusals]) await kept.flush('all');
}

function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

type SignInParts = { services: AuthServices; devClientId: string | null; known: KnownCredentials };

function signInOfConsole(config: Config, { services, devClientId, known }: SignInParts) {
  const provider = providerOfConsole(config, { services, devClientId });
  const onSignedIn = (token: string) => known.rememberSession(token);
  return consoleSignIn({ services, provider, emails: config.oidc, onSignedIn });
}

/** The identity provider of the web console; null if no client of an identity provider is configured. */
function providerOfConsole(
  { consoleClient }: Pick<Config, 'consoleClient'>,
  { services: { issuer, now, publicUrl }, devClientId }: { services: AuthServices; devClientId: string | null },
): IdentityProvider | null {
  const redirectUri = `${publicUrl}/console/callback`;
  const clientId = devClientId ?? consoleClient.clientId;
  if (issuer === null || clientId === null) return null;
  const clientSecret = devClientId === null ? consoleClient.clientSecret : null;
  return identityProvider({ issuer, clientId, clientSecret, scopes: consoleClient.scopes, redirectUri }, now);
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      // A server that listens on a port has an AddressInfo; only one on a socket file has a path.
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Serves metrics on a separate port of loopback. If the port is taken, the service starts without metrics. */
async function startMetrics(
  { metrics, log }: Pick<Services, 'metrics' | 'log'>,
  { port, hosts }: { port: number; hosts: readonly string[] },
): Promise<() => Promise<void>> {
  const server = createHttpServer(CONNECTION_LIMITS, { handle: metricsHandler(metrics, hosts) });
  try {
    await listen(server, port, '127.0.0.1');
  } catch (error) {
    log.warn({ err: error, port }, 'metrics are not served: the server cannot listen on the port');
    return async () => {};
  }
  return () => drainServer(server);
}
