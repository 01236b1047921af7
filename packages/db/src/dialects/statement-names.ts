import { hash } from 'node:crypto';

/** The most named statements. Each connection keeps a plan for each of them. */
const MAX_NAMES = 500;

/** The most statements whose uses are counted. Statements with lists of varying length would otherwise fill the memory. */
const MAX_COUNTED = 2000;

/** A statement gets a name when it is used this often. Preparing rare statements is not worthwhile. */
const MIN_USES = 3;

/** Statements with more parameters get no name. Bulk inserts and long lists are slow anyway, and seldom repeat exactly. */
const MAX_PARAMETERS = 64;

/**
 * Chooses names for frequent statements. The server parses and plans a named statement once for each connection. For most
 * statements that takes longer than running them. pg keeps track of which names each connection has prepared.
 */
export class StatementNames {
  readonly #names = new Map<string, string>();
  readonly #uses = new Map<string, number>();

  /** The name of a statement. Undefined if it has none, or none yet. */
  nameOf(sql: string, parameters: number): string | undefined {
    const name = this.#names.get(sql);
    if (name !== undefined || parameters > MAX_PARAMETERS || this.#names.size >= MAX_NAMES) return name;
    const uses = (this.#uses.get(sql) ?? 0) + 1;
    if (uses < MIN_USES) {
      if (this.#uses.size >= MAX_COUNTED) this.#uses.clear();
      this.#uses.set(sql, uses);
      return undefined;
    }
    this.#uses.delete(sql);
    // The name is the same in every process, so that the server's statistics can be compared.
    const digest = `qm_${hash('sha256', sql).slice(0, 32)}`;
    this.#names.set(sql, digest);
    return digest;
  }
}
