import { setTimeout as sleep } from 'node:timers/promises';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import { visibleLine } from '@quartermaster/contracts/visible-text.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import { findProvider } from '@quartermaster/db/repositories/providers.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { OutboundFailure, seconds, statusFailure } from '../../platform/outbound/failure.ts';
import { type OpenedSecrets, openSecrets } from '../provider-credentials/secret.ts';
import type { Services } from '../../platform/services.ts';
import type { Listing } from './listing.ts';
import { requestHeaders } from './request-headers.ts';
import { SyncInterrupted } from '../../platform/outbound/sync-runs.ts';

/** What a sync uses. */
export type SyncServices = Pick<
  Services,
  'db' | 'databaseNow' | 'log' | 'now' | 'scheduler' | 'secrets' | 'syncs' | 'tenantLimits'
>;

/** Shorter secrets are not searched for: they would be found by chance, and protect nothing. In characters. */
const SECRET_MIN = 8;

/** Items that are searched for the secret before the event loop gets a turn: each may have 16 KiB of attributes. */
const BATCH_SIZE = 100;

export type SyncableProvider = Provider & { baseUrl: string };

type Run = {
  signal: AbortSignal;
  onAttempt: (attempt: number, lastError: string | null) => void;
  onProgress: (phase: string, done: number) => void;
};

/** A failed sync. `refusedCredential` says whether the provider refused the credential that was sent. */
export class ListingFailed extends Error {
  readonly refusedCredential: boolean;

  constructor(failure: OutboundFailure, { sentCredential }: { sentCredential: boolean }) {
    // Without the cause, so that the provider's own words go no further.
    super(failure.message);
    this.name = 'ListingFailed';
    this.refusedCredential = sentCredential && failure.refused;
  }
}

/**
 * Asks a provider what it offers. Retries transient failures with exponential backoff as long as time is left.
 *
 * @throws ListingFailed; SyncInterrupted if the provider was changed in the meantime; the abort reason of `signal`
 */
export async function fetchListing(
  services: SyncServices,
  provider: SyncableProvider,
  { signal, onAttempt, onProgress }: Run,
): Promise<Listing> {
  const { limits } = services.syncs;
  const end = performance.now() + limits.allAttemptsMs;
  for (let attempt = 1; ; attempt += 1) {
    const totalMs = Math.min(limits.totalMs, Math.max(1, Math.round(end - performance.now())));
    let sentCredential = false;
    try {
      await requireSameBaseUrl(services, provider);
      // A secret that was stored for another address since then is not sent: openSecrets checks the address it is bound to.
      const secrets = await openSecrets(services, provider);
      sentCredential = secrets.hasCredential;
      const listing = await ask(services, provider, { secrets, totalMs, signal, onProgress });
      for (const text of secrets.texts) {
        if (await containsSecret(listing, text)) {
          throw new OutboundFailure('it lists the credential that it was sent');
        }
      }
      return listing;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof OutboundFailure)) throw error;
      const pause = pauseAfter(error, attempt, limits.pauseMs);
      const isLast = !error.transient || attempt >= limits.attempts || performance.now() + pause >= end;
      if (isLast) throw new ListingFailed(withPause(error), { sentCredential });
      onAttempt(attempt + 1, error.message);
      await sleep(pause, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

async function requireSameBaseUrl({ db }: Pick<Services, 'db'>, provider: SyncableProvider): Promise<void> {
  const current = await findProvider(db, scopeOf(provider), provider.id);
  if (current?.baseUrl !== provider.baseUrl) throw new SyncInterrupted('the provider was changed in the meantime');
}

/** One attempt. @throws OutboundFailure */
async function ask(
  services: SyncServices,
  provider: SyncableProvider,
  {
    secrets,
    totalMs,
    signal,
    onProgress,
  }: { secrets: OpenedSecrets; totalMs: number; signal: AbortSignal; onProgress: Run['onProgress'] },
): Promise<Listing> {
  const { syncs, now, log } = services;
  const baseUrl = new URL(provider.baseUrl);
  // Imported at the first sync: the MCP and HTTP clients would take a fifth of the start-up time, and much memory.
  const { openOutbound } = await import('../../platform/outbound/outbound.ts');
  const { listMcp } = await import('./mcp.ts');
  const { listModels } = await import('./openai.ts');
  const headers = { ...requestHeaders(provider), ...secrets.headers };
  const { boundUrl } = secrets;
  const { tenantId } = provider;
  const conversation = { tenantId, baseUrl, headers, boundUrl, signal, log };
  const outbound = openOutbound(conversation, syncs.policy, { ...syncs.limits, totalMs });
  try {
    return provider.kind === 'mcp'
      ? await listMcp(outbound, provider, { timeoutMs: totalMs, syncs, onProgress })
      : await listModels(outbound, provider, { now, onProgress });
  } catch (error) {
    signal.throwIfAborted();
    // The connection's first failure explains the most, then the last HTTP status, then the error of the client.
    const last = outbound.lastAnswer();
    throw outbound.failure() ?? (last && last.status >= 400 ? statusFailure(last.status, last.headers, now()) : error);
  } finally {
    await outbound.close();
  }
}

/** Whether the listing contains the secret: everyone who may read the inventory could read it there. */
async function containsSecret({ items, errors }: Listing, secret: string): Promise<boolean> {
  if (secret.length < SECRET_MIN) return false;
  // The listing has hidden characters escaped.
  const written = [secret, visibleLine(secret)].map((text) => JSON.stringify(text).slice(1, -1));
  for await (const batch of inBatches([...items, ...errors], BATCH_SIZE)) {
    for (const item of batch) {
      const json = JSON.stringify(item);
      if (written.some((text) => json.includes(text))) return true;
    }
  }
  return false;
}

/** Exponential backoff with a jitter of ±50 %, and at least what `Retry-After` asks for. In milliseconds. */
function pauseAfter({ retryAfterMs }: OutboundFailure, attempt: number, pauseMs: number): number {
  return Math.max(retryAfterMs ?? 0, pauseMs * 2 ** (attempt - 1) * (0.5 + Math.random()));
}

function withPause(failure: OutboundFailure): OutboundFailure {
  const { status, retryAfterMs } = failure;
  if (status === null || retryAfterMs === null || retryAfterMs === 0) return failure;
  return new OutboundFailure(`${failure.message}, and asks to wait ${seconds(retryAfterMs)}`, { status });
}
