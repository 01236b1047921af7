import {
  addAccountTelemetry,
  type ScopeCount,
  sumAccountTelemetry,
} from '@quartermaster/db/repositories/account-telemetry.ts';
import {
  findLastOperatorTask,
  finishOperatorTask,
  openOperatorTask,
} from '@quartermaster/db/repositories/operator-tasks.ts';
import { findMissingPlace } from '@quartermaster/db/repositories/tenants.ts';
import { scopeOf, type TenantPlace } from '@quartermaster/db/tenancy.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import type { Database } from '@quartermaster/db/database.ts';
import type { Principal } from '../../auth/principal.ts';
import { isRecent } from '../../platform/is-recent.ts';
import type { Services } from '../../platform/services.ts';

/** The counts of an account are written at most once in this time, in milliseconds. */
const WRITE_EVERY_MS = 60_000;

/** The maximum number of accounts whose counts wait in memory. Further accounts are not counted. */
const MAX_WAITING = 10_000;

/** An operator task is opened once an account sent this many spans and log records, and none of them was understood. */
const MIN_RECORDS_FOR_TASK = 20;

type Account = { place: TenantPlace; id: string; counts: Map<string, ScopeCount>; writtenAt: number };

type Dependencies = Pick<Services, 'db' | 'log' | 'now'>;

/**
 * Counts what each service account sent, and how much of it was understood, so that a tenant learns about a framework that
 * is not supported. Counts wait in memory for up to a minute, which keeps ingest cheap. A killed process loses them.
 */
export class AccountTelemetry {
  readonly #dependencies: Dependencies;
  readonly #accounts = new Map<string, Account>();
  #writing: Promise<void> = Promise.resolve();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Adds the counts of a request. Only service accounts are counted. */
  note(sender: Pick<Principal, 'kind' | 'id'>, place: TenantPlace, counts: readonly ScopeCount[]): void {
    if (sender.kind !== 'service_account' || counts.length === 0) return;
    const key = `${place.tenantId}\n${sender.id}`;
    const known = this.#accounts.get(key);
    if (known === undefined && this.#accounts.size >= MAX_WAITING) return;
    const account = known ?? { place, id: sender.id, counts: new Map(), writtenAt: Number.NEGATIVE_INFINITY };
    this.#accounts.set(key, account);
    for (const count of counts) addTo(account.counts, count);
    if (this.#isDue(account)) void this.#write([account]);
  }

  /** Writes waiting counts: of the accounts that are due, or of all accounts. */
  async flush(which: 'due' | 'all'): Promise<void> {
    const due: Account[] = [];
    for (const [key, account] of this.#accounts) {
      if (which === 'due' && !this.#isDue(account)) continue;
      if (account.counts.size > 0) due.push(account);
      else if (this.#isDue(account)) this.#accounts.delete(key);
    }
    await this.#write(due);
  }

  #isDue({ writtenAt }: Account): boolean {
    return !isRecent(writtenAt, WRITE_EVERY_MS, this.#dependencies.now());
  }

  /** Writes accounts one after the other. Counts that cannot be written wait for the next time. */
  #write(accounts: readonly Account[]): Promise<void> {
    const { db, log, now } = this.#dependencies;
    for (const account of accounts) {
      account.writtenAt = now().getTime();
      this.#writing = this.#writing.then(async () => {
        const counts = [...account.counts.values()];
        account.counts = new Map();
        if (counts.length === 0) return;
        try {
          await inTransaction(db, (trx) => writeAccount(trx, account, counts, now()));
        } catch (error) {
          for (const count of counts) addTo(account.counts, count);
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

/** Stores counts of an account, and opens or cancels its task. */
async function writeAccount(
  trx: Database,
  { place, id }: Pick<Account, 'place' | 'id'>,
  counts: readonly ScopeCount[],
  now: Date,
): Promise<void> {
  // The counts waited. In the meantime the tenant may have been deleted, and even erased.
  if ((await findMissingPlace(trx, place)) === 'tenant') return;
  const account = { tenantId: place.tenantId, accountId: id };
  await addAccountTelemetry(trx, account, counts, now);
  const { records, readRecords } = await sumAccountTelemetry(trx, account);
  const task = { kind: 'review_telemetry', subject: { type: 'service_account', id } } as const;
  if (readRecords > 0) {
    // Whether nothing had been read before these counts.
    const hadNone = readRecords === counts.reduce((sum, count) => sum + count.readRecords, 0);
    if (hadNone) await finishOperatorTask(trx, scopeOf(place), task, 'cancelled', now);
    return;
  }
  if (records < MIN_RECORDS_FOR_TASK) return;
  // Only once for each account, even if the task was finished and nothing changed.
  if (await findLastOperatorTask(trx, scopeOf(place), task, now)) return;
  const title = `Nothing is understood of the telemetry of service account ${id}: see its unread scopes`;
  await openOperatorTask(trx, place, { ...task, title, priority: 'normal' }, now);
}
