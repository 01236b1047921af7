/** Entries that one tenant may have waiting. */
const MAX_WAITING = 1000;

/**
 * A queue with one line for each tenant. The lines have their turns one after the other (round robin), so a tenant with a
 * thousand entries delays another one's entry by one entry, not by a thousand. Null is the line of the service itself.
 */
export class FairQueue<Entry> {
  /** The line whose turn is next comes first. */
  readonly #lines = new Map<string | null, Entry[]>();

  /** Puts an entry at the end of its tenant's line. @returns false where that line is full */
  push(tenant: string | null, entry: Entry): boolean {
    const line = this.#lines.get(tenant);
    if (line === undefined) this.#lines.set(tenant, [entry]);
    else if (tenant !== null && line.length >= MAX_WAITING) return false;
    else line.push(entry);
    return true;
  }

  /** Takes the next entry out. @param isAllowed leaves out the lines of some tenants */
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

  /** Takes an entry out that waits no longer. */
  remove(tenant: string | null, entry: Entry): void {
    const line = this.#lines.get(tenant);
    const index = line?.indexOf(entry) ?? -1;
    if (line === undefined || index < 0) return;
    line.splice(index, 1);
    if (line.length === 0) this.#lines.delete(tenant);
  }
}
