import type { CompiledQuery, DatabaseConnection, Driver, QueryResult, TransactionSettings } from 'kysely';
import { DatabaseError, type Pool, type PoolClient } from 'pg';
import {
  CommitOutcomeUnknownError,
  DatabaseUnavailableError,
  DatabaseUnfitError,
  DuplicateKeyError,
  SerializationFailureError,
  WriteGateClosedError,
} from '../errors.ts';
import { currentTenant, holdsGate, usesReservedConnection } from '../tenant-context.ts';
import { ConnectionSlots } from './connection-slots.ts';
import { enterGate } from './postgres-write-gate.ts';
import { StatementNames } from './statement-names.ts';

/** How long a statement may take, in milliseconds. */
export const STATEMENT_TIMEOUT_MS = 30_000;

/**
 * After how long a server that says nothing is given up, in milliseconds: it ends statements itself before that. A
 * machine that is gone sends nothing, and the operating system would wait for it for a quarter of an hour.
 */
const SILENCE_MS = STATEMENT_TIMEOUT_MS + 5000;

const DUPLICATE = '23505';

/** A serialization failure, a deadlock: the transaction was undone because of others, and may be tried again. */
const UNDONE = /^(40001|40P01)$/;

/**
 * The routine that says a row does not belong into its partition: it waited for the one that takes the rest while its own
 * day was attached. The next try finds that day.
 */
const LATE_PARTITION = 'ExecPartitionCheckEmitError';

/** Connections (08), resources such as disk and connections (53), a time-out (57014), a lock not had (55P03). */
const BUSY = /^(08...|53...|57014|55P03)$/;

/** The server shuts down or starts (57P), or only reads any more (25006): another one may have taken its place. */
const AWAY = /^(57P0.|25006|25P03)$/;

/** The role may not do that (42501), or there is no schema that it could do it in (3F000). */
const FORBIDDEN = /^(42501|3F000)$/;

/** The statements of the repositories. Others, such as those of migrations, take as long as they take. */
const TIMED = /^(Select|Insert|Update|Delete)QueryNode$/;

/** How a pool is opened, and how long a statement waits for one of its connections, in milliseconds. */
export type DriverOptions = { open: (size: number) => Pool; poolSize: number; waitMs: number };

/**
 * A pool of connections, one of which serves a statement or a transaction; and one connection beside it for readiness
 * checks, which is opened when it is first needed.
 */
export class PostgresDriver implements Driver {
  readonly #options: DriverOptions;
  readonly #names = new StatementNames();
  readonly #slots: ConnectionSlots;
  #pool: Pool | undefined;
  #reserved: Pool | undefined;

  constructor(options: DriverOptions) {
    this.#options = options;
    this.#slots = new ConnectionSlots({ slots: options.poolSize, waitMs: options.waitMs });
  }

  async init(): Promise<void> {
    this.#pool = this.#options.open(this.#options.poolSize);
    this.#reserved = this.#options.open(1);
  }

  async acquireConnection(): Promise<PostgresConnection> {
    const pool = usesReservedConnection() ? this.#reserved : this.#pool;
    if (!pool) throw new Error('the database is not open');
    const giveBack = pool === this.#pool ? await this.#slots.acquire(currentTenant()) : () => {};
    try {
      return new PostgresConnection(await pool.connect(), this.#names, giveBack);
    } catch (error) {
      giveBack();
      throw new DatabaseUnavailableError({ cause: error });
    }
  }

  async beginTransaction(connection: PostgresConnection, settings: TransactionSettings): Promise<void> {
    await connection.begin(settings);
  }

  async commitTransaction(connection: PostgresConnection): Promise<void> {
    await connection.commit();
  }

  async rollbackTransaction(connection: PostgresConnection): Promise<void> {
    await connection.rollback();
  }

  async releaseConnection(connection: PostgresConnection): Promise<void> {
    connection.release();
  }

  async destroy(): Promise<void> {
    await Promise.all([this.#pool?.end(), this.#reserved?.end()]);
  }
}

/** A connection for the time of one statement, or of one transaction. */
class PostgresConnection implements DatabaseConnection {
  readonly #client: PoolClient;
  readonly #names: StatementNames;
  #inTransaction = false;
  /** What undid the transaction: the server answers everything after it with that it is aborted. */
  #failure: unknown;
  /** Not to be used again. */
  #broken = false;
  readonly #giveBack: () => void;

  constructor(client: PoolClient, names: StatementNames, giveBack: () => void) {
    this.#client = client;
    this.#names = names;
    this.#giveBack = giveBack;
  }

  async executeQuery<R>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<R>> {
    const values = parameters.map(bindable);
    const timed = TIMED.test(query.kind);
    const name = timed ? this.#names.nameOf(sql, values.length) : undefined;
    const asked = { text: sql, values };
    try {
      const named = name === undefined ? asked : { ...asked, name };
      const answer = this.#ask(timed, () => this.#client.query(named));
      const { command, rowCount, rows } = await answer.catch((error: unknown) => {
        if (this.#inTransaction || !isStale(error)) throw error;
        return this.#ask(timed, () => this.#client.query(asked));
      });
      const writes = command === 'INSERT' || command === 'UPDATE' || command === 'DELETE';
      return { rows: rows as R[], ...(writes && { numAffectedRows: BigInt(rowCount ?? 0) }) };
    } catch (error) {
      const translated = this.#translated(error);
      if (this.#inTransaction) this.#failure ??= translated;
      // Outside of a transaction each statement is one: it may have been done.
      else if (this.#broken && query.kind !== 'SelectQueryNode') throw new CommitOutcomeUnknownError({ cause: error });
      throw translated;
    }
  }

  /** No statement is held open across awaits, on either dialect. */
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('page through the rows instead of streaming them');
  }

  /**
   * In serializable transactions small tables are not read whole: that would mark them as read whole, and every insert
   * of another transaction as a conflict.
   */
  async begin({ isolationLevel }: TransactionSettings): Promise<void> {
    const serializable = isolationLevel === 'serializable';
    const isGated = serializable && !holdsGate();
    const settings = isGated ? beginGated(currentTenant()) : 'set local enable_seqscan = off';
    const text = serializable
      ? `begin isolation level serializable; ${settings}`
      : `begin isolation level ${isolationLevel ?? 'read committed'}`;
    try {
      const answer: unknown = await this.#ask(true, () => this.#client.query(text));
      this.#inTransaction = true;
      if (!isGated || hasEntered(answer)) return;
    } catch (error) {
      throw this.#translated(error);
    }
    await this.rollback();
    throw new WriteGateClosedError();
  }

  async commit(): Promise<void> {
    // The server would answer COMMIT with ROLLBACK, and no error. Whoever survived a failed statement did not.
    if (this.#failure !== undefined) throw this.#failure;
    try {
      await this.#ask(true, () => this.#client.query('commit'));
      this.#inTransaction = false;
    } catch (error) {
      const translated = this.#translated(error);
      this.#inTransaction = !this.#broken;
      if (this.#broken) throw new CommitOutcomeUnknownError({ cause: error });
      throw translated;
    }
  }

  /** Never fails: where the server cannot be told, the end of the connection tells it. */
  async rollback(): Promise<void> {
    if (this.#inTransaction && !this.#broken) {
      try {
        await this.#ask(true, () => this.#client.query('rollback'));
      } catch {
        this.#broken = true;
      }
    }
    this.#inTransaction = false;
    this.#failure = undefined;
  }

  release(): void {
    this.#client.release(this.#broken || this.#inTransaction);
    this.#giveBack();
  }

  /** Asks the server, and ends the connection where it stays silent. */
  async #ask<T>(timed: boolean, question: () => Promise<T>): Promise<T> {
    if (!timed) return question();
    const timer = setTimeout(() => streamOf(this.#client).destroy(), SILENCE_MS);
    try {
      return await question();
    } finally {
      clearTimeout(timer);
    }
  }

  #translated(error: unknown): unknown {
    if (!(error instanceof DatabaseError)) {
      if (error instanceof RangeError || error instanceof TypeError) return error;
      // Nothing else comes from pg but what befalls the connection.
      this.#broken = true;
      return new DatabaseUnavailableError({ cause: error });
    }
    const code = error.code ?? '';
    if (error.severity === 'FATAL' || error.severity === 'PANIC' || AWAY.test(code)) this.#broken = true;
    if (isStale(error)) {
      // The next connection has made no plans yet, and so has the next try.
      this.#broken = true;
      return new SerializationFailureError({ cause: error });
    }
    if (code === DUPLICATE) return new DuplicateKeyError({ cause: error });
    if (UNDONE.test(code) || isLatePartition(error)) return new SerializationFailureError({ cause: error });
    if (this.#broken || BUSY.test(code)) return new DatabaseUnavailableError({ cause: error });
    if (FORBIDDEN.test(code)) return new DatabaseUnfitError(`forbids it: ${error.message}`, { cause: error });
    return error;
  }
}

/**
 * Whether a statement was refused because of the plan that the connection kept for it: the table has changed since, by a
 * newer release that migrates while this one still serves, or a proxy has forgotten it. It did nothing.
 */
function isStale(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  return error.code === '26000' || (error.code === '0A000' && /cached plan/.test(error.message));
}

/** One statement for both: the gate costs a transaction neither a round trip nor a statement of its own. */
function beginGated(caller: string | null): string {
  return `select set_config('enable_seqscan', 'off', true), ${enterGate(caller)} as entered`;
}

/** What the last of several statements answered; pg's types know of one. */
function hasEntered(answers: unknown): boolean {
  const last = Array.isArray(answers) ? (answers.at(-1) as { rows: { entered: boolean }[] } | undefined) : undefined;
  return last?.rows[0]?.entered === true;
}

/** The types of pg say nothing of it; its own pool ends connections that take too long to open by it. */
function streamOf(client: PoolClient): { destroy: () => void } {
  return (client as unknown as { connection: { stream: { destroy: () => void } } }).connection.stream;
}

/** What both dialects bind; anything else would be stored in another form here than there. */
function bindable(value: unknown): unknown {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint')
    return value;
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`${value === undefined ? 'undefined' : typeof value} cannot be bound to a query`);
}

function isLatePartition(error: unknown): boolean {
  return error instanceof Error && 'routine' in error && error.routine === LATE_PARTITION;
}
