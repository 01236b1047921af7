import { BoundedMap } from '@quartermaster/db/bounded-map.ts';
import type { OutboundLimits, OutboundPolicy } from './outbound.ts';

export type SyncLimits = OutboundLimits & {
  /** How long to wait until an MCP server lists its protocol versions. A server that takes longer is treated as an older one. */
  discoveryMs: number;
  /** Syncs that run concurrently in one process. Each may hold a provider's whole answer in memory. */
  atOnce: number;
  /** Syncs of one tenant that run concurrently in one process, so that its hanging providers do not block other tenants. */
  atOncePerTenant: number;
  /** Attempts before a sync fails. */
  attempts: number;
  /** Time limit for all attempts together, because the caller waits for the sync. */
  allAttemptsMs: number;
  /** Pause after the first failed attempt. It doubles with each failure, with a jitter of ±50 %. */
  pauseMs: number;
  /** How often the service looks for due syncs. */
  scheduleMs: number;
};

/** MCP servers that are remembered. */
const MAX_OLDER_SERVERS = 10_000;

const MEGABYTE = 1024 * 1024;

export const SYNC_LIMITS: SyncLimits = {
  atOnce: 16,
  atOncePerTenant: 4,
  attempts: 3,
  allAttemptsMs: 25_000,
  pauseMs: 500,
  scheduleMs: 2000,
  discoveryMs: 3000,
  connectMs: 3000,
  totalMs: 10_000,
  answerBytes: 8 * MEGABYTE,
  totalBytes: 16 * MEGABYTE,
};

/** The service ended a sync: it stops, or the provider was changed, or the task was cancelled. Not a fault of the provider. */
export class SyncInterrupted extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'SyncInterrupted';
  }
}

/** The syncs that run in this process. */
export type SyncRuns = {
  limits: SyncLimits;
  /** The MCP servers that did not answer `server/discover` properly. They are asked to `initialize` at once. */
  olderServers: BoundedMap<string, true>;
  /** Where requests to providers may go. */
  policy: OutboundPolicy;
  /** Whether one more sync of a tenant may run. False while the service stops. */
  hasRoom: (tenantId: string) => boolean;
  /** Runs a sync. @param work gets a signal that aborts when the service stops */
  run: <T>(tenantId: string, work: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  /** Aborts all syncs, and waits until they have ended. */
  stop: () => Promise<void>;
};

export function syncRuns(limits: SyncLimits, policy: OutboundPolicy): SyncRuns {
  const stopping = new AbortController();
  const running = new Map<Promise<unknown>, string>();
  const countOf = (tenantId: string) => [...running.values()].filter((owner) => owner === tenantId).length;
  return {
    limits,
    policy,
    olderServers: new BoundedMap(MAX_OLDER_SERVERS),
    hasRoom: (tenantId) =>
      !stopping.signal.aborted && running.size < limits.atOnce && countOf(tenantId) < limits.atOncePerTenant,
    async run(tenantId, work) {
      const run = work(stopping.signal);
      running.set(run, tenantId);
      try {
        return await run;
      } finally {
        running.delete(run);
      }
    },
    async stop() {
      stopping.abort(new SyncInterrupted('the service stopped'));
      await Promise.allSettled(running.keys());
    },
  };
}
