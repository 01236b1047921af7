import { randomUUID } from 'node:crypto';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { DecisionPoint } from '@quartermaster/contracts/gateway-decisions.ts';
import type { Denial } from '@quartermaster/contracts/denials.ts';
import type { Enforcement } from '@quartermaster/contracts/gateways.ts';
import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import { BoundedMap } from '@quartermaster/db/bounded-map.ts';
import { CommitOutcomeUnknownError } from '@quartermaster/db/errors.ts';
import type { DecisionCount, SessionDecisions } from '@quartermaster/db/repositories/decision-counts.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import type { Services } from '../../platform/services.ts';
import { boundedName } from '../../telemetry/reading/visible-name.ts';
import { HOUR_MS, hourOf } from '../../telemetry/periods.ts';
import { type DecisionBatch, foldDecisions, type NotedCalls, type NotedDenial } from '../../governance/denials/fold.ts';

/** How long counts wait before they are written, in milliseconds: denials, denials that a caller waits for, and others. */
const DENIALS_WAIT_MS = 1000;
const ASKED_WAIT_MS = 100;
const COUNTS_WAIT_MS = 5000;

/** How long a denied caller waits for the id of a new observation, in milliseconds, and how many may wait. */
const MAX_WAIT_MS = 400;
const MAX_WAITING = 100;

/** How many of them are answered in one turn of the event loop. */
const WOKEN_AT_ONCE = 4;

/**
 * The most names that wait to be written, of one account and of all. Beyond that a decision is counted, but not observed. Each
 * tenant has room for some in any case, so that the flood of one does not hide the denials of another.
 */
const MAX_NAMES_OF_ACCOUNT = 200;
const MAX_NAMES = 20_000;
const NAMES_OF_EACH_TENANT = 200;

/** Observations whose ids are remembered. */
const MAX_IDS = 20_000;

/** A decision that was made. */
export type Decided = {
  place: TenantPlace;
  gatewayId: string;
  sessionId: string | null;
  account: string;
  /** Null if the gateway lists no such provider. */
  providerId: string | null;
  kind: InventoryKind;
  name: string;
  point: DecisionPoint;
  mode: Enforcement;
  /** Null: it is permitted. */
  reason: Denial | null;
  /** How many uses it stands for. */
  attempts: number;
};

type Waiting = {
  denials: Map<string, NotedDenial>;
  calls: Map<string, NotedCalls>;
  namesOfAccounts: Map<string, number>;
  counts: Map<string, Omit<DecisionCount, 'last_at'> & LastAt>;
  sessions: Map<string, Omit<SessionDecisions, 'lastAt'> & LastAt>;
};

/** Formatted only when it is written: formatting a time takes half a microsecond. */
type LastAt = { lastAt: Date };

type LogServices = Pick<Services, 'db' | 'log' | 'now' | 'tenantLimits' | 'telemetry'>;

/**
 * Counts decisions in memory and writes the sums, so that a decision runs no statement. A killed process loses the denials of the
 * last second, and the other counts of the last five seconds.
 */
export class DecisionLog {
  readonly #services: LogServices;
  #tenants = new Map<string, Waiting>();
  /** Batches whose commit failed, or may have failed. They are sent again as they are. */
  readonly #unsent: { tenantId: string; batch: DecisionBatch }[] = [];
  readonly #ids = new BoundedMap<string, string>(MAX_IDS);
  readonly #waiters = new Set<() => void>();
  #names = 0;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  #writing: Promise<void> = Promise.resolve();

  constructor(services: LogServices) {
    this.#services = services;
  }

  note(decided: Decided): void {
    const { place, reason } = decided;
    let waiting = this.#tenants.get(place.tenantId);
    if (waiting === undefined) {
      waiting = newWaiting();
      this.#tenants.set(place.tenantId, waiting);
    }
    const now = this.#services.now();
    addCount(waiting, decided, now);
    addToSession(waiting, decided, now);
    if (reason !== null && decided.providerId !== null) this.#addDenial(waiting, decided, now.toISOString());
    if (isProxiedCall(decided)) this.#addCall(waiting, decided, now.toISOString());
    this.#flushWithin(reason === null ? COUNTS_WAIT_MS : DENIALS_WAIT_MS);
  }

  /** The id of the observation that counts a denial. Waits a moment for a new one. Null if there is none yet. */
  async observationOf(decided: Decided): Promise<string | null> {
    const key = keyOf(decided, boundedName(decided.name));
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    if (decided.providerId === null || this.#waiters.size >= MAX_WAITING) return null;
    this.#flushWithin(ASKED_WAIT_MS);
    await new Promise<void>((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#waiters.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, MAX_WAIT_MS);
      this.#waiters.add(wake);
    });
    return this.#ids.get(key) ?? null;
  }

  /** Writes everything that waits. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#dueAt = Number.POSITIVE_INFINITY;
    const waiting = this.#tenants;
    this.#tenants = new Map();
    this.#names = 0;
    for (const [tenantId, { denials, calls, counts, sessions }] of waiting) {
      const batch = {
        id: randomUUID(),
        denials: [...denials.values()],
        calls: [...calls.values()],
        counts: [...counts.values()].map(({ lastAt, ...count }) => ({ ...count, last_at: lastAt.toISOString() })),
        sessions: [...sessions.values()].map((session) => ({ ...session, lastAt: session.lastAt.toISOString() })),
      };
      this.#unsent.push({ tenantId, batch });
    }
    this.#writing = this.#writing.then(() => this.#writeUnsent());
    await this.#writing;
  }

  async #writeUnsent(): Promise<void> {
    for (const entry of this.#unsent.splice(0)) {
      try {
        await this.#write(entry);
      } catch (error) {
        this.#unsent.push(entry);
        const outcome = error instanceof CommitOutcomeUnknownError ? 'may not have been' : 'could not be';
        this.#services.log.warn({ err: error }, `counts of decisions ${outcome} stored; they are sent again`);
        this.#flushWithin(COUNTS_WAIT_MS);
      }
    }
    await this.#wakeWaiting();
  }

  /** Wakes a few callers in each turn of the event loop, because each of them then writes an answer. */
  async #wakeWaiting(): Promise<void> {
    for (const [index, wake] of [...this.#waiters].entries()) {
      if (index > 0 && index % WOKEN_AT_ONCE === 0) await yieldToEventLoop();
      wake();
    }
  }

  async #write({ tenantId, batch }: { tenantId: string; batch: DecisionBatch }): Promise<void> {
    const { db, now, tenantLimits, telemetry } = this.#services;
    const limits = { observations: telemetry.maxObservations, tenantLimits };
    const folded = await inTransaction(db, (trx) => foldDecisions(trx, tenantId, { batch, limits }, now()), {
      lockTenant: tenantId,
    });
    for (const { subject, observationId } of folded) this.#ids.set(keyOf(subject, subject.name), observationId);
  }

  #addDenial(waiting: Waiting, decided: Decided, time: string): void {
    const { place, gatewayId, account, kind, reason, attempts, sessionId, providerId } = decided;
    if (reason === null || providerId === null) return;
    const name = boundedName(decided.name);
    const key = `${gatewayId} ${keyOf(decided, name)}`;
    const known = waiting.denials.get(key);
    if (known) {
      known.count += attempts;
      known.reason = reason;
      known.lastAt = time;
      known.lastSessionId = sessionId ?? known.lastSessionId;
      return;
    }
    if (!this.#takeName(waiting, account)) return;
    const subject = { gatewayId, place, providerId, kind, name, account };
    const times = { firstAt: time, lastAt: time, lastSessionId: sessionId ?? '' };
    waiting.denials.set(key, { ...subject, reason, count: attempts, ...times });
  }

  #addCall(waiting: Waiting, decided: Decided & { providerId: string }, time: string): void {
    const { place, providerId, account, kind, attempts } = decided;
    const name = boundedName(decided.name);
    const key = keyOf(decided, name);
    const known = waiting.calls.get(key);
    if (known) {
      known.count += attempts;
      known.lastAt = time;
      return;
    }
    if (!this.#takeName(waiting, account)) return;
    waiting.calls.set(key, { place, providerId, kind, name, account, count: attempts, firstAt: time, lastAt: time });
  }

  /** @returns false if too many names wait */
  #takeName({ namesOfAccounts, denials, calls }: Waiting, account: string): boolean {
    const names = namesOfAccounts.get(account) ?? 0;
    const isFull = this.#names >= MAX_NAMES && denials.size + calls.size >= NAMES_OF_EACH_TENANT;
    if (names >= MAX_NAMES_OF_ACCOUNT || isFull) return false;
    namesOfAccounts.set(account, names + 1);
    this.#names += 1;
    return true;
  }

  #flushWithin(ms: number): void {
    const dueAt = performance.now() + ms;
    if (dueAt >= this.#dueAt) return;
    clearTimeout(this.#timer);
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => void this.flush(), ms).unref();
  }
}

function newWaiting(): Waiting {
  return { denials: new Map(), calls: new Map(), namesOfAccounts: new Map(), counts: new Map(), sessions: new Map() };
}

/** Whether the MCP proxy passes it on: it is permitted, or the gateway only observes. */
function isProxiedCall(decided: Decided): decided is Decided & { providerId: string } {
  const { point, mode, reason, providerId } = decided;
  return point === 'proxy' && providerId !== null && (reason === null || mode === 'observe');
}

function addCount(waiting: Waiting, decided: Decided, now: Date): void {
  const { place, gatewayId, providerId, account, point, mode, reason, attempts } = decided;
  const outcome = reason === null ? 'allowed' : mode === 'enforce' ? 'denied' : 'would_deny';
  const hour = Math.floor(now.getTime() / HOUR_MS);
  const key = `${hour} ${gatewayId} ${providerId ?? ''} ${account} ${point} ${mode} ${outcome}`;
  const known = waiting.counts.get(key);
  if (known) {
    known.decisions += attempts;
    known.lastAt = now;
    return;
  }
  const names = {
    hour: hourOf(now.getTime()),
    gateway_id: gatewayId,
    provider_id: providerId ?? '',
    account,
    sub_tenant_id: place.subTenantId ?? '',
  };
  waiting.counts.set(key, { ...names, point, mode, outcome, decisions: attempts, lastAt: now });
}

function addToSession(waiting: Waiting, { sessionId, reason, attempts }: Decided, now: Date): void {
  if (sessionId === null) return;
  let session = waiting.sessions.get(sessionId);
  if (session === undefined) {
    session = { sessionId, allowed: 0, denied: 0, lastAt: now };
    waiting.sessions.set(sessionId, session);
  }
  if (reason === null) session.allowed += attempts;
  else session.denied += attempts;
  session.lastAt = now;
}

/**
 * The place belongs to it: the denials of a user are observed at the place of the gateway, and one sub-tenant must not be told the
 * observation of another.
 *
 * @param name as it is observed. `boundedName` would escape what it has escaped before.
 */
function keyOf(
  { place, providerId, kind, account }: Pick<Decided, 'place' | 'providerId' | 'kind' | 'account'>,
  name: string,
): string {
  return JSON.stringify([place.tenantId, place.subTenantId, account, providerId, kind, name]);
}
