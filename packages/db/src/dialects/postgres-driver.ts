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
import { currentTenant, isGateHolder, usesReservedConnection } from '../tenant-context.ts';
import { isYieldDue, yieldWhenDue } from '../turns.ts';
import { ConnectionSlots } from './connection-slots.ts';
import { enterGateSql } from './postgres-write-gate.ts';
import { StatementNames } from './statement-names.ts';

/** The time limit of a statement, in milliseconds. */
export const STATEMENT_TIMEOUT_MS = 30_000;

/**
 * After how long a silent server counts as lost, in milliseconds. The server itself ends statements before that. If its machine
 * is gone, the operating system would wait for a quarter of an hour.
 */
const SILENCE_MS = STATEMENT_TIMEOUT_MS + 5000;

const DUPLICATE = '23505';

/** A serialization failure or a deadlock: the transaction was rolled back because of others, and may be retried. */
const SERIALIZATION_FAILURE = /^(40001|40P01)$/;

/**
 * The `routine` of the error for a row that does not belong in its partition. An insert gets it if it waited for the default
 * partition while the partition of the row's day was attached. The next attempt finds the new partition.
 */
const LATE_PARTITION = 'ExecPartitionCheckEmitError';

/** Connection failures (08), insufficient resources (53), a timeout (57014), a lock that was not available (55P03). */
const BUSY = /^(08...|53...|57014|55P03)$/;

/** The server shuts down or starts (57P), ended an idle transaction (25P03), or is read-only (25006) after a failover. */
const AWAY = /^(57P0.|25006|25P03)$/;

/** The role lacks a permission (42501), or no schema is selected (3F000). */
const FORBIDDEN = /^(42501|3F000)$/;

/** Statements of repositories have a time limit. Others, such as those of migrations, do not. */
const TIMED = /^(Select|Insert|Update|Delete)QueryNode$/;

/** How to open a pool, and how long a statement waits for one of its connections, in milliseconds. */
export type DriverOptions = { open: (size: number) => Pool; poolSize: number; waitMs: number };

/**
 * A pool of connections for statements and transactions, and one more connection for readiness checks. Connections are opened
 * when they are first needed.
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
    const releaseSlot = pool === this.#pool ? await this.#slots.acquire(currentTenant()) : () => {};
    try {
      return new PostgresConnection(await pool.connect(), this.#names, releaseSlot);
    } catch (error) {
      releaseSlot();
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

/**
 * A statement that is sent together with others of its transaction (pipelining). Kysely passes the next statement of a
 * transaction to the driver only after the driver has returned. So the driver returns at once, and the result contains a
 * promise of the answer.
 */
export type PipelinedQuery<Row = unknown> = CompiledQuery<Row> & { isPipelined?: boolean };
export type PipelinedResult<Row> = QueryResult<Row> & { answer?: Promise<QueryResult<Row>> };

/** A transaction, and the error that aborted it. The server rejects every later statement of it. */
type OpenTransaction = { failure?: unknown };

/** Stands for a transaction while the server ends it. No statement of it is sent then. */
const ENDING: OpenTransaction = Object.freeze({});

/** A connection during one statement or one transaction. */
class PostgresConnection implements DatabaseConnection {
  readonly #client: PoolClient;
  readonly #names: StatementNames;
  #transaction: OpenTransaction | null = null;
  #isReleased = false;
  /** How many requests the server has not answered, and the timer that ends the connection if it stays silent. */
  #unanswered = 0;
  #silence: NodeJS.Timeout | undefined;
  /** Whether the connection must not be reused. */
  #broken = false;
  readonly #releaseSlot: () => void;

  constructor(client: PoolClient, names: StatementNames, releaseSlot: () => void) {
    this.#client = client;
    this.#names = names;
    this.#releaseSlot = releaseSlot;
  }

  async executeQuery<R>(statement: PipelinedQuery): Promise<PipelinedResult<R>> {
    const transaction = this.#transaction;
    if (isYieldDue()) await yieldWhenDue();
    // Another statement of this transaction may have failed in the meantime, if several were started together.
    if (transaction?.failure !== undefined) throw transaction.failure;
    const { isPipelined = false } = statement;
    const isOver = transaction === ENDING || transaction !== this.#transaction || this.#isReleased;
    if (isOver || (isPipelined && transaction === null)) throw new Error('the transaction has ended');
    const answer = this.#execute<R>(statement, transaction);
    return isPipelined ? { rows: [], answer } : answer;
  }

  async #execute<R>(
    { sql, parameters, query }: CompiledQuery,
    transaction: OpenTransaction | null,
  ): Promise<QueryResult<R>> {
    const values = parameters.map(bindable);
    const timed = TIMED.test(query.kind);
    const name = timed ? this.#names.nameOf(sql, values.length) : undefined;
    const unnamed = { text: sql, values };
    try {
      const named = name === undefined ? unnamed : { ...unnamed, name };
      const answer = this.#send(timed, () => this.#client.query(named));
      const { command, rowCount, rows } = await answer.catch((error: unknown) => {
        if (transaction !== null || !isStale(error)) throw error;
        return this.#send(timed, () => this.#client.query(unnamed));
      });
      const writes = command === 'INSERT' || command === 'UPDATE' || command === 'DELETE';
      return { rows: rows as R[], ...(writes && { numAffectedRows: BigInt(rowCount ?? 0) }) };
    } catch (error) {
      // This statement was sent before it was known that an earlier one had failed. Its plan is missing if the failed statement
      // was to prepare it, so the error to report is the earlier one.
      const { failure } = transaction ?? {};
      if (failure !== undefined && isStale(error)) throw failure;
      const translated = this.#translate(error);
      if (failure !== undefined) throw failure;
      if (transaction !== null) transaction.failure = translated;
      // Outside of a transaction each statement commits by itself, so it may have been executed.
      else if (this.#broken && query.kind !== 'SelectQueryNode') throw new CommitOutcomeUnknownError({ cause: error });
      throw translated;
    }
  }

  /** Neither dialect holds a statement open across awaits. */
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('page through the rows instead of streaming them');
  }

  /**
   * In serializable transactions, small tables are not read by sequential scans. Such a scan locks the whole table for predicate
   * checks, and every concurrent insert would be a conflict.
   */
  async begin({ isolationLevel }: TransactionSettings): Promise<void> {
    const serializable = isolationLevel === 'serializable';
    const isGated = serializable && !isGateHolder();
    const settings = isGated ? beginGated(currentTenant()) : 'set local enable_seqscan = off';
    const text = serializable
      ? `begin isolation level serializable; ${settings}`
      : `begin isolation level ${isolationLevel ?? 'read committed'}`;
    try {
      const answer: unknown = await this.#send(true, () => this.#client.query(text));
      this.#transaction = {};
      if (!isGated || hasEntered(answer)) return;
    } catch (error) {
      throw this.#translate(error);
    }
    await this.rollback();
    throw new WriteGateClosedError();
  }

  async commit(): Promise<void> {
    // After a failed statement the server would answer COMMIT with ROLLBACK, but without an error.
    if (this.#transaction?.failure !== undefined) throw this.#transaction.failure;
    this.#transaction = ENDING;
    try {
      await this.#send(true, () => this.#client.query('commit'));
      this.#transaction = null;
    } catch (error) {
      const translated = this.#translate(error);
      if (!this.#broken) throw translated;
      this.#transaction = null;
      throw new CommitOutcomeUnknownError({ cause: error });
    }
  }

  /** Never fails. If the server cannot be reached, closing the connection rolls back. */
  async rollback(): Promise<void> {
    const isOpen = this.#transaction !== null && !this.#broken;
    // Set before the server answers, so that no statement is sent after the rollback.
    this.#transaction = ENDING;
    if (isOpen) {
      try {
        await this.#send(true, () => this.#client.query('rollback'));
      } catch {
        this.#broken = true;
      }
    }
    this.#transaction = null;
  }

  release(): void {
    this.#isReleased = true;
    this.#client.release(this.#broken || this.#transaction !== null);
    this.#releaseSlot();
  }

  /** Sends a request to the server, and closes the connection if the server stays silent. */
  async #send<T>(timed: boolean, request: () => Promise<T>): Promise<T> {
    if (!timed) return request();
    this.#unanswered += 1;
    this.#silence ??= setTimeout(() => streamOf(this.#client).destroy(), SILENCE_MS);
    try {
      return await request();
    } finally {
      this.#unanswered -= 1;
      if (this.#unanswered > 0) this.#silence.refresh();
      else {
        clearTimeout(this.#silence);
        this.#silence = undefined;
      }
    }
  }

  #translate(error: unknown): unknown {
    if (!(error instanceof DatabaseError)) {
      if (error instanceof RangeError || error instanceof TypeError) return error;
      // All other errors of pg are failures of the connection.
      this.#broken = true;
      return new DatabaseUnavailableError({ cause: error });
    }
    const code = error.code ?? '';
    if (error.severity === 'FATAL' || error.severity === 'PANIC' || AWAY.test(code)) this.#broken = true;
    if (isStale(error)) {
      // The next attempt uses another connection, which has no cached plan.
      this.#broken = true;
      return new SerializationFailureError({ cause: error });
    }
    if (code === DUPLICATE) return new DuplicateKeyError({ cause: error });
    if (SERIALIZATION_FAILURE.test(code) || isLatePartition(error))
      return new SerializationFailureError({ cause: error });
    if (this.#broken || BUSY.test(code)) return new DatabaseUnavailableError({ cause: error });
    if (FORBIDDEN.test(code)) return new DatabaseUnfitError(`forbids it: ${error.message}`, { cause: error });
    return error;
  }
}

/**
 * Whether a statement was refused because its prepared plan is stale. Either a newer release has migrated the table while this
 * one still runs, or a pooler has dropped the prepared statement. The statement was not executed.
 */
function isStale(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  return error.code === '26000' || (error.code === '0A000' && /cached plan/.test(error.message));
}

/** Sets the planner option and enters the gate in one statement, so that the gate costs no extra round trip. */
function beginGated(caller: string | null): string {
  return `select set_config('enable_seqscan', 'off', true), ${enterGateSql(caller)} as entered`;
}

/** Whether the last of several statements entered the gate. The types of pg only know results of one statement. */
function hasEntered(answers: unknown): boolean {
  const last = Array.isArray(answers) ? (answers.at(-1) as { rows: { entered: boolean }[] } | undefined) : undefined;
  return last?.rows[0]?.entered === true;
}

/** The socket of a connection. It is missing in the types of pg, whose own pool uses it to end slow connection attempts. */
function streamOf(client: PoolClient): { destroy: () => void } {
  return (client as unknown as { connection: { stream: { destroy: () => void } } }).connection.stream;
}

/** Allows only values that both dialects store in the same form. */
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
