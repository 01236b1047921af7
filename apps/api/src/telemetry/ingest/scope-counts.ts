import type { ScopeCount } from '@quartermaster/db/repositories/account-telemetry.ts';
import { storableScopeText, NAME_LEFT_OUT } from '../content/span-names.ts';
import { boundedName } from '../reading/visible-name.ts';

/** The maximum number of scopes of one request that are counted separately. */
const MAX_SCOPES = 20;

/** Counts the spans, or log records, of one request by their instrumentation scope. */
export class ScopeCounts {
  readonly #signal: 'spans' | 'logRecords';
  readonly #counts = new Map<string, ScopeCount>();

  constructor(signal: 'spans' | 'logRecords') {
    this.#signal = signal;
  }

  /** @param isRead whether a model, tool or agent was found in it */
  add(scope: string, isRead: boolean): void {
    let count = this.#counts.get(scope);
    if (count === undefined) {
      // Further scopes of a request count together, under an empty name.
      const name = this.#counts.size < MAX_SCOPES ? scope : '';
      count = this.#counts.get(name) ?? { scope: name, spans: 0, logRecords: 0, readRecords: 0 };
      this.#counts.set(name, count);
    }
    count[this.#signal] += 1;
    if (isRead) count.readRecords += 1;
  }

  /** The counts by scope, with names that may be shown. A name that may be content is replaced. */
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
  return storableScopeText(name) === null ? NAME_LEFT_OUT : boundedName(name);
}

/** How many spans and log records no dialect recognised. */
export function unreadOf(counts: readonly ScopeCount[]): number {
  return counts.reduce((sum, { spans, logRecords, readRecords }) => sum + spans + logRecords - readRecords, 0);
}
