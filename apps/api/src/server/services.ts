import type { Database } from '@quartermaster/db/database.ts';
import { databaseNow } from '@quartermaster/db/database-clock.ts';
import type { Config } from '../config.ts';
import { createLimits, type RequestLimits } from '../http/rate-limits/limits.ts';
import { SHARED_LIMITS_WAIT_MS, sharedPoints } from '../http/rate-limits/shared-points.ts';
import { FURTHER_READS } from '../platform/audit/reads.ts';
import { FURTHER_REFUSALS } from '../platform/audit/refusals.ts';
import { summedEvents } from '../platform/audit/summed-events.ts';
import { cursorCodec } from '../platform/cursor-codec.ts';
import { createErasures } from '../platform/erasures.ts';
import { Scheduler } from '../platform/scheduler.ts';
import type { Services } from '../platform/services.ts';
import { TenantLimits } from '../platform/tenant-limits.ts';
import { sealer } from '../resources/audit-events/seal.ts';
import { SubjectSessions } from '../resources/gateway-sessions/subject-sessions.ts';
import { AccountTelemetry } from '../telemetry/ingest/account-telemetry.ts';

/** What exists before the services. */
type Opened = Pick<Services, 'db' | 'log' | 'now' | 'secrets' | 'metrics' | 'syncs' | 'publicUrl' | 'stopping'>;

/** Replacements for tests. */
export type ServiceParts = {
  databaseNow?: (db: Database) => Promise<Date>;
  /** Whether processes share rate limits through the database. Default: on PostgreSQL. */
  sharedLimits?: boolean;
  /** How long a request waits for the shared limits, in milliseconds. */
  sharedLimitsWaitMs?: number;
};

/** Makes the services that handlers use, and the rate limits. */
export function createServices(
  config: Config,
  parts: ServiceParts,
  { issuer, ...opened }: Opened & { issuer: string | null },
): { services: Services; limits: RequestLimits | null } {
  const { db, log, now, secrets, metrics } = opened;
  // Only a PostgreSQL database can be served by several processes.
  const isShared = parts.sharedLimits ?? config.databaseUrl.startsWith('postgres');
  const waitMs = parts.sharedLimitsWaitMs ?? SHARED_LIMITS_WAIT_MS;
  const takePoints = isShared ? sharedPoints({ db, log, secrets }, waitMs) : null;
  const { requests, registrations, organizations } = createLimits({ rateLimits: config.rateLimits, now, takePoints });
  const services: Services = {
    ...opened,
    databaseNow: parts.databaseNow ?? ((inside) => databaseNow(inside, now())),
    subjectSessions: new SubjectSessions({ db, now, limit: config.maxOpenSessions }),
    erasures: createErasures({ db, log }),
    cursors: cursorCodec(secrets.derive('cursors')),
    audit: {
      refusals: summedEvents(opened, { overflow: FURTHER_REFUSALS, onDropped: () => metrics.refusalsDropped.inc() }),
      reads: summedEvents(opened, { overflow: FURTHER_READS, onDropped: () => metrics.readsDropped.inc() }),
      sealer: sealer(opened),
    },
    onboarding: { registrations, organizations, selfService: config.selfService, issuer },
    scheduler: new Scheduler(),
    telemetry: {
      accounts: new AccountTelemetry({ db, log, now }),
      maxObservations: config.maxObservations,
      maxUsageSeries: config.maxUsageSeries,
    },
    tenantLimits: new TenantLimits(now, (tenantId) => requests?.tenant.usedBy({ id: tenantId }) ?? 0),
  };
  return { services, limits: requests };
}
