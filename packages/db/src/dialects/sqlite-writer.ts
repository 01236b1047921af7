import { setTimeout as sleep } from 'node:timers/promises';
import type { QueryResult } from 'kysely';
import { DatabaseUnavailableError } from '../errors.ts';
import { FairQueue } from '../fair-queue.ts';
import { currentTenant } from '../tenant-context.ts';
import { BUSY_TIMEOUT_MS, type SqliteHandle } from './sqlite-handle.ts';

/** How often a write asks again for another process's lock, without blocking anyone. */
const LOCK_ATTEMPTS = 20;

/** How long a write waits for the writes of this process before it is refused, in milliseconds. */
const WRITER_WAIT_MS = 5000;

/** A group of transactions is committed when it has so many of them, or is so old, in milliseconds. */
const GROUP_MOST = 64;
const GROUP_MS = 10;

/** Writes the whole write-ahead log into the file, and truncates it. Not within a transaction. */
export const TRUNCATE_LOG = 'pragma wal_checkpoint(truncate)';

/** A transaction whose work is done, and who waits for what becomes of it. */
type Waiting = { resolve: () => void; reject: (error: unknown) => void };

/** Transactions that one BEGIN and one COMMIT surround. `lost`: SQLite has undone them all, and why. */
type Group = { since: number; done: Waiting[]; lost: DatabaseUnavailableError | null };

/**
 * The one connection that writes. Transactions have their turns at it, one after the other and in turn by tenant. Those that come within one
 * turn of the event loop are committed together, since to get a commit onto the disk takes longer than most work: each is
 * a savepoint of one SQLite transaction, and its end is told when that is on the disk, and no earlier. One that is undone
 * is undone alone. If the commit fails, all of them fail.
 */
export class SqliteWriter {
  readonly #handle: SqliteHandle;
  #busy = false;
  #group: Group | null = null;
  /** Transactions that wait for a turn. */
  readonly #queue = new FairQueue<() => void>();

  constructor(handle: SqliteHandle) {
    this.#handle = handle;
  }

  /** One statement that is a transaction of its own. */
  async run(sql: string, parameters: readonly unknown[]): Promise<QueryResult<never>> {
    await this.#turn();
    if (sql === TRUNCATE_LOG) this.#end();
    const group = this.#group;
    let result: QueryResult<never>;
    try {
      const write = () => this.#handle.run(sql, parameters);
      result = group === null ? await whenUnlocked(write) : write();
    } catch (error) {
      // A statement that failed has undone itself; some failures undo everything.
      if (group && !this.#handle.inTransaction) this.#lose(group, error);
      this.#pass();
      throw error;
    }
    if (group === null) this.#pass();
    else await this.#done(group);
    return result;
  }

  /**
   * Waits for a turn and begins a transaction.
   *
   * @throws {DatabaseUnavailableError} after {@link WRITER_WAIT_MS}, or where another process holds the lock for long
   */
  async begin(): Promise<SqliteTransaction> {
    await this.#turn();
    try {
      const isFirst = this.#group === null;
      // `immediate`: a transaction that read first and wrote later would fail with SQLITE_BUSY_SNAPSHOT.
      if (isFirst) await whenUnlocked(() => this.#handle.run('begin immediate', []));
      else this.#handle.run('savepoint member', []);
      const group = (this.#group ??= { since: performance.now(), done: [], lost: null });
      return new SqliteTransaction({
        run: (sql, parameters) => this.#runWithin(group, sql, parameters),
        commit: () => this.#commit(group, isFirst),
        rollback: () => this.#rollback(group, isFirst),
      });
    } catch (error) {
      this.#pass();
      throw error;
    }
  }

  /** Waits for who has the turn, and closes the connection. */
  async close(): Promise<void> {
    if (this.#busy) await this.#turn();
    this.#end();
    this.#handle.close();
  }

  #runWithin(group: Group, sql: string, parameters: readonly unknown[]): QueryResult<never> {
    if (group.lost) throw group.lost;
    try {
      return this.#handle.run(sql, parameters);
    } catch (error) {
      // On a full disk, for one, SQLite undoes the whole transaction by itself.
      if (!this.#handle.inTransaction) this.#lose(group, error);
      throw error;
    }
  }

  async #commit(group: Group, isFirst: boolean): Promise<void> {
    try {
      if (!isFirst) this.#runWithin(group, 'release member', []);
    } catch (error) {
      this.#pass();
      throw error;
    }
    if (group.lost) {
      this.#pass();
      throw group.lost;
    }
    await this.#done(group);
  }

  async #rollback(group: Group, isFirst: boolean): Promise<void> {
    if (group.lost) {
      this.#pass();
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
      this.#pass();
      throw error;
    }
    if (isFirst) this.#pass();
    // What it saw of the others, and was refused for, has to be true before that is told.
    else await this.#done(group);
  }

  /** Gives the turn back, and waits for the group's commit. */
  #done(group: Group): Promise<void> {
    const told = new Promise<void>((resolve, reject) => group.done.push({ resolve, reject }));
    if (group.done.length >= GROUP_MOST || performance.now() - group.since > GROUP_MS) this.#end();
    else {
      // Requests that have arrived by now are read before this comes: they are of the group.
      setImmediate(() => {
        if (this.#group === group && !this.#busy) this.#end();
      });
    }
    this.#pass();
    return told;
  }

  /** Commits the open group. */
  #end(): void {
    const group = this.#group;
    if (group === null) return;
    this.#group = null;
    try {
      this.#handle.run('commit', []);
    } catch (error) {
      if (this.#handle.inTransaction) this.#handle.run('rollback', []);
      const [only, ...others] = group.done;
      // Why a commit fails is the business of the one that was alone in it.
      if (only && others.length === 0) only.reject(error);
      else this.#lose(group, error);
      return;
    }
    for (const { resolve } of group.done) resolve();
  }

  #lose(group: Group, cause: unknown): void {
    group.lost = new DatabaseUnavailableError({ cause });
    if (this.#group === group) this.#group = null;
    for (const { reject } of group.done) reject(group.lost);
    group.done = [];
  }

  #turn(): Promise<void> {
    if (!this.#busy) {
      this.#busy = true;
      return Promise.resolve();
    }
    const tenant = currentTenant();
    return new Promise((resolve, reject) => {
      const turn = () => {
        clearTimeout(timer);
        resolve();
      };
      const refuse = (reason: string) => reject(new DatabaseUnavailableError({ cause: new Error(reason) }));
      const timer = setTimeout(() => {
        this.#queue.remove(tenant, turn);
        refuse('the writing connection was not free in time');
      }, WRITER_WAIT_MS);
      if (this.#queue.push(tenant, turn)) return;
      clearTimeout(timer);
      refuse('too many writes of the tenant wait for the writing connection');
    });
  }

  /** Gives the turn to who waits for it. */
  #pass(): void {
    const next = this.#queue.shift();
    if (next) next();
    else this.#busy = false;
  }
}

/** Does what needs the lock of the file as soon as other processes let it go; not for ever, and without blocking anyone. */
async function whenUnlocked<T>(write: () => T): Promise<T> {
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

type Steps = {
  run: (sql: string, parameters: readonly unknown[]) => QueryResult<never>;
  commit: () => Promise<void>;
  rollback: () => Promise<void>;
};

/** A transaction that has its turn. It ends once; what is asked of it after that is nothing. */
class SqliteTransaction {
  readonly #steps: Steps;
  #ended = false;

  constructor(steps: Steps) {
    this.#steps = steps;
  }

  run(sql: string, parameters: readonly unknown[]): QueryResult<never> {
    return this.#steps.run(sql, parameters);
  }

  /** @throws {DatabaseUnavailableError} where it was undone instead */
  async commit(): Promise<void> {
    if (this.#ended) throw new Error('the transaction has ended');
    this.#ended = true;
    await this.#steps.commit();
  }

  async rollback(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    await this.#steps.rollback();
  }
}

export type { SqliteTransaction };
