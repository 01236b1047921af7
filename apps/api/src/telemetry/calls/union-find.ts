/** Disjoint sets of the numbers from 0 to `size` - 1. */
export type UnionFind = {
  /** The representative of the set that `one` is in. */
  find(one: number): number;
  union(one: number, other: number): void;
  /** Whether each number is still in a set of its own. */
  isUntouched(): boolean;
};

export function unionFind(size: number): UnionFind {
  const parents = new Int32Array(size);
  for (let index = 0; index < size; index += 1) parents[index] = index;
  let isUntouched = true;

  function find(one: number): number {
    let root = one;
    for (let parent = parents[root]; parent !== undefined && parent !== root; parent = parents[root]) root = parent;
    // Path compression.
    for (let at = one; at !== root; ) {
      const next = parents[at] ?? root;
      parents[at] = root;
      at = next;
    }
    return root;
  }

  return {
    find,
    union(one, other) {
      const [a, b] = [find(one), find(other)];
      // The smaller number becomes the root, so the representatives do not depend on the order of unions.
      if (a === b) return;
      parents[Math.max(a, b)] = Math.min(a, b);
      isUntouched = false;
    },
    isUntouched: () => isUntouched,
  };
}
