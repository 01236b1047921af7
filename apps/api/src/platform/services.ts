import type { Gateway } from '@quartermaster/contracts/gateways.ts';
import type { Database } from '@quartermaster/db/database.ts';
import type { ProblemCount, ScopeCount } from '@quartermaster/db/repositories/account-telemetry.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { Logger } from 'pino';
import type { Actor } from './audit/audited-write.ts';
import type { Sealer } from './audit/sealer.ts';
import type { SummedEvents } from './audit/summed-events.ts';
import type { SecretBox } from './secret-box.ts';
import type { Erasures } from './erasures.ts';
import type { SyncRuns } from './outbound/sync-runs.ts';
import type { Metrics } from './metrics.ts';
import type { CursorCodec } from './cursor-codec.ts';
import type { Scheduler } from './scheduler.ts';
import type { TenantLimits } from './tenant-limits.ts';

/**
 * A rate limit of registrations by address, or of new organizations by a digest of the user's identity.
 *
 * @throws 429 with Retry-After
 */
export type OnboardingLimit = { consume(caller: string): Promise<void> };

type TelemetrySender = Pick<Actor, 'kind' | 'id' | 'keyId'>;

/** Adds up the telemetry that was sent with each API key: what was received by instrumentation scope, and what was refused. */
type AccountTelemetryLog = {
  note(sender: TelemetrySender, place: TenantPlace, counts: readonly ScopeCount[]): void;
  noteProblem(sender: TelemetrySender, place: TenantPlace, problem: ProblemCount): void;
  /** Writes the sums that are due, those of one account, or all. */
  flush(which: 'due' | 'all' | { tenantId: string; id: string }): Promise<void>;
};

/** The dependencies of procedures; one set for each running server. */
export type Services = {
  db: Database;
  log: Logger;
  metrics: Metrics;
  /** The clock. Tests replace it. */
  now: () => Date;
  /** The database's clock, which all processes share, for leases. `db` may be a transaction. */
  databaseNow: (db: Database) => Promise<Date>;
  cursors: CursorCodec;
  /** Aborts when the service stops. Long jobs end after their current batch. */
  stopping: AbortSignal;
  /** Encrypts secrets in the database. */
  secrets: SecretBox;
  /** The running syncs, and where their requests may go. */
  syncs: SyncRuns;
  audit: {
    /** Refused requests of authenticated callers. */
    refusals: SummedEvents;
    /** Reads of tenants with the setting `auditReads`. */
    reads: SummedEvents;
    /** Appends events to their hash chains, and signs the chains. */
    sealer: Sealer;
  };
  /** Removes erased data from the files of the database. */
  erasures: Erasures;
  onboarding: {
    registrations: OnboardingLimit;
    organizations: OnboardingLimit;
    /** Whether users may create their own tenants. */
    selfService: boolean;
    /** The issuer of bearer tokens; null if none is configured. */
    issuer: string | null;
  };
  /** Shares the process between tenants. */
  scheduler: Scheduler;
  telemetry: {
    /** What each service account sent, and how much of it was understood. */
    accounts: AccountTelemetryLog;
    /** Maximum observations of a tenant. */
    maxObservations: number;
    /** Maximum usage series of a tenant. */
    maxUsageSeries: number;
  };
  /** The limits of each tenant. */
  tenantLimits: TenantLimits;
  /** The limit of open gateway sessions of a subject at a gateway. */
  subjectSessions: { add(gateway: Gateway, subject: string): Promise<void> };
  /** The base URL that callers use, without a trailing slash. It is the `iss` of session tokens. */
  publicUrl: string;
};
