import type { ScopeCount } from '@quartermaster/db/repositories/account-telemetry.ts';
import { boundedName } from '../dialects/visible-name.ts';
import { keptScopeText, NAME_LEFT_OUT } from '../content/span-names.ts';

/** Scopes of one request that are counted by themselves. */
const MAX_SCOPES = 20;

/** Counts the spans, or log records, of one request by their instrumentation scope. */
export class ScopeCounts {
  readonly #signal: 'spans' | 'logRecords';
  readonly #counts = new Map<string, ScopeCount>();

  constructor(signal: 'spans' | 'logRecords') {
    this.#signal = signal;
  }

  /** @param isRead whether it told of a model, tool or agent */
  add(scope: string, isRead: boolean): void {
    let count = this.#counts.get(scope);
    if (count === undefined) {
      // Many scopes in one request are an attack, or count together.
      const name = this.#counts.size < MAX_SCOPES ? scope : '';
      count = this.#counts.get(name) ?? { scope: name, spans: 0, logRecords: 0, readRecords: 0 };
      this.#counts.set(name, count);
    }
    count[this.#signal] += 1;
    if (isRead) count.readRecords += 1;
  }

  /** The counts, with names that can be shown. */
  done(): ScopeCount[] {
    return [...this.#counts.values()].map((count) => ({
      ...count,
      scope: count.scope === '' ? '(no name)' : boundedName(keptScopeText(count.scope) ?? NAME_LEFT_OUT),
    }));
  }
}

/** How many spans and log records no dialect knew. */
export function unreadOf(counts: readonly ScopeCount[]): number {
  return counts.reduce((sum, { spans, logRecords, readRecords }) => sum + spans + logRecords - readRecords, 0);
}
