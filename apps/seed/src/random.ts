/** A deterministic pseudo-random number generator: the same seed gives the same sequence. */
export type Random = {
  /** An integer of `min` to `max`, both included. */
  integer(min: number, max: number): number;
  /** Whether an event of this probability (0 to 1) happens. */
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  /** A copy in random order. */
  shuffle<T>(items: readonly T[]): T[];
  /** This many lower-case hexadecimal digits, never all zeros. */
  hex(digits: number): string;
};

/** Mulberry32: 32 bits of state, which is enough for demonstration data. */
export function createRandom(seed: number): Random {
  let state = seed | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (min: number, max: number) => min + Math.floor(next() * (max - min + 1));
  return {
    integer,
    chance: (probability) => next() < probability,
    pick<T>(items: readonly T[]): T {
      const item = items[integer(0, items.length - 1)];
      if (item === undefined) throw new Error('cannot pick from an empty list');
      return item;
    },
    shuffle<T>(items: readonly T[]): T[] {
      const keyed = items.map((item) => ({ item, key: next() }));
      return keyed.toSorted((a, b) => a.key - b.key).map(({ item }) => item);
    },
    hex: (digits) => Array.from({ length: digits }, () => integer(1, 15).toString(16)).join(''),
  };
}
