import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { migrate, openDatabase } from '@quartermaster/db/database.ts';
import pino, { type Logger } from 'pino';
import { createTokenVerifier } from '../access/bearer.ts';
import { refusalLog } from '../audit-events/refusal-log.ts';
import { sealer, signLostHeads } from '../audit-events/seal.ts';
import { type Config, ROOT } from '../config.ts';
import { resealSecrets } from '../crypto/reseal.ts';
import { SYNC_LIMITS, type SyncLimits, syncRuns } from '../inventory-sync/runs.ts';
import { createMetrics } from '../metrics.ts';
import { type Resolver, resolveAll } from '../outbound/resolver.ts';
import { cursorCodec } from '../pages.ts';
import type { Services } from '../services.ts';
import { replaceLostKey } from '../signing-keys/service.ts';
import { createApp } from './app.ts';
import { bootstrap } from './bootstrap.ts';
import { seedDevAdministrator, startDevIdentity } from './dev-identity.ts';
import { startHousekeeping } from './housekeeping.ts';
import { organizationLimiter, registrationLimiter } from './onboarding-limiters.ts';
import { openSecretBox } from './secret-key.ts';

export type RunningServer = {
  /** Where it listens. */
  url: string;
  publicUrl: string;
  services: Services;
  /** The first platform administrator's key, where it was made at this start. */
  bootstrapKey: string | null;
  /** Lets requests in flight finish, then closes what is open. */
  stop: () => Promise<void>;
};

/** What tests replace. */
export type Parts = {
  now?: () => Date;
  log?: Logger;
  resolver?: Resolver;
  syncLimits?: Partial<SyncLimits>;
  /** Holds every answer against its contract. */
  checkAnswers?: boolean;
};

/** Requests in flight get so long to finish, in milliseconds. */
const GRACE_MS = 10_000;

/** How often connections without a request are looked for meanwhile, in milliseconds. */
const IDLE_CHECK_MS = 50;

/** A request's head has to arrive within this time, and all of it within the next, in milliseconds. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 60_000;

/**
 * Log lines are written some at a time, without blocking: a write of its own for each costs a tenth of a short request.
 * They wait for 4 KiB or 100 ms, and are written at every exit that the process sees; only kill -9 loses those that wait.
 * Whoever reads standard output too slowly loses lines beyond 16 MiB, and does not stop the service.
 */
const LOG_WRITING = { sync: false, minLength: 4096, periodicFlush: 100, maxLength: 16 * 1024 * 1024 } as const;

/** Opens the database, brings it up to date, and listens. @param parts what tests replace */
export async function startServer(config: Config, parts: Parts = {}): Promise<RunningServer> {
  const now = parts.now ?? (() => new Date());
  const log = parts.log ?? pino({ level: config.logLevel }, pino.destination(LOG_WRITING));
  const db = await openDatabase(config.databaseUrl, ROOT, { poolSize: config.databasePool });
  const opened: (() => Promise<void>)[] = [() => db.destroy()];
  let stopServing = async () => {};
  const close = async () => {
    // Requests first: what they still need is closed after them.
    await stopServing();
    for (const end of opened.toReversed()) await end();
  };
  try {
    await migrate(db);
    const secrets = await openSecretBox(db, config);
    if (config.formerSecretKeys.length > 0) await resealSecrets({ db, log, secrets });

    // The address is known once it listens; the app is built from it.
    let handle: RequestListener = (_req, res) => res.writeHead(503, { 'Retry-After': '1' }).end();
    const server = createServer(
      { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: HEADERS_TIMEOUT_MS },
      (req, res) => handle(req, res),
    );
    const port = await listen(server, config.port, config.host);
    let ready = true;
    const syncs = syncRuns({ ...SYNC_LIMITS, ...parts.syncLimits });
    stopServing = async () => {
      ready = false;
      // Requests wait for their syncs: those end at once, and say so.
      await Promise.all([drained(server), syncs.stop()]);
    };
    const url = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`;
    const publicUrl = config.publicUrl ?? url;

    const devIdentity = config.devIdentity ? await startDevIdentity(config, { publicUrl: url, port }) : null;
    const issuer = devIdentity?.issuer ?? config.oidc.issuer;
    const metrics = createMetrics();
    const services: Services = {
      ...{ db, log, now, secrets, publicUrl, issuer },
      selfService: config.selfService,
      maxObservations: config.maxObservations,
      metrics,
      syncs,
      outbound: { allowed: config.allowedNetworks, resolver: parts.resolver ?? resolveAll },
      cursors: cursorCodec(secrets.derive('cursors')),
      sealer: sealer({ db, log, metrics, now, secrets, publicUrl }),
      refusals: refusalLog(db, now, () => metrics.refusalsDropped.inc()),
      registrations: registrationLimiter(config.rateLimits),
      organizations: organizationLimiter(config.rateLimits),
      tokens: issuer === null ? null : createTokenVerifier({ ...config.oidc, issuer, now }),
    };
    if (config.secretKeyLost) {
      await replaceLostKey(services);
      await signLostHeads(services);
    }
    // Once nothing can fail any more: a key that was made must also be shown.
    const bootstrapKey = await bootstrap(db, config.bootstrapApiKey, now());
    if (devIdentity) await seedDevAdministrator(services);
    opened.push(() => services.refusals.flush('all'));
    opened.push(startHousekeeping(services));
    if (config.metricsPort !== null) opened.push(await startMetrics(services, config.metricsPort));

    handle = createApp({
      ...{ services, config, ready: () => ready, devIdentity: devIdentity?.handle ?? null },
      checkAnswers: parts.checkAnswers ?? false,
    });
    return { url, publicUrl, services, bootstrapKey, stop: close };
  } catch (error) {
    await close();
    throw error;
  }
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      // An address in use is a path only for sockets of files; this one has a port.
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Takes no new connections, and waits until the requests in flight are answered. */
async function drained(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // Clients keep their connections for the next request: each is closed once its last one is answered.
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  const timer = setTimeout(() => server.closeAllConnections(), GRACE_MS);
  await closed;
  clearInterval(idle);
  clearTimeout(timer);
}

/** Metrics on loopback alone, on a port of their own. A port that is taken costs the metrics, not the service. */
async function startMetrics({ metrics, log }: Services, port: number): Promise<() => Promise<void>> {
  const server = createServer(async (req, res) => {
    if (req.url !== '/metrics') {
      res.writeHead(404).end();
      return;
    }
    res.setHeader('Content-Type', metrics.registry.contentType);
    res.end(await metrics.registry.metrics());
  });
  try {
    await listen(server, port, '127.0.0.1');
  } catch (error) {
    log.warn({ err: error, port }, 'metrics are not served: the port cannot be listened on');
    return async () => {};
  }
  return () => drained(server);
}
