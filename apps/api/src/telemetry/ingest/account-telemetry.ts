import {
  addAccountTelemetry,
  type KeyCounts,
  type ProblemCount,
  type ScopeCount,
  sumAccountTelemetry,
} from '@quartermaster/db/repositories/account-telemetry.ts';
import {
  findLastOperatorTask,
  finishOperatorTask,
  openOperatorTask,
} from '@quartermaster/db/repositories/operator-tasks.ts';
import { findServiceAccounts } from '@quartermaster/db/repositories/service-accounts.ts';
import { findMissingPlace } from '@quartermaster/db/repositories/tenants.ts';
import { scopeOf, type TenantPlace } from '@quartermaster/db/tenancy.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import type { Database } from '@quartermaster/db/database.ts';
import type { Principal } from '../../auth/principal.ts';
import { isRecent } from '../../platform/is-recent.ts';
import type { Services } from '../../platform/services.ts';

/** The counts of a key are written at most once in this time, in milliseconds. */
const WRITE_EVERY_MS = 60_000;

/** The maximum number of keys whose counts wait in memory. Further keys are not counted. */
const MAX_WAITING = 10_000;

/** The maximum length of the text about a problem. */
const MAX_DETAIL = 300;

/** An operator task is opened once an account sent this many spans and log records, and none of them was understood. */
const MIN_RECORDS_FOR_TASK = 20;

/** What waits to be written about one API key. */
type Counted = {
  place: TenantPlace;
  id: string;
  keyId: string;
  counts: Map<string, ScopeCount>;
  problems: Map<string, ProblemCount>;
  writtenAt: number;
};

/** Who sent telemetry. */
export type TelemetrySender = Pick<Principal, 'kind' | 'id' | 'keyId'>;

type Dependencies = Pick<Services, 'db' | 'log' | 'now'>;

/**
 * Counts what each API key of a service account sent, how much of it was understood, and what was refused, so that a tenant
 * learns why an agent is not seen. Counts wait in memory for up to a minute, which keeps ingest cheap. A killed process loses
 * them.
 */
export class AccountTelemetry {
  readonly #dependencies: Dependencies;
  readonly #keys = new Map<string, Counted>();
  #writing: Promise<void> = Promise.resolve();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Adds the counts of a request. Only service accounts are counted. */
  note(sender: TelemetrySender, place: TenantPlace, counts: readonly ScopeCount[]): void {
    if (counts.length === 0) return;
    this.#add(sender, place, (counted) => {
      for (const count of counts) addTo(counted.counts, count);
      if (this.#isDue(counted)) void this.#write([counted]);
    });
  }

  /** Adds requests or records that were refused or dropped. It writes nothing by itself, as no refused request does. */
  noteProblem(sender: TelemetrySender, place: TenantPlace, problem: ProblemCount): void {
    this.#add(sender, place, ({ problems }) => addProblemTo(problems, problem));
  }

  /** Writes waiting counts: of the keys that are due, of one account, or of all. */
  async flush(which: 'due' | 'all' | { tenantId: string; id: string }): Promise<void> {
    const due: Counted[] = [];
    for (const [key, counted] of this.#keys) {
      if (which === 'due' && !this.#isDue(counted)) continue;
      if (typeof which === 'object' && (counted.id !== which.id || counted.place.tenantId !== which.tenantId)) continue;
      if (counted.counts.size + counted.problems.size > 0) due.push(counted);
      else if (this.#isDue(counted)) this.#keys.delete(key);
    }
    await this.#write(due);
  }

  #add({ kind, id, keyId }: TelemetrySender, place: TenantPlace, add: (counted: Counted) => void): void {
    if (kind !== 'service_account' || keyId === null) return;
    const name = `${place.tenantId}\n${id}\n${keyId}`;
    const known = this.#keys.get(name);
    if (known === undefined && this.#keys.size >= MAX_WAITING) return;
    const writtenAt = Number.NEGATIVE_INFINITY;
    const counted = known ?? { place, id, keyId, counts: new Map(), problems: new Map(), writtenAt };
    this.#keys.set(name, counted);
    add(counted);
  }

  #isDue({ writtenAt }: Counted): boolean {
    return !isRecent(writtenAt, WRITE_EVERY_MS, this.#dependencies.now());
  }

  /** Writes keys one after the other. Counts that cannot be written wait for the next time. */
  #write(keys: readonly Counted[]): Promise<void> {
    const { db, log, now } = this.#dependencies;
    for (const counted of keys) {
      counted.writtenAt = now().getTime();
      this.#writing = this.#writing.then(async () => {
        const scopes = [...counted.counts.values()];
        const problems = [...counted.problems.values()];
        counted.counts = new Map();
        counted.problems = new Map();
        if (scopes.length + problems.length === 0) return;
        try {
          await inTransaction(db, (trx) => writeKey(trx, counted, { scopes, problems }, now()));
        } catch (error) {
          for (const count of scopes) addTo(counted.counts, count);
          for (const problem of problems) addProblemTo(counted.problems, problem);
          log.warn({ err: error }, 'the counts of an account could not be stored; they are stored later');
        }
      });
    }
    return this.#writing;
  }
}

function addTo(counts: Map<string, ScopeCount>, { scope, spans, logRecords, readRecords }: ScopeCount): void {
  const sum = counts.get(scope) ?? { scope, spans: 0, logRecords: 0, readRecords: 0 };
  sum.spans += spans;
  sum.logRecords += logRecords;
  sum.readRecords += readRecords;
  counts.set(scope, sum);
}

function addProblemTo(problems: Map<string, ProblemCount>, problem: ProblemCount): void {
  const { reason, detail } = problem;
  const sum = problems.get(reason) ?? { reason, requests: 0, records: 0, detail: null };
  sum.requests += problem.requests;
  sum.records += problem.records;
  sum.detail = detail === null ? null : detail.slice(0, MAX_DETAIL);
  problems.set(reason, sum);
}

/** Stores counts of a key, and opens or cancels the task of its account. */
async function writeKey(
  trx: Database,
  { place, id, keyId }: Pick<Counted, 'place' | 'id' | 'keyId'>,
  counts: KeyCounts,
  now: Date,
): Promise<void> {
  // The counts waited. In the meantime the tenant may have been deleted, and even erased.
  if ((await findMissingPlace(trx, place)) === 'tenant') return;
  const account = { tenantId: place.tenantId, accountId: id };
  await addAccountTelemetry(trx, { ...account, keyId }, counts, now);
  if (counts.scopes.length === 0) return;
  const { records, readRecords } = await sumAccountTelemetry(trx, account);
  const task = { kind: 'review_telemetry', subject: { type: 'service_account', id } } as const;
  if (readRecords > 0) {
    // Whether no record had been understood before these counts.
    const hadNone = readRecords === counts.scopes.reduce((sum, count) => sum + count.readRecords, 0);
    if (hadNone) await finishOperatorTask(trx, scopeOf(place), task, 'cancelled', now);
    return;
  }
  if (records < MIN_RECORDS_FOR_TASK) return;
  // Only once for each account, even if the task was finished and nothing changed.
  if (await findLastOperatorTask(trx, scopeOf(place), task, now)) return;
  const [sender] = await findServiceAccounts(trx, scopeOf(place), id, now);
  const name = sender?.displayName ?? sender?.name ?? id;
  const title = `Nothing is understood of the telemetry of service account ${name}: see its unread scopes`;
  await openOperatorTask(trx, place, { ...task, title, priority: 'normal' }, now);
}
