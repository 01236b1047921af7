import type { ScopeCount } from '@quartermaster/db/repositories/account-telemetry.ts';
import { keptScopeText, NAME_LEFT_OUT } from '../content/span-names.ts';
import { boundedName } from '../dialects/visible-name.ts';

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

  /** The counts, with names that can be shown: a name that may be content is left out. */
  done(): ScopeCount[] {
    const shown = new Map<string, ScopeCount>();
    for (const count of this.#counts.values()) {
      const scope = shownScope(count.scope);
      const same = shown.get(scope);
      if (!same) {
        shown.set(scope, { ...count, scope });
        continue;
      }
      same.spans += count.spans;
      same.logRecords += count.logRecords;
      same.readRecords += count.readRecords;
    }
    return [...shown.values()];
  }
}

function shownScope(name: string): string {
  if (name === '') return '(no name)';
  return keptScopeText(name) === null ? NAME_LEFT_OUT : boundedName(name);
}

/** How many spans and log records no dialect knew. */
export function unreadOf(counts: readonly ScopeCount[]): number {
  return counts.reduce((sum, { spans, logRecords, readRecords }) => sum + spans + logRecords - readRecords, 0);
}
