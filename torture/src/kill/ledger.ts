import { type Answered, StatusError } from '../connection.ts';

/** What a write leaves a record as. A null state: gone. */
type Effect = { record: string; state: string | null };

/** One write of a tenant's administration: what it is called in the audit, and what it leaves. */
export type Write = { operation: string; effects: readonly Effect[] };

/** What is known of a record, by the name that the writer gave it. */
export type Entry = {
  /** What the last acknowledged write left. Null: nothing was made of it yet, or it is gone. */
  state: string | null;
  /** Our id, as soon as an answer told it. */
  id: string | null;
  /** The operations that were acknowledged, in their order. */
  operations: string[];
};

/**
 * What one loop's writers sent, and what of it was acknowledged. A write whose answer never came is in doubt: all of it
 * happened, or nothing.
 */
export class Ledger {
  readonly tenantId: string;
  readonly entries = new Map<string, Entry>();
  readonly inDoubt = new Set<Write>();
  /** Acknowledged writes so far. */
  acknowledged = 0;
  /** Answers of 503 before the kill. */
  refused = 0;
  /** Whether what is tortured was killed: from then on answers may stay out. */
  killed = false;
  readonly #onAcknowledged: (ledger: Ledger) => void;

  constructor(tenantId: string, onAcknowledged: (ledger: Ledger) => void) {
    this.tenantId = tenantId;
    this.#onAcknowledged = onAcknowledged;
  }

  /**
   * Sends a write, and enters it once it is acknowledged.
   *
   * @throws where it is not: what was sent stays in doubt
   */
  async write(write: Write, send: () => Promise<Answered>): Promise<Answered['body']> {
    this.inDoubt.add(write);
    let { status, body } = await send();
    // What was refused so did not happen, and may be asked again: transactions that went on getting in each other's way.
    while (status === 503 && !this.killed) {
      this.refused += 1;
      ({ status, body } = await send());
    }
    if (status !== 200)
      throw new StatusError(`${write.operation} was answered ${status}: ${JSON.stringify(body)}`, status);
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
