type Part = string | number | null;

/** A cache whose keys have several parts. A look-up joins no texts: each part leads to a map of the next ones. */
export class CacheByParts<Value extends object> {
  readonly #first = new Map<Part, unknown>();
  readonly #values: Value[] = [];

  /** The cached values, in the order in which they were made. */
  get values(): readonly Value[] {
    return this.#values;
  }

  /**
   * @param parts always as many. The one with the most distinct values comes last, so that a hostile sender cannot make many maps
   * @param make makes the value of a new key
   */
  get(parts: readonly Part[], make: () => Value): Value {
    let map = this.#first;
    const last = parts.length - 1;
    for (let index = 0; index < last; index += 1) {
      const part = parts[index] ?? null;
      let next = map.get(part) as typeof map | undefined;
      if (next === undefined) map.set(part, (next = new Map()));
      map = next;
    }
    const part = parts[last] ?? null;
    let value = map.get(part) as Value | undefined;
    if (value === undefined) {
      value = make();
      map.set(part, value);
      this.#values.push(value);
    }
    return value;
  }
}
