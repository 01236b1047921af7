/** The most entries that one tenant may have waiting. */
const MAX_WAITING = 1000;

/**
 * A queue with one line for each tenant, served round robin. A tenant with a thousand waiting entries delays another tenant's
 * entry by one, not by a thousand. The line `null` is for the service itself, and has no limit.
 */
export class FairQueue<Entry> {
  /** In the order in which lines are served. */
  readonly #lines = new Map<string | null, Entry[]>();

  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  /** Puts an entry at the end of its tenant's line. @returns false if that line is full */
  push(tenant: string | null, entry: Entry): boolean {
    const line = this.#lines.get(tenant);
    if (line === undefined) this.#lines.set(tenant, [entry]);
    else if (tenant !== null && line.length >= MAX_WAITING) return false;
    else line.push(entry);
    return true;
  }

  /** Takes the next entry out. @param isAllowed whether a tenant's line may be served */
  shift(isAllowed: (tenant: string | null) => boolean = () => true): Entry | undefined {
    for (const [tenant, line] of this.#lines) {
      if (!isAllowed(tenant)) continue;
      const entry = line.shift();
      this.#lines.delete(tenant);
      if (line.length > 0) this.#lines.set(tenant, line);
      return entry;
    }
    return undefined;
  }

  /** Removes an entry that no longer waits. */
  remove(tenant: string | null, entry: Entry): void {
    const line = this.#lines.get(tenant);
    const index = line?.indexOf(entry) ?? -1;
    if (line === undefined || index < 0) return;
    line.splice(index, 1);
    if (line.length === 0) this.#lines.delete(tenant);
  }
}
