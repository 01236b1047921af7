import type { OutboundLimits } from '../outbound/outbound.ts';

export type SyncLimits = OutboundLimits & {
  /** Syncs that run in one process at a time: each may hold all that a provider answers. */
  atOnce: number;
  /** The same for the providers of one tenant: they may hang for as long as they like, up to the times below. */
  atOncePerTenant: number;
  /** How often a provider is asked before a sync fails. */
  attempts: number;
  /** What all attempts may take together: whoever asked for the sync waits for it. */
  allAttemptsMs: number;
  /** The pause after the first failed attempt; doubled after each, and varied by half. */
  pauseMs: number;
};

const MEGABYTE = 1024 * 1024;

export const SYNC_LIMITS: SyncLimits = {
  atOnce: 16,
  atOncePerTenant: 4,
  attempts: 3,
  allAttemptsMs: 25_000,
  pauseMs: 500,
  connectMs: 3000,
  totalMs: 10_000,
  answerBytes: 8 * MEGABYTE,
  totalBytes: 16 * MEGABYTE,
};

/** What ended a sync from inside the service: nothing that the provider did. */
export class SyncInterrupted extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'SyncInterrupted';
  }
}

/** The syncs that run in this process. */
export type SyncRuns = {
  limits: SyncLimits;
  /** Whether there is room for one more of a tenant; none while the service stops. */
  hasRoom: (tenantId: string) => boolean;
  /** Runs one. @param work gets what ends it when the service stops */
  run: <T>(tenantId: string, work: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  /** Ends all, and waits until they have said so. */
  stop: () => Promise<void>;
};

export function syncRuns(limits: SyncLimits): SyncRuns {
  const stopping = new AbortController();
  const running = new Map<Promise<unknown>, string>();
  const countOf = (tenantId: string) => [...running.values()].filter((one) => one === tenantId).length;
  return {
    limits,
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
