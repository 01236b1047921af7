import { setTimeout as sleep } from 'node:timers/promises';
import { type Answered, StatusError } from '../connection.ts';

/** How long a writer waits after 429, so that its waiting requests get their turn. */
const RETRY_MS = 100;

/** The state of a record after a write; null: deleted. */
type Effect = { record: string; state: string | null };

/** One write: its operation in the audit, and its effects. */
export type Write = { operation: string; effects: readonly Effect[] };

/** What the writer knows about one of its records. */
export type Entry = {
  /** The state after the last acknowledged write; null: not created yet, or deleted. */
  state: string | null;
  /** The record's id in the service, once an answer contained it. */
  id: string | null;
  /** The acknowledged operations in order. */
  operations: string[];
};

/**
 * What the writers of one loop sent, and what was acknowledged. A write without an answer is in doubt: all of it happened, or
 * nothing.
 */
export class Ledger {
  readonly tenantId: string;
  readonly entries = new Map<string, Entry>();
  readonly inDoubt = new Set<Write>();
  /** Acknowledged writes so far. */
  acknowledged = 0;
  /** Answers of 429 and 503 before the kill. */
  refused = 0;
  /** Whether the service or the database was killed. From then on answers may be missing. */
  killed = false;
  readonly #onAcknowledged: (ledger: Ledger) => void;

  constructor(tenantId: string, onAcknowledged: (ledger: Ledger) => void) {
    this.tenantId = tenantId;
    this.#onAcknowledged = onAcknowledged;
  }

  /**
   * Sends a write until it is no longer refused. A write that was refused did not happen, and can be sent again: because of
   * conflicting transactions, or because too many requests of the tenant were waiting on a busy machine.
   *
   * @throws if it is not acknowledged
   */
  async accepted(operation: string, send: () => Promise<Answered>): Promise<Answered['body']> {
    let { status, body } = await send();
    while (isRefused(status) && !this.killed) {
      this.refused += 1;
      if (status === 429) await sleep(RETRY_MS);
      ({ status, body } = await send());
    }
    if (status !== 200) throw new StatusError(`${operation} was answered ${status}: ${JSON.stringify(body)}`, status);
    return body;
  }

  /**
   * Sends a write, and enters it into the ledger once it is acknowledged.
   *
   * @throws if it is not acknowledged; then it stays in doubt
   */
  async write(write: Write, send: () => Promise<Answered>): Promise<Answered['body']> {
    this.inDoubt.add(write);
    const body = await this.accepted(write.operation, send);
    this.inDoubt.delete(write);
    for (const { record, state } of write.effects) {
      const entry = this.entries.get(record) ?? { state: null, id: null, operations: [] };
      entry.state = state;
      entry.operations.push(write.operation);
      this.entries.set(record, entry);
    }
    this.acknowledged += 1;
    this.#onAcknowledged(this);
    return body;
  }

  /** Notes the id that an answer gave to a record. */
  named(record: string, id: string): void {
    const entry = this.entries.get(record);
    if (entry) entry.id = id;
  }
}

/** Whether an answer of this status says that nothing was done, and that the request can be sent again. */
export function isRefused(status: number): boolean {
  return status === 429 || status === 503;
}
