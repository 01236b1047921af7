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
import { scopeOf, type TenantPlace } from '@quartermaster/db/tenancy.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import type { Database } from '@quartermaster/db/database.ts';
import type { Principal } from '../../access/principal.ts';
import type { Services } from '../../services.ts';

/** An account is written at most once in so long, in milliseconds. */
const WRITE_EVERY_MS = 60_000;

/** Accounts whose counts wait in memory. Those beyond are not counted. */
const MAX_WAITING = 10_000;

/** Spans and log records that an account sent before a person is asked to look, if nothing of them was understood. */
const ASKED_FROM = 20;

type Account = { place: TenantPlace; id: string; counts: Map<string, ScopeCount>; writtenAt: number };

type Needs = Pick<Services, 'db' | 'log' | 'now'>;

/**
 * Sums what each service account sent, and how much of it told of anything, so that a tenant learns of a framework that is
 * not understood. Counts wait in memory for up to a minute, which keeps ingest cheap; a process that is killed loses them.
 */
export class AccountTelemetry {
  readonly #needs: Needs;
  readonly #accounts = new Map<string, Account>();
  #writing: Promise<void> = Promise.resolve();

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /** Adds what a request brought. Users are not counted: they have no such record. */
  note(principal: Principal, place: TenantPlace, counts: readonly ScopeCount[]): void {
    if (principal.kind !== 'service_account' || counts.length === 0) return;
    const key = `${place.tenantId}\n${principal.id}`;
    const known = this.#accounts.get(key);
    if (known === undefined && this.#accounts.size >= MAX_WAITING) return;
    const account = known ?? { place, id: principal.id, counts: new Map(), writtenAt: Number.NEGATIVE_INFINITY };
    this.#accounts.set(key, account);
    for (const count of counts) addTo(account.counts, count);
    if (this.#isDue(account)) void this.#write([account]);
  }

  /** Writes what waits: of accounts that are due, or of all. */
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
    return this.#needs.now().getTime() - writtenAt >= WRITE_EVERY_MS;
  }

  /** One after the other. What cannot be written waits for the next time. */
  #write(accounts: readonly Account[]): Promise<void> {
    const { db, log, now } = this.#needs;
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
          log.warn({ err: error }, 'what an account sent could not be counted; it is tried again');
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

/** Adds the counts, and opens or cancels the task that asks a person to look. */
async function writeAccount(
  trx: Database,
  { place, id }: Pick<Account, 'place' | 'id'>,
  counts: readonly ScopeCount[],
  now: Date,
): Promise<void> {
  const account = { tenantId: place.tenantId, accountId: id };
  await addAccountTelemetry(trx, account, counts, now);
  const { records, readRecords } = await sumAccountTelemetry(trx, account);
  const task = { kind: 'review_telemetry', subject: { type: 'service_account', id } } as const;
  if (readRecords > 0) {
    const hadNone = readRecords === counts.reduce((sum, count) => sum + count.readRecords, 0);
    if (hadNone) await finishOperatorTask(trx, scopeOf(place), task, 'cancelled', now);
    return;
  }
  if (records < ASKED_FROM) return;
  // Once for each account: it is no news that an account stays as it is.
  if (await findLastOperatorTask(trx, scopeOf(place), task, now)) return;
  const title = `Nothing is understood of the telemetry of service account ${id}: see its unread scopes`;
  await openOperatorTask(trx, place, { ...task, title, priority: 'normal' }, now);
}
