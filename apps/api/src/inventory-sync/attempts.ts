import { setImmediate as yieldToEventLoop, setTimeout as sleep } from 'node:timers/promises';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import { visibleLine } from '@quartermaster/contracts/visible-text.ts';
import { findProvider } from '@quartermaster/db/repositories/providers.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { OutboundFailure, seconds, statusFailure } from '../outbound/failure.ts';
import { type OpenedSecret, openSecret } from '../provider-credentials/secret.ts';
import type { Services } from '../services.ts';
import type { Listing } from './listing.ts';
import { SyncInterrupted } from './runs.ts';

/** Characters of a text that can be a secret at all. */
const SECRET_MIN = 8;

/** Items that are searched for a secret before the event loop gets a turn: each may have 16 KiB of attributes. */
const ITEMS_OF_TURN = 100;

export type SyncableProvider = Provider & { baseUrl: string };

type Run = {
  signal: AbortSignal;
  onAttempt: (attempt: number, lastError: string | null) => void;
  onProgress: (phase: string, done: number) => void;
};

/** A failed sync, with whether a credential was sent that was refused. */
export class ListingFailed extends Error {
  readonly refusedCredential: boolean;

  constructor(failure: OutboundFailure, { sentCredential }: { sentCredential: boolean }) {
    // Without its cause: what the far side said ends here.
    super(failure.message);
    this.name = 'ListingFailed';
    this.refusedCredential = sentCredential && failure.refused;
  }
}

/**
 * Asks a provider what it offers. What may pass is tried again after a pause, as long as time is left.
 *
 * @throws ListingFailed; SyncInterrupted where the provider was changed; or what `signal` was ended with
 */
export async function fetchListing(
  services: Services,
  provider: SyncableProvider,
  { signal, onAttempt, onProgress }: Run,
): Promise<Listing> {
  const { limits } = services.syncs;
  const end = performance.now() + limits.allAttemptsMs;
  for (let attempt = 1; ; attempt += 1) {
    const totalMs = Math.min(limits.totalMs, Math.max(1, Math.round(end - performance.now())));
    let sentCredential = false;
    try {
      await requireSame(services, provider);
      // A secret that was put for another address meanwhile is not opened: it is bound to that one.
      const secret = await openSecret(services, provider);
      sentCredential = secret !== null;
      const listing = await ask(services, provider, { secret, totalMs, signal, onProgress });
      if (secret && (await repeats(listing, secret.text)))
        throw new OutboundFailure('it lists the credential that it was sent');
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

async function requireSame({ db }: Services, provider: SyncableProvider): Promise<void> {
  const current = await findProvider(db, scopeOf(provider), provider.id);
  if (current?.baseUrl !== provider.baseUrl) throw new SyncInterrupted('the provider was changed meanwhile');
}

/** One attempt. @throws OutboundFailure */
async function ask(
  services: Services,
  provider: SyncableProvider,
  {
    secret,
    totalMs,
    signal,
    onProgress,
  }: { secret: OpenedSecret | null; totalMs: number; signal: AbortSignal; onProgress: Run['onProgress'] },
): Promise<Listing> {
  const { outbound: policy, syncs, now, log } = services;
  const baseUrl = new URL(provider.baseUrl);
  // Read at the first sync: what speaks MCP and HTTP to others takes a fifth of a start, and much memory.
  const { openOutbound } = await import('../outbound/outbound.ts');
  const { listMcp } = await import('./mcp.ts');
  const { listModels } = await import('./openai.ts');
  const { headers, boundUrl } = secret ?? { headers: {}, boundUrl: null };
  const outbound = openOutbound({ baseUrl, headers, boundUrl, signal, log }, policy, { ...syncs.limits, totalMs });
  try {
    return provider.kind === 'mcp'
      ? await listMcp(outbound, provider, { timeoutMs: totalMs, onProgress })
      : await listModels(outbound, provider, { now, onProgress });
  } catch (error) {
    signal.throwIfAborted();
    // What failed first explains the rest; then what the server answered; then what it said.
    const last = outbound.lastAnswer();
    throw outbound.failure() ?? (last && last.status >= 400 ? statusFailure(last.status, last.headers, now()) : error);
  } finally {
    await outbound.close();
  }
}

/**
 * Whether a secret stands in what was listed: whoever may read the inventory would read it there. Shorter ones are found
 * anywhere, and are none.
 */
async function repeats({ items, errors }: Listing, secret: string): Promise<boolean> {
  if (secret.length < SECRET_MIN) return false;
  // Texts have hidden characters written out.
  const written = [secret, visibleLine(secret)].map((text) => JSON.stringify(text).slice(1, -1));
  for (const [index, item] of [...items, ...errors].entries()) {
    const json = JSON.stringify(item);
    if (written.some((text) => json.includes(text))) return true;
    if (index % ITEMS_OF_TURN === ITEMS_OF_TURN - 1) await yieldToEventLoop();
  }
  return false;
}

/** Half to one and a half of a pause that doubles, and no less than what the far side asks for. */
function pauseAfter({ retryAfterMs }: OutboundFailure, attempt: number, pauseMs: number): number {
  return Math.max(retryAfterMs ?? 0, pauseMs * 2 ** (attempt - 1) * (0.5 + Math.random()));
}

function withPause(failure: OutboundFailure): OutboundFailure {
  const { status, retryAfterMs } = failure;
  if (status === null || retryAfterMs === null || retryAfterMs === 0) return failure;
  return new OutboundFailure(`${failure.message}, and asks to wait ${seconds(retryAfterMs)}`, { status });
}
