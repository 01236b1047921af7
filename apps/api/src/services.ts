import type { Database } from '@quartermaster/db/database.ts';
import type { Logger } from 'pino';
import type { TokenVerifier } from './access/bearer.ts';
import type { Principal } from './access/principal.ts';
import type { Sealer } from './audit-events/seal.ts';
import type { SummedEvents } from './audit-events/summed-events.ts';
import type { SecretBox } from './crypto/secret-box.ts';
import type { Erasures } from './erasures.ts';
import type { SyncRuns } from './inventory-sync/runs.ts';
import type { Metrics } from './metrics.ts';
import type { OutboundPolicy } from './outbound/outbound.ts';
import type { CursorCodec } from './pages.ts';
import type { FairTurns } from './rate-limits/fair-turns.ts';
import type { OnboardingLimit } from './rate-limits/limits.ts';
import type { AccountTelemetry } from './telemetry/ingest/account-telemetry.ts';
import type { TenantLimits } from './tenants/limits.ts';

/** What the procedures work with; one set for each running server. */
export type Services = {
  db: Database;
  log: Logger;
  metrics: Metrics;
  /** The clock: tests replace it. */
  now: () => Date;
  /** The database's clock, which all processes share: leases are compared with it. `db` may be a transaction. */
  databaseNow: (db: Database) => Promise<Date>;
  cursors: CursorCodec;
  /** Encrypts what must not be readable in the database. */
  secrets: SecretBox;
  /** Where requests to providers may go. */
  outbound: OutboundPolicy;
  /** The syncs that run. */
  syncs: SyncRuns;
  /** Refused requests of authenticated callers, for the audit. */
  refusals: SummedEvents;
  /** Reads that a tenant wants in its audit. */
  reads: SummedEvents;
  /** Chains audit events, and signs the chains. */
  sealer: Sealer;
  /** Removes what was erased from the files of the database. */
  erasures: Erasures;
  registrations: OnboardingLimit;
  organizations: OnboardingLimit;
  /** Whose request is worked on next. */
  turns: FairTurns;
  /** What each service account sent, and whether anything of it was understood. */
  accountTelemetry: AccountTelemetry;
  /** What each tenant may have. */
  tenantLimits: TenantLimits;
  /**
   * Counts the work of a request that was only known once it was done, beyond the points that every request takes: against
   * the limits of its caller and tenant. It refuses later requests, never the one that did the work.
   */
  chargeWork: (principal: Principal, points: number) => Promise<void>;
  /** Requests of a tenant that were counted in the current minute. */
  requestsOfTenant: (tenantId: string) => number;
  /** Verifies bearer tokens; null where no issuer is configured. */
  tokens: TokenVerifier | null;
  /** Whether users make tenants of their own. */
  selfService: boolean;
  /** Observations that a tenant may have. */
  maxObservations: number;
  /** Series of usage that a tenant may have. */
  maxUsageSeries: number;
  /** Open gateway sessions that a subject may have at a gateway. */
  maxOpenSessions: number;
  /** The base address that callers know, without a slash at its end: the `iss` of session tokens. */
  publicUrl: string;
  /** The issuer of bearer tokens; null where none is configured. */
  issuer: string | null;
};
