import { setTimeout as sleep } from 'node:timers/promises';
import { type IsolationLevel, sql } from 'kysely';
import type { Database } from './database.ts';
import { isPostgres } from './dialects/postgres.ts';
import { withTenantLock } from './dialects/postgres-tenant-lock.ts';
import { withGateClosed } from './dialects/postgres-write-gate.ts';
import { DuplicateKeyError, SerializationFailureError, WriteGateClosedError } from './errors.ts';
import { withMutex } from './mutex.ts';
import { currentTenant, runAsWriter, tenantOfKey } from './tenant-context.ts';

/** The most attempts, and for how long new attempts are started, in milliseconds. */
const ATTEMPTS = 20;
const RETRY_MS = 8000;

/** Exponential backoff with jitter: the longest pause before the second attempt, and before any later one, in milliseconds. */
const FIRST_BACKOFF_MS = 8;
const MAX_BACKOFF_MS = 400;

/**
 * When two transactions conflict, the longer one tends to be rolled back. After this many failures it closes the tenant's write
 * gate. An attempt that took longer than {@link SLOW_MS} counts as three.
 */
const FAILURES_BEFORE_GATE = 9;
const SLOW_MS = 50;

/** Attempts with the gate closed. Only statements that enter no gate can still conflict. */
const ATTEMPTS_WITH_GATE_CLOSED = 3;

/** How long work waits for a closed gate, and how often it polls, in milliseconds. */
const GATE_WAIT_MS = 20_000;
const GATE_POLL_MS = 50;

/**
 * Runs work in a transaction. Inside of another transaction, the work becomes part of that one.
 *
 * Transactions are serializable. SQLite runs them one after the other. Postgres runs them concurrently, and the work is
 * repeated after a serialization failure. So the work must be repeatable: it changes nothing but the database, and does not
 * catch errors of the database. If work of one tenant fails again and again, it runs with the tenant's write gate closed: see
 * {@link confineToTenant}.
 *
 * From the second attempt on, the work holds its tenant's lock, so that conflicting transactions of one tenant run one after
 * the other, also across processes: see {@link withTenantLock}.
 *
 * @param options.lockTenant a tenant whose lock the first attempt takes as well. For work that would almost always conflict with
 *   other work of its kind.
 * @throws {DatabaseUnavailableError} if every attempt failed because of concurrent transactions, or the lock was not free in time
 * @throws {CommitOutcomeUnknownError} if the connection was lost during the commit. The work is not repeated.
 */
export async function inTransaction<T>(
  db: Database,
  work: (trx: Database) => Promise<T>,
  { lockTenant = null }: { lockTenant?: string | null } = {},
): Promise<T> {
  if (db.isTransaction) return work(db);
  const lastStart = performance.now() + RETRY_MS;
  const state = { tenantId: null as string | null };
  let duplicates = 0;
  let failures = 0;
  for (let attempt = 1; ; attempt += 1) {
    const started = performance.now();
    try {
      const locked = lockTenant ?? (attempt === 1 ? null : (state.tenantId ?? tenantOfKey(currentTenant())));
      return await withOptionalLock(db, locked, (connection) => attemptWhenGateOpen(connection, work, state));
    } catch (error) {
      if (error instanceof DuplicateKeyError) duplicates += 1;
      // A concurrent transaction may have inserted a key that the work had found free. The work is repeated once.
      const raced = error instanceof DuplicateKeyError && duplicates === 1 && isPostgres(db);
      if (!raced && !(error instanceof SerializationFailureError)) throw error;
      failures += performance.now() - started > SLOW_MS ? 3 : 1;
      const { tenantId } = state;
      if (failures >= FAILURES_BEFORE_GATE && tenantId !== null && isPostgres(db))
        return runWithGateClosed(db, work, tenantId);
      if (attempt === ATTEMPTS || performance.now() > lastStart) throw error;
      await sleep(Math.random() * Math.min(FIRST_BACKOFF_MS * 2 ** (attempt - 1), MAX_BACKOFF_MS));
    }
  }
}

/** Thrown at the end of {@link inRolledBackTransaction}. */
class RolledBack<T> extends Error {
  readonly result: T;

  constructor(result: T) {
    super('the transaction is rolled back');
    this.result = result;
  }
}

/**
 * Runs work like {@link inTransaction}, returns its result, and undoes everything that it wrote. Inside of another transaction a
 * savepoint undoes the work alone, because the other transaction commits.
 */
export async function inRolledBackTransaction<T>(db: Database, work: (trx: Database) => Promise<T>): Promise<T> {
  if (db.isTransaction) {
    await sql`savepoint rolled_back`.execute(db);
    const result = await work(db);
    await sql`rollback to savepoint rolled_back`.execute(db);
    await sql`release savepoint rolled_back`.execute(db);
    return result;
  }
  try {
    return await inTransaction(db, async (trx) => {
      throw new RolledBack(await work(trx));
    });
  } catch (error) {
    if (error instanceof RolledBack) return error.result;
    throw error;
  }
}

/** Takes the lock within this process first, since waiting for it takes no connection. */
function withOptionalLock<T>(db: Database, tenantId: string | null, work: (db: Database) => Promise<T>): Promise<T> {
  if (tenantId === null || !isPostgres(db)) return work(db);
  return withMutex(db, `turn of ${tenantId}`, () => withTenantLock(db, tenantId, work));
}

/** By transaction: the one tenant that it is confined to, if it called {@link confineToTenant}. */
const confinedTransactions = new WeakMap<Database, { tenantId: string | null }>();

/**
 * Declares that a transaction only reads and changes the records of one tenant. If it fails again and again, the tenant's other
 * writes then wait for it. Call it early: if the transaction fails before the call, its tenant is not known.
 */
export function confineToTenant(trx: Database, tenantId: string): void {
  const state = confinedTransactions.get(trx);
  if (state) state.tenantId = tenantId;
}

/**
 * Runs work while all writes that could change what it reads wait. So `repeatable read` is enough. A long serializable
 * transaction could still fail because of other tenants, since Postgres tracks many reads of one transaction by page or
 * table, not by row.
 */
async function runWithGateClosed<T>(db: Database, work: (trx: Database) => Promise<T>, tenantId: string): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await withGateClosed(db, tenantId, (connection) =>
        runTransaction(connection, work, { isolation: 'repeatable read' }),
      );
    } catch (error) {
      if (!(error instanceof SerializationFailureError) || attempt === ATTEMPTS_WITH_GATE_CLOSED) throw error;
    }
  }
}

/** Callbacks that run when an open transaction ends. */
const endCallbacks = new WeakMap<Database, (() => void)[]>();

/**
 * Runs a callback after a transaction has ended, whether it was committed or rolled back. Use it to change in-memory caches.
 * Without a transaction it runs at once.
 */
export function afterTransaction(db: Database, then: () => void): void {
  if (!db.isTransaction) then();
  else endCallbacks.set(db, [...(endCallbacks.get(db) ?? []), then]);
}

/** Runs one attempt when the gate is open. It holds no connection while it waits. */
async function attemptWhenGateOpen<T>(
  db: Database,
  work: (trx: Database) => Promise<T>,
  state: { tenantId: string | null },
): Promise<T> {
  const deadline = performance.now() + GATE_WAIT_MS;
  for (;;) {
    try {
      return await runTransaction(db, work, { isolation: 'serializable', state });
    } catch (error) {
      if (!(error instanceof WriteGateClosedError) || performance.now() > deadline) throw error;
      await sleep(GATE_POLL_MS * (0.5 + Math.random()));
    }
  }
}

/** @param state receives the tenant that the transaction is confined to, even if it fails */
async function runTransaction<T>(
  db: Database,
  work: (trx: Database) => Promise<T>,
  { isolation, state }: { isolation: IsolationLevel; state?: { tenantId: string | null } },
): Promise<T> {
  let opened: Database | undefined;
  try {
    return await db
      .transaction()
      .setIsolationLevel(isolation)
      .execute((trx) => {
        opened = trx;
        if (state) confinedTransactions.set(trx, state);
        return isPostgres(db) ? work(trx) : runAsWriter(() => work(trx));
      });
  } finally {
    for (const then of (opened && endCallbacks.get(opened)) ?? []) then();
  }
}
