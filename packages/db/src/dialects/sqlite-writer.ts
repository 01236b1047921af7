import { setTimeout as sleep } from 'node:timers/promises';
import type { QueryResult } from 'kysely';
import { DatabaseUnavailableError } from '../errors.ts';
import { FairQueue } from '../fair-queue.ts';
import { currentTenant } from '../tenant-context.ts';
import { waitMsLeft } from '../turns.ts';
import { MAX_LOG_PAGES, type SqliteCheckpoints } from './sqlite-checkpoints.ts';
import { BUSY_TIMEOUT_MS, type SqliteHandle } from './sqlite-handle.ts';

/** How often a write retries while another process holds the lock. The event loop is not blocked between retries. */
const LOCK_ATTEMPTS = 20;

/** How long a write waits for other writes of this process before it is refused, in milliseconds. */
const WRITER_WAIT_MS = 5000;

/** A group of transactions is committed when it has this many of them, or when it is this old, in milliseconds. */
const MAX_GROUP_SIZE = 64;
const MAX_GROUP_AGE_MS = 10;

/** Copies the whole write-ahead log into the database file, and truncates the log. It does not work inside a transaction. */
export const TRUNCATE_LOG = 'pragma wal_checkpoint(truncate)';

/** Settles the promise of a transaction that waits for its group's commit. */
type WaitingForCommit = { resolve: () => void; reject: (error: unknown) => void };

/** A group of transactions that share one BEGIN and one COMMIT. */
type Group = {
  since: number;
  done: WaitingForCommit[];
  /** The reason, if SQLite has rolled back the whole group. */
  lost: DatabaseUnavailableError | null;
};

/**
 * The only connection that writes, with group commit. Transactions use it one after the other. Waiting tenants are served round
 * robin. Transactions that arrive within one turn of the event loop form a group and are committed together, because flushing a
 * commit to the disk takes longer than most work. Each transaction of a group is a savepoint of one SQLite transaction, and
 * resolves only after the commit is on the disk. A rollback affects one transaction. If the commit fails, the whole group fails.
 */
export class SqliteWriter {
  readonly #handle: SqliteHandle;
  readonly #checkpoints: SqliteCheckpoints;
  #busy = false;
  #group: Group | null = null;
  /** Transactions that wait for the connection. */
  readonly #queue = new FairQueue<() => void>();

  constructor(handle: SqliteHandle, checkpoints: SqliteCheckpoints) {
    this.#handle = handle;
    this.#checkpoints = checkpoints;
    handle.checkpointFrom(MAX_LOG_PAGES);
  }

  /** Runs one statement as a separate transaction. */
  async run(sql: string, parameters: readonly unknown[]): Promise<QueryResult<never>> {
    await this.#acquire();
    if (sql === TRUNCATE_LOG) {
      this.#commitGroup();
      await this.#checkpoints.idle();
    }
    const group = this.#group;
    let result: QueryResult<never>;
    try {
      const write = () => this.#handle.run(sql, parameters);
      result = group === null ? await retryWhileLocked(write) : write();
    } catch (error) {
      // A failed statement is rolled back. Some failures roll back the whole transaction.
      if (group && !this.#handle.inTransaction) this.#rejectGroup(group, error);
      this.#release();
      throw error;
    }
    if (group === null) {
      this.#checkpoints.afterCommit(this.#handle);
      this.#release();
    } else await this.#waitForCommit(group);
    return result;
  }

  /**
   * Waits for the connection and begins a transaction.
   *
   * @throws {DatabaseUnavailableError} after {@link WRITER_WAIT_MS}, or if another process holds the lock for too long
   */
  async begin(): Promise<SqliteTransaction> {
    await this.#acquire();
    try {
      const isFirst = this.#group === null;
      // `immediate`: a transaction that read first and wrote later would fail with SQLITE_BUSY_SNAPSHOT.
      if (isFirst) await retryWhileLocked(() => this.#handle.run('begin immediate', []));
      else this.#handle.run('savepoint member', []);
      const group = (this.#group ??= { since: performance.now(), done: [], lost: null });
      return new SqliteTransaction({
        run: (sql, parameters) => this.#runWithin(group, sql, parameters),
        commit: () => this.#commit(group, isFirst),
        rollback: () => this.#rollback(group, isFirst),
      });
    } catch (error) {
      this.#release();
      throw error;
    }
  }

  /** Waits for the current transaction, and closes the connection. It stays busy, so that later transactions are refused. */
  async close(): Promise<void> {
    if (this.#busy || !this.#queue.isEmpty) await this.#acquire();
    this.#busy = true;
    this.#commitGroup();
    this.#handle.close();
  }

  #runWithin(group: Group, sql: string, parameters: readonly unknown[]): QueryResult<never> {
    if (group.lost) throw group.lost;
    try {
      return this.#handle.run(sql, parameters);
    } catch (error) {
      // On a full disk, for example, SQLite rolls back the whole transaction by itself.
      if (!this.#handle.inTransaction) this.#rejectGroup(group, error);
      throw error;
    }
  }

  async #commit(group: Group, isFirst: boolean): Promise<void> {
    try {
      if (!isFirst) this.#runWithin(group, 'release member', []);
    } catch (error) {
      this.#release();
      throw error;
    }
    if (group.lost) {
      this.#release();
      throw group.lost;
    }
    await this.#waitForCommit(group);
  }

  async #rollback(group: Group, isFirst: boolean): Promise<void> {
    if (group.lost) {
      this.#release();
      return;
    }
    try {
      if (isFirst) {
        this.#group = null;
        this.#handle.run('rollback', []);
      } else {
        this.#runWithin(group, 'rollback to member', []);
        this.#runWithin(group, 'release member', []);
      }
    } catch (error) {
      this.#release();
      throw error;
    }
    if (isFirst) this.#release();
    // The work may have failed because of what earlier transactions of the group wrote. They must be committed before the caller
    // learns of the failure.
    else await this.#waitForCommit(group);
  }

  /** Releases the connection, and waits for the group's commit. */
  #waitForCommit(group: Group): Promise<void> {
    const committed = new Promise<void>((resolve, reject) => group.done.push({ resolve, reject }));
    if (this.#isFull(group)) this.#commitGroup();
    else {
      // Requests that have arrived by now are read before this callback runs, so they join the group.
      setImmediate(() => {
        if (this.#group === group && !this.#busy) this.#commitGroup();
      });
    }
    this.#release();
    return committed;
  }

  #isFull({ done, since }: Group): boolean {
    return done.length >= MAX_GROUP_SIZE || performance.now() - since > MAX_GROUP_AGE_MS;
  }

  /** Commits the open group. */
  #commitGroup(): void {
    const group = this.#group;
    if (group === null) return;
    this.#group = null;
    try {
      this.#handle.run('commit', []);
    } catch (error) {
      if (this.#handle.inTransaction) this.#handle.run('rollback', []);
      const [only, ...others] = group.done;
      // A transaction that was alone in its group gets the error itself.
      if (only && others.length === 0) only.reject(error);
      else this.#rejectGroup(group, error);
      return;
    }
    for (const { resolve } of group.done) resolve();
    this.#checkpoints.afterCommit(this.#handle);
  }

  #rejectGroup(group: Group, cause: unknown): void {
    group.lost = new DatabaseUnavailableError({ cause });
    if (this.#group === group) this.#group = null;
    for (const { reject } of group.done) reject(group.lost);
    group.done = [];
  }

  #acquire(): Promise<void> {
    if (!this.#busy) {
      this.#busy = true;
      return Promise.resolve();
    }
    const tenant = currentTenant();
    return new Promise((resolve, reject) => {
      const proceed = () => {
        clearTimeout(timer);
        resolve();
      };
      const refuse = (reason: string) => reject(new DatabaseUnavailableError({ cause: new Error(reason) }));
      const timer = setTimeout(() => {
        this.#queue.remove(tenant, proceed);
        refuse('the writing connection was not free in time');
      }, waitMsLeft(WRITER_WAIT_MS));
      if (this.#queue.push(tenant, proceed)) return;
      clearTimeout(timer);
      refuse('too many writes of the tenant wait for the writing connection');
    });
  }

  /** Hands the connection to the next waiting transaction. */
  #release(): void {
    const next = this.#queue.shift();
    this.#busy = next !== undefined;
    next?.();
  }
}

/** Retries while another process holds the lock of the file, up to a limit. The event loop is not blocked between retries. */
async function retryWhileLocked<T>(write: () => T): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return write();
    } catch (error) {
      if (!(error instanceof DatabaseUnavailableError) || !isLocked(error) || attempt === LOCK_ATTEMPTS) throw error;
      await sleep(BUSY_TIMEOUT_MS);
    }
  }
}

function isLocked({ cause }: DatabaseUnavailableError): boolean {
  return cause instanceof Error && 'code' in cause && String(cause.code).startsWith('SQLITE_BUSY');
}

type Operations = {
  run: (sql: string, parameters: readonly unknown[]) => QueryResult<never>;
  commit: () => Promise<void>;
  rollback: () => Promise<void>;
};

/** A transaction that holds the writing connection. It ends once; a rollback after that does nothing. */
class SqliteTransaction {
  readonly #operations: Operations;
  #ended = false;

  constructor(operations: Operations) {
    this.#operations = operations;
  }

  /** A statement may come after the end of the transaction, if it was started together with one that failed. */
  run(sql: string, parameters: readonly unknown[]): QueryResult<never> {
    if (this.#ended) throw new Error('the transaction has ended');
    return this.#operations.run(sql, parameters);
  }

  /** @throws {DatabaseUnavailableError} if it was rolled back instead */
  async commit(): Promise<void> {
    if (this.#ended) throw new Error('the transaction has ended');
    this.#ended = true;
    await this.#operations.commit();
  }

  async rollback(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    await this.#operations.rollback();
  }
}

export type { SqliteTransaction };
