import type { Database } from '@quartermaster/db/database.ts';
import type { Logger } from 'pino';
import type { TokenVerifier } from './access/bearer.ts';
import type { RefusalLog } from './audit-events/refusal-log.ts';
import type { Sealer } from './audit-events/seal.ts';
import type { SecretBox } from './crypto/secret-box.ts';
import type { SyncRuns } from './inventory-sync/runs.ts';
import type { Metrics } from './metrics.ts';
import type { OutboundPolicy } from './outbound/outbound.ts';
import type { CursorCodec } from './pages.ts';
import type { OnboardingLimit } from './rate-limits/limits.ts';

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
  refusals: RefusalLog;
  /** Chains audit events, and signs the chains. */
  sealer: Sealer;
  registrations: OnboardingLimit;
  organizations: OnboardingLimit;
  /** Verifies bearer tokens; null where no issuer is configured. */
  tokens: TokenVerifier | null;
  /** Whether users make tenants of their own. */
  selfService: boolean;
  /** Observations that a tenant may have. */
  maxObservations: number;
  /** The base address that callers know, without a slash at its end: the `iss` of session tokens. */
  publicUrl: string;
  /** The issuer of bearer tokens; null where none is configured. */
  issuer: string | null;
};
