import { createHash } from 'node:crypto';

/** Statements that get a name: each connection keeps the plan of each. */
const NAMED = 500;

/** Statements that are counted until then. Those that differ by the length of a list would be ever new ones. */
const COUNTED = 2000;

/** From which use on. What is asked once or twice is not worth keeping. */
const USES = 3;

/** Bulk inserts and long lists take their time anyway, and are seldom as long twice. */
const MOST_PARAMETERS = 64;

/**
 * Names for statements that are used again and again: the server parses and plans those once for each connection, which
 * takes longer than most of them run.
 */
export class StatementNames {
  readonly #names = new Map<string, string>();
  readonly #uses = new Map<string, number>();

  /** Undefined for a statement that gets none, or not yet. */
  nameOf(sql: string, parameters: number): string | undefined {
    const name = this.#names.get(sql);
    if (name !== undefined || parameters > MOST_PARAMETERS || this.#names.size >= NAMED) return name;
    const uses = (this.#uses.get(sql) ?? 0) + 1;
    if (uses < USES) {
      if (this.#uses.size >= COUNTED) this.#uses.clear();
      this.#uses.set(sql, uses);
      return undefined;
    }
    this.#uses.delete(sql);
    // The same in every process, for whoever looks at the server's statistics.
    const digest = `qm_${createHash('sha256').update(sql).digest('hex').slice(0, 32)}`;
    this.#names.set(sql, digest);
    return digest;
  }
}
