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

  /** Whether entries of this tenant wait, and of no other. */
  hasOnly(tenant: string | null): boolean {
    return this.#lines.size === 1 && this.#lines.has(tenant);
  }

  /** Puts an entry at the end of its tenant's line. @returns false if that line is full */
  push(tenant: string | null, entry: Entry): boolean {
    const line = this.#lines.get(tenant);
    if (line === undefined) this.#lines.set(tenant, [entry]);
    else if (tenant !== null && line.length >= MAX_WAITING) return false;
    else line.push(entry);
    return true;
  }

  /** Takes the next entry out. @param isAllowed whether a tenant's line may be served, or which of its entries */
  shift(isAllowed: (tenant: string | null) => boolean | ((entry: Entry) => boolean) = () => true): Entry | undefined {
    for (const [tenant, line] of this.#lines) {
      const allowed = isAllowed(tenant);
      const index = typeof allowed === 'function' ? line.findIndex(allowed) : 0;
      if (allowed === false || index < 0) continue;
      const [entry] = line.splice(index, 1);
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
