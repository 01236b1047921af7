import { setTimeout as sleep } from 'node:timers/promises';
import type { IsolationLevel } from 'kysely';
import type { Database } from './database.ts';
import { isPostgres } from './dialects/postgres.ts';
import { withTenantTurn } from './dialects/postgres-tenant-turn.ts';
import { withGateClosed } from './dialects/postgres-write-gate.ts';
import { DuplicateKeyError, SerializationFailureError, WriteGateClosedError } from './errors.ts';
import { oneAtATime } from './one-at-a-time.ts';
import { currentTenant, tenantOfKey } from './tenant-context.ts';

/** How often work is tried, and for how long, in milliseconds, a further try is begun. */
const ATTEMPTS = 20;
const RETRYING_MS = 8000;

/** The longest pause before the second try, and before any, in milliseconds. */
const FIRST_PAUSE_MS = 8;
const LONGEST_PAUSE_MS = 400;

/**
 * Of two transactions that meet, the longer one is undone. After this many failed tries it closes the tenant's write gate;
 * tries that took longer than {@link SLOW_MS} count as three.
 */
const TRIES_BEFORE_GATE = 9;
const SLOW_MS = 50;

/** Tries with the gate closed. Only what passes through no gate can still come in between. */
const ATTEMPTS_ALONE = 3;

/** How long work waits for a gate that another one has closed, and how often it looks, in milliseconds. */
const GATE_WAIT_MS = 20_000;
const GATE_LOOK_MS = 50;

/**
 * Runs work in a transaction: all of it, or nothing. Within a transaction it becomes part of that one, so that a whole
 * operation can be made one with what surrounds it.
 *
 * What the work reads has not changed when it commits, as if one transaction ran after the other. On SQLite that is so;
 * on Postgres they run side by side, SERIALIZABLE, and the work is done anew where another came in between. So it has
 * to be repeatable: it changes nothing but the database, and lets errors of the database pass. Work that always loses is
 * done with the write gate of its tenant closed, where it is of one: see {@link staysWithin}.
 *
 * Transactions of one tenant that get in each other's way take turns, across processes: a second try waits for the tenant's
 * turn, see {@link withTenantTurn}.
 *
 * @param options.turnOf the tenant whose turn the first try waits for as well: for work that would almost always fail beside
 *   other work of the same kind
 * @throws {DatabaseUnavailableError} where others came in between each time, or the turn did not come in time
 * @throws {CommitOutcomeUnknownError} where the connection was lost at the end: never tried again here
 */
export async function inTransaction<T>(
  db: Database,
  work: (trx: Database) => Promise<T>,
  { turnOf = null }: { turnOf?: string | null } = {},
): Promise<T> {
  if (db.isTransaction) return work(db);
  const lastStart = performance.now() + RETRYING_MS;
  const state = { tenantId: null as string | null };
  let duplicates = 0;
  let failures = 0;
  for (let attempt = 1; ; attempt += 1) {
    const started = performance.now();
    try {
      const turn = turnOf ?? (attempt === 1 ? null : (state.tenantId ?? tenantOfKey(currentTenant())));
      return await inTenantTurn(db, turn, (connection) => attempted(connection, work, state));
    } catch (error) {
      if (error instanceof DuplicateKeyError) duplicates += 1;
      // A key may be taken by who came in between, where the work looked before and found it free. It looks again, once.
      const raced = error instanceof DuplicateKeyError && duplicates === 1 && isPostgres(db);
      if (!raced && !(error instanceof SerializationFailureError)) throw error;
      failures += performance.now() - started > SLOW_MS ? 3 : 1;
      const { tenantId } = state;
      if (failures >= TRIES_BEFORE_GATE && tenantId !== null && isPostgres(db)) return alone(db, work, tenantId);
      if (attempt === ATTEMPTS || performance.now() > lastStart) throw error;
      await sleep(Math.random() * Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS));
    }
  }
}

/** Within one process waiting takes no connection; between processes it takes one. */
function inTenantTurn<T>(db: Database, tenantId: string | null, work: (db: Database) => Promise<T>): Promise<T> {
  if (tenantId === null || !isPostgres(db)) return work(db);
  return oneAtATime(db, `turn of ${tenantId}`, () => withTenantTurn(db, tenantId, work));
}

/** The tenant whose records alone a transaction reads and changes, where it said so. */
const confined = new WeakMap<Database, { tenantId: string | null }>();

/**
 * Says that a transaction reads and changes the records of one tenant alone, so that the other writes of that tenant may
 * wait for it if it fails again and again. To be called before it reads much.
 */
export function staysWithin(trx: Database, tenantId: string): void {
  const state = confined.get(trx);
  if (state) state.tenantId = tenantId;
}

/**
 * Runs work while all writes wait that could change what it reads. So it needs no protection from them: in a serializable
 * transaction it would still be undone for those of other tenants, because Postgres remembers what long ones read by the
 * page and by the table.
 */
async function alone<T>(db: Database, work: (trx: Database) => Promise<T>, tenantId: string): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await withGateClosed(db, tenantId, (connection) =>
        once(connection, work, { isolation: 'repeatable read' }),
      );
    } catch (error) {
      if (!(error instanceof SerializationFailureError) || attempt === ATTEMPTS_ALONE) throw error;
    }
  }
}

/** What waits for the end of transactions that are open. */
const waiting = new WeakMap<Database, (() => void)[]>();

/**
 * Has something done when the transaction has ended, whether it was committed or not: what is kept of the database in
 * memory changes no earlier. At once where there is no transaction.
 */
export function whenEnded(db: Database, then: () => void): void {
  if (!db.isTransaction) then();
  else waiting.set(db, [...(waiting.get(db) ?? []), then]);
}

/** One try, begun when the gate is open. No connection is held while it is not. */
async function attempted<T>(
  db: Database,
  work: (trx: Database) => Promise<T>,
  state: { tenantId: string | null },
): Promise<T> {
  const lastLook = performance.now() + GATE_WAIT_MS;
  for (;;) {
    try {
      return await once(db, work, { isolation: 'serializable', state });
    } catch (error) {
      if (!(error instanceof WriteGateClosedError) || performance.now() > lastLook) throw error;
      await sleep(GATE_LOOK_MS * (0.5 + Math.random()));
    }
  }
}

/** @param state hears where the transaction stays within, also where it fails */
async function once<T>(
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
        if (state) confined.set(trx, state);
        return work(trx);
      });
  } finally {
    for (const then of (opened && waiting.get(opened)) ?? []) then();
  }
}
