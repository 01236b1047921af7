import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, migrate, openDatabase } from '@quartermaster/db/database.ts';
import { databaseNow } from '@quartermaster/db/database-clock.ts';
import pino, { type Logger } from 'pino';
import { createTokenVerifier } from '../access/bearer.ts';
import { FURTHER_READS } from '../audit-events/reads.ts';
import { FURTHER_REFUSALS } from '../audit-events/refusals.ts';
import { renewMacs } from '../audit-events/renew-macs.ts';
import { sealer, signLostHeads } from '../audit-events/seal.ts';
import { summedEvents } from '../audit-events/summed-events.ts';
import { type Config, ROOT } from '../config.ts';
import { resealSecrets, upgradeSecrets } from '../crypto/reseal.ts';
import { createErasures } from '../erasures.ts';
import { CONNECTION_LIMITS, type ConnectionLimits } from '../http/limits.ts';
import { dropUnreadableAnswers } from '../idempotency/reseal.ts';
import { SYNC_LIMITS, type SyncLimits, syncRuns } from '../inventory-sync/runs.ts';
import { createMetrics } from '../metrics.ts';
import { type Resolver, resolveAll } from '../outbound/resolver.ts';
import { cursorCodec } from '../pages.ts';
import { FairTurns } from '../rate-limits/fair-turns.ts';
import { countWork, createLimits } from '../rate-limits/limits.ts';
import { SHARED_LIMITS_WAIT_MS, sharedPoints } from '../rate-limits/shared-points.ts';
import type { Services } from '../services.ts';
import { replaceLostKey } from '../signing-keys/service.ts';
import { TenantLimits } from '../tenants/limits.ts';
import { AccountTelemetry } from '../telemetry/ingest/account-telemetry.ts';
import { Intake } from '../telemetry/ingest/intake.ts';
import { createApp, whileStarting } from './app.ts';
import { bootstrap, bootstrapToFile } from './bootstrap.ts';
import { trustIn } from './client-address.ts';
import { seedDevAdministrator, startDevIdentity } from './dev-identity.ts';
import { refuseDevelopmentUsers } from './development-users.ts';
import { drained } from './drain.ts';
import { startHousekeeping } from './housekeeping.ts';
import { createHttpServer } from './http-server.ts';
import { metricsHandler } from './metrics-server.ts';
import { type OtlpGrpc, startOtlpGrpc } from './otlp-grpc.ts';
import { openSecretBox } from './secret-key.ts';
import { refuseUnfinishedMove } from './unfinished-move.ts';

export type RunningServer = {
  /** Where it listens. */
  url: string;
  /** Where it listens for OTLP/gRPC; null where that is off, or its port is taken. */
  grpcUrl: string | null;
  publicUrl: string;
  services: Services;
  /** The first platform administrator's key, where it was made at this start. */
  bootstrapKey: string | null;
  /** The file that it was written to; null where it is to be printed. */
  bootstrapKeyFile: string | null;
  /** How a person signs in at the development identity provider, where it runs. The link holds a secret. */
  devSignIn: { link: string; secretFile: string } | null;
  /**
   * Stops being ready, then listening; lets requests in flight finish, then closes what is open.
   *
   * @param delayMs how long it still listens, as the configuration says where left out
   */
  stop: (delayMs?: number) => Promise<void>;
};

/** What tests replace, and what a program says of its surroundings. */
export type Parts = {
  /** Writes a bootstrap key that is made to a file, because what is printed ends in a log. */
  bootstrapKeyToFile?: boolean;
  now?: () => Date;
  databaseNow?: (db: Database) => Promise<Date>;
  log?: Logger;
  resolver?: Resolver;
  syncLimits?: Partial<SyncLimits>;
  connectionLimits?: Partial<ConnectionLimits>;
  /** Whether rate limits are shared by way of the database; on Postgres they are. */
  sharedLimits?: boolean;
  /** How long a request waits for that, in milliseconds. */
  sharedLimitsWaitMs?: number;
  /** Holds every answer against its contract. */
  checkAnswers?: boolean;
  /** Leaves undone what the service does without being asked: whatever happens, a request did it. */
  noHousekeeping?: boolean;
};

/**
 * Log lines are written some at a time, without blocking: a write of its own for each costs a tenth of a short request.
 * They wait for 12 KiB or 100 ms, and are written at every exit that the process sees; only kill -9 loses those that wait.
 * Whoever reads standard output too slowly loses lines beyond 16 MiB, and does not stop the service.
 */
const LOG_WRITING = { sync: false, minLength: 12 * 1024, periodicFlush: 100, maxLength: 16 * 1024 * 1024 } as const;

/** Opens the database, brings it up to date, and listens. @param parts what tests replace */
export async function startServer(config: Config, parts: Parts = {}): Promise<RunningServer> {
  const now = parts.now ?? (() => new Date());
  const log = parts.log ?? pino({ level: config.logLevel }, pino.destination(LOG_WRITING));
  const db = await openDatabase(config.databaseUrl, ROOT, { poolSize: config.databasePool });
  const opened: (() => Promise<void>)[] = [() => db.destroy()];
  let stopServing = async (_delayMs: number) => {};
  const close = async (delayMs = config.shutdownDelayMs) => {
    // Requests first: what they still need is closed after them.
    await stopServing(delayMs);
    for (const end of opened.toReversed()) await end();
  };
  try {
    await migrate(db, (text) => log.info(text));
    await refuseUnfinishedMove(db);
    await refuseDevelopmentUsers(db, config);
    const secrets = await openSecretBox(db, config, now);
    await upgradeSecrets({ db, log, secrets });
    if (config.formerSecretKeys.length > 0) await resealSecrets({ db, log, secrets });

    // The address is known once it listens; the app is built from it.
    let ready = true;
    let handle = whileStarting();
    const metrics = createMetrics();
    const { maxConnectionsPerAddress } = config;
    const connectionLimits = { ...CONNECTION_LIMITS, maxConnectionsPerAddress, ...parts.connectionLimits };
    let grpc: OtlpGrpc | null = null;
    const server = createHttpServer(connectionLimits, {
      handle: (req, res) => handle(req, res),
      isEnding: () => !ready,
      isProxy: trustIn(config.trustedProxies),
      onRefusedConnection: (reason) => metrics.refusedConnections.inc({ reason }),
    });
    const port = await listen(server, config.port, config.host);
    const syncs = syncRuns({ ...SYNC_LIMITS, ...parts.syncLimits });
    stopServing = async (delayMs) => {
      ready = false;
      // Whoever sends requests here has to hear of it first, or the next ones meet a closed door.
      await sleep(delayMs);
      // Requests wait for their syncs: those end at once, and say so.
      await Promise.all([drained(server), grpc?.stop(), syncs.stop()]);
    };
    const url = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`;
    const publicUrl = config.publicUrl ?? url;

    const devIdentity = config.devIdentity ? await startDevIdentity(config, { publicUrl: url, port }) : null;
    if (devIdentity) opened.push(devIdentity.close);
    const issuer = devIdentity?.issuer ?? config.oidc.issuer;
    // Another process serves the same database on Postgres alone.
    const isShared = parts.sharedLimits ?? config.databaseUrl.startsWith('postgres');
    const waitMs = parts.sharedLimitsWaitMs ?? SHARED_LIMITS_WAIT_MS;
    const takePoints = isShared ? sharedPoints({ db, log, secrets }, waitMs) : null;
    const { requests, registrations, organizations } = createLimits({ rateLimits: config.rateLimits, now, takePoints });
    const tenantLimits = new TenantLimits(now);
    const services: Services = {
      ...{ db, log, now, secrets, publicUrl, issuer },
      databaseNow: parts.databaseNow ?? ((inside) => databaseNow(inside, now())),
      selfService: config.selfService,
      maxObservations: config.maxObservations,
      maxUsageSeries: config.maxUsageSeries,
      maxOpenSessions: config.maxOpenSessions,
      metrics,
      syncs,
      outbound: { allowed: config.allowedNetworks, resolver: parts.resolver ?? resolveAll },
      erasures: createErasures({ db, log }),
      cursors: cursorCodec(secrets.derive('cursors')),
      sealer: sealer({ db, log, metrics, now, secrets, publicUrl }),
      refusals: summedEvents(
        { db, now, secrets },
        { overflow: FURTHER_REFUSALS, onDropped: () => metrics.refusalsDropped.inc() },
      ),
      reads: summedEvents(
        { db, now, secrets },
        { overflow: FURTHER_READS, onDropped: () => metrics.readsDropped.inc() },
      ),
      ...{ registrations, organizations },
      turns: new FairTurns(),
      accountTelemetry: new AccountTelemetry({ db, log, now }),
      tenantLimits,
      chargeWork: async (principal, points) => {
        const mostOfTenant = (tenantId: string) => tenantLimits.limitOf(db, tenantId, 'requestsPerMinute');
        if (requests) await countWork(requests, principal, { mostOfTenant, points });
      },
      requestsOfTenant: (tenantId) => requests?.tenant.usedBy({ id: tenantId }) ?? 0,
      tokens: issuer === null ? null : createTokenVerifier({ ...config.oidc, issuer, now }),
    };
    if (config.secretKeyLost) {
      await replaceLostKey(services);
      await dropUnreadableAnswers(services);
      await signLostHeads(services);
      const vouched = await renewMacs(services, 'all');
      if (vouched > 0) log.warn({ vouched }, 'audit events that wait were vouched for as they are: the key is lost');
    }
    // Once nothing can fail any more: a key that was made must also be shown.
    const made = parts.bootstrapKeyToFile === true ? await bootstrapToFile(services, config) : null;
    const bootstrapKey = made?.key ?? (await bootstrap(services, config.bootstrapApiKey));
    if (devIdentity) await seedDevAdministrator(services);
    opened.push(() => services.refusals.flush('all'));
    opened.push(() => services.reads.flush('all'));
    opened.push(() => services.accountTelemetry.flush('all'));
    if (parts.noHousekeeping !== true) opened.push(startHousekeeping(services));
    if (config.metricsPort !== null) {
      opened.push(await startMetrics(services, { port: config.metricsPort, hosts: config.metricsHosts }));
    }

    const intake = new Intake(services, config.otlpMaxBytes);
    handle = createApp({
      ...{ services, config, intake, limits: requests, ready: () => ready, devIdentity: devIdentity?.handle ?? null },
      checkAnswers: parts.checkAnswers ?? false,
    });
    grpc = await startOtlpGrpc({ ...{ services, intake, config, connectionLimits }, limits: requests });
    const grpcUrl = grpc?.url ?? null;
    const devSignIn = devIdentity && { link: devIdentity.signInLink, secretFile: devIdentity.secretFile };
    return {
      url,
      grpcUrl,
      publicUrl,
      services,
      bootstrapKey,
      bootstrapKeyFile: made?.file ?? null,
      devSignIn,
      stop: close,
    };
  } catch (error) {
    await close(0);
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

/** Metrics on loopback alone, on a port of their own. A port that is taken costs the metrics, not the service. */
async function startMetrics(
  { metrics, log }: Pick<Services, 'metrics' | 'log'>,
  { port, hosts }: { port: number; hosts: readonly string[] },
): Promise<() => Promise<void>> {
  const server = createHttpServer(CONNECTION_LIMITS, { handle: metricsHandler(metrics, hosts) });
  try {
    await listen(server, port, '127.0.0.1');
  } catch (error) {
    log.warn({ err: error, port }, 'metrics are not served: the port cannot be listened on');
    return async () => {};
  }
  return () => drained(server);
}
