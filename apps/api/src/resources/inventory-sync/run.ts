import type { InventorySync } from '@quartermaster/contracts/inventory-syncs.ts';
import type { OperatorTask } from '@quartermaster/contracts/operator-tasks.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { endSyncTask, renewSyncTask } from '@quartermaster/db/repositories/inventory-sync.ts';
import { finishOperatorTask, openOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import { findProvider, markSynced, setNextSync } from '@quartermaster/db/repositories/providers.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { tenantKey } from '@quartermaster/db/tenant-context.ts';
import { confineToTenant } from '@quartermaster/db/transaction.ts';
import type { auditedWrite } from '../../platform/audit/audited-write.ts';
import { ApiError } from '../../platform/errors.ts';
import { reconcileCredential, reconcileRemovals } from '../../governance/rules/reconcile.ts';
import { fetchListing, ListingFailed, type SyncableProvider, type SyncServices } from './attempts.ts';
import type { DoubtfulKind } from './compare.ts';
import type { Listing } from './listing.ts';
import { nextAfterFailure, nextAfterSuccess } from './next-sync.ts';
import { SyncInterrupted } from '../../platform/outbound/sync-runs.ts';
import { countIfAllUnchanged, writeListing } from './write-listing.ts';

/** An audited write: as the caller who started the sync, or as the system. */
export type Writer = <T>(work: Parameters<typeof auditedWrite<T>>[1]) => Promise<T>;

/** One run of a sync. */
export type SyncRun = { services: SyncServices; provider: SyncableProvider; taskId: string; writing: Writer };

/** A run whose lease is not renewed for this long has died with its process. In milliseconds. */
const LEASE_MS = 30_000;

/** How often a run renews its lease and checks whether it was cancelled, in milliseconds. */
const HEARTBEAT_MS = 1000;

/** How long what was read may wait to be written, in milliseconds. */
const MAX_WRITE_WAIT_MS = 20_000;

/** When a lease that is renewed now expires. @param now by the database's clock */
export function leaseFrom(now: Date): string {
  return new Date(now.getTime() + LEASE_MS).toISOString();
}

/**
 * Fetches everything that a provider lists, then writes it in one transaction.
 *
 * @param stopping aborts the run when the service stops
 * @throws ListingFailed or SyncInterrupted, after storing the reason in the task
 */
export async function runSync(run: SyncRun, stopping: AbortSignal): Promise<InventorySync> {
  const started = performance.now();
  const state: RunState = { attempts: 1, lastError: null, progress: { phase: 'connecting', done: 0, total: null } };
  try {
    const listing = await fetchWithHeartbeat(run, state, stopping);
    const { counts, syncedAt } = await writeInLine(run, () => writeAll(run, state, listing));
    const { errors, errorCount } = listing;
    return {
      taskId: run.taskId,
      providerId: run.provider.id,
      ...counts,
      errors,
      errorCount,
      durationMs: Math.round(performance.now() - started),
      attempts: state.attempts,
      syncedAt,
    };
  } catch (error) {
    await recordFailure(run, state, error);
    throw error;
  }
}

type RunState = Pick<OperatorTask, 'lastError'> & {
  attempts: number;
  progress: NonNullable<OperatorTask['progress']>;
};

async function fetchWithHeartbeat(
  { services, provider, taskId }: SyncRun,
  state: RunState,
  stopping: AbortSignal,
): Promise<Listing> {
  const { db, now, databaseNow, log } = services;
  const cancelled = new AbortController();
  const signal = AbortSignal.any([stopping, cancelled.signal]);
  const scope = scopeOf(provider);
  const beat = async () => {
    try {
      const leaseExpiresAt = leaseFrom(await databaseNow(db));
      const goesOn = await renewSyncTask(db, scope, taskId, { ...state, leaseExpiresAt }, now());
      if (!goesOn) cancelled.abort(new SyncInterrupted('the task was cancelled, or taken over'));
    } catch (error) {
      // The lease survives several missed heartbeats.
      log.warn({ err: error, taskId }, 'a sync could not renew its lease');
    }
  };
  let beating = beat();
  const timer = setInterval(() => {
    beating = beating.then(beat);
  }, HEARTBEAT_MS);
  try {
    return await fetchListing(services, provider, {
      signal,
      onAttempt(attempt, lastError) {
        state.attempts = attempt;
        state.lastError = lastError;
      },
      onProgress(phase, done) {
        state.progress = { phase, done, total: null };
      },
    });
  } finally {
    // No heartbeat may run during or after the final transaction.
    clearInterval(timer);
    await beating;
  }
}

/** A sync takes no place in its tenant's line while it waits for the provider, but it does while it writes. */
function writeInLine<T>({ services, provider }: SyncRun, write: () => Promise<T>): Promise<T> {
  const tenant = tenantKey(provider.tenantId);
  return services.scheduler.run({ name: tenant, tenant }, 'write', write, performance.now() + MAX_WRITE_WAIT_MS);
}

/** Writes the inventory, the provider, the task and the audit events in one transaction. */
async function writeAll({ services, provider, taskId, writing }: SyncRun, state: RunState, listing: Listing) {
  const scope = scopeOf(provider);
  const unchangedCount = await countIfAllUnchanged(services.db, provider, listing, services.now());
  return writing(async (trx, record, now) => {
    confineToTenant(trx, provider.tenantId);
    const current = await findProvider(trx, scope, provider.id);
    if (!current || isOutdated(current, provider))
      throw new SyncInterrupted('the provider was changed in the meantime');
    const { tenantLimits } = services;
    const written = await writeListing(trx, record, { provider: current, listing, unchangedCount, tenantLimits }, now);
    const { doubtful, ...counts } = written;
    const { length } = listing.items;
    const progress = { phase: 'written', done: length, total: length };
    const note = summaryOf(counts, listing);
    const end = { status: 'succeeded', lastError: null, attempts: state.attempts, progress, note } as const;
    const isMine = await endSyncTask(trx, scope, taskId, end, now);
    // Rolls back what was written.
    if (!isMine) throw new SyncInterrupted('the task was cancelled, or taken over');
    const outcome = { ...healthOf(doubtful, listing), mcp: mcpAfter(current, listing, now) };
    await markSynced(trx, scope, provider.id, outcome, now);
    await reviewHeaderChecks(trx, current, outcome.mcp, now);
    if (current.syncIntervalSeconds !== null) {
      const scheduleNow = await services.databaseNow(trx);
      await setNextSync(trx, scope, provider.id, nextAfterSuccess(scheduleNow, current.syncIntervalSeconds));
    }
    await reconcileCredential(trx, current, { refused: false }, now);
    await reconcileRemovals(trx, { ...current, ...outcome }, now);
    const changed = ['health', 'inventorySyncedAt', 'mcp'].filter((field) => {
      if (field === 'health') return current.health !== outcome.health;
      return field !== 'mcp' || current.mcp?.headerChecks !== outcome.mcp?.headerChecks;
    });
    const after = { health: outcome.health, inventorySyncedAt: now.toISOString(), mcp: outcome.mcp };
    record({
      place: current,
      target: { type: 'provider', id: provider.id },
      changed: { fields: changed, before: current, after },
    });
    return { counts, syncedAt: now.toISOString() };
  });
}

/** What a sync found out about an MCP server. It does not take back that a person trusts the server. */
function mcpAfter({ mcp }: Provider, listing: Listing, now: Date): Provider['mcp'] {
  if (listing.mcp === undefined) return null;
  const { headerChecks, protocolVersions } = listing.mcp;
  // A server that could not be tried is the same server as before.
  if (mcp && headerChecks === 'unknown') return { ...mcp, protocolVersions };
  const isTrusted = mcp?.headerChecks === 'trusted';
  return { headerChecks: isTrusted ? 'trusted' : headerChecks, checkedAt: now.toISOString(), protocolVersions };
}

/** Asks a person to look at a server that no longer compares headers with bodies, until it does so again. */
async function reviewHeaderChecks(trx: Database, provider: Provider, after: Provider['mcp'], now: Date): Promise<void> {
  const task = { kind: 'review_mcp_server', subject: { type: 'provider', id: provider.id } } as const;
  const [before, checks] = [provider.mcp?.headerChecks, after?.headerChecks];
  if (before === 'failed' && checks === 'verified') {
    await finishOperatorTask(trx, scopeOf(provider), task, 'cancelled', now);
  }
  if (before !== 'verified' || checks !== 'failed') return;
  const title = `The MCP server of provider ${provider.name} no longer refuses requests whose headers differ from their body`;
  await openOperatorTask(trx, provider, { ...task, title, priority: 'high' }, now);
}

type Counts = Pick<InventorySync, 'added' | 'pending' | 'updated' | 'removed' | 'held' | 'unchanged'>;

/** What a sync says about the provider. */
function healthOf(doubtful: readonly DoubtfulKind[], listing: Listing): Pick<Provider, 'health' | 'healthReason'> {
  if (doubtful.length === 0) return { health: 'healthy', healthReason: notTaken(listing) };
  const found = doubtful.map(({ kind, heldCount, keptCount }) => {
    const before = heldCount + keptCount;
    const what = before === 1 ? `one ${kind}` : `${before} ${kind}s`;
    return `${keptCount === 0 ? 'none' : `only ${keptCount}`} of the ${what}`;
  });
  return { health: 'doubtful', healthReason: `the last sync found ${found.join(' and ')} that it found before` };
}

/** Which parts of a listing a sync could not take. Null if it took all. */
function notTaken({ errors, errorCount, notes }: Listing): string | null {
  const [first] = errors;
  const refused =
    first === undefined
      ? []
      : [`${errorCount} could not be stored, such as the ${first.kind} ${first.name}: ${first.reason}`];
  const all = [...notes, ...refused];
  return all.length === 0 ? null : all.join('; ');
}

/** What a sync changed, for people who read its task later. */
function summaryOf({ added, pending, updated, removed, held, unchanged }: Counts, listing: Listing): string {
  const counts = `${added} added, ${updated} changed, ${removed} no longer listed, ${unchanged} unchanged.`;
  const heldText = held === 0 ? [] : [`${held} no longer listed, and kept until a person confirms that they are gone.`];
  const pendingText = pending === 0 ? [] : [`${pending} of the added wait for a decision.`];
  const reason = notTaken(listing);
  return [counts, ...pendingText, ...heldText, ...(reason === null ? [] : [`${reason}.`])].join(' ');
}

/** Stores the reason in the task. If the provider caused the failure, its health becomes `failing`. Keeps the inventory. */
async function recordFailure(
  { services, provider, taskId, writing }: SyncRun,
  state: RunState,
  error: unknown,
): Promise<void> {
  const scope = scopeOf(provider);
  const isForeseen = error instanceof ListingFailed || error instanceof SyncInterrupted || error instanceof ApiError;
  const lastError = isForeseen ? error.message : 'an internal error';
  await writing(async (trx, record, now) => {
    const end = { status: 'failed', lastError, attempts: state.attempts, progress: state.progress } as const;
    const isMine = await endSyncTask(trx, scope, taskId, end, now);
    const current = await findProvider(trx, scope, provider.id);
    if (!current) return;
    if (current.syncIntervalSeconds !== null) {
      await setNextSync(trx, scope, provider.id, await nextAfterFailure(trx, current, await services.databaseNow(trx)));
    }
    // Cancelled or taken over: that was already recorded.
    if (!isMine) return;
    const isItsFault = error instanceof ListingFailed && !isOutdated(current, provider);
    if (isItsFault) {
      await markSynced(trx, scope, provider.id, { health: 'failing', healthReason: lastError }, now);
      // Any other failure says nothing about the credential, so an earlier refusal stays recorded.
      if (error.refusedCredential) await reconcileCredential(trx, current, { refused: true }, now);
    }
    const changed = isItsFault && current.health !== 'failing' ? ['health'] : [];
    record({
      place: current,
      target: { type: 'provider', id: provider.id },
      changed: { fields: changed, before: current, after: { health: 'failing' } },
      failure: 'sync_failed',
    });
  });
  if (!isForeseen) services.log.error({ err: error, taskId, providerId: provider.id }, 'a sync failed');
}

/** Whether the provider changed so that the fetched listing no longer applies to it. */
function isOutdated(current: Provider, fetched: Provider): boolean {
  // The name matters because item names were read relative to it.
  const fields = ['name', 'baseUrl', 'kind', 'status'] as const;
  return fields.some((field) => current[field] !== fetched[field]);
}
