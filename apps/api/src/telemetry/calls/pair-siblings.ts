/** A report (by its index) and the interval of its span. Times in microseconds. */
export type Sibling = { index: number; spanId: string; scope: string; start: number; end: number };

/** How far the intervals of two instrumentations' spans of one call may differ at each end, in microseconds. */
const TOLERANCE_US = 5000;

/** The maximum number of scopes that are compared, because the work grows with scopes times spans, and senders name the scopes. */
const MAX_SCOPES = 16;

/**
 * Pairs sibling spans of different instrumentations that report the same call. Each span of one instrumentation is paired
 * with at most one of another, if one interval is within the other. Only the spans of the first 16 scopes, by name, are paired.
 *
 * @param siblings reports with one parent, kind and name
 * @param setOf the set of a report, as far as it is known which reports are about one call
 */
export function pairSiblings(siblings: readonly Sibling[], setOf: (index: number) => number): [number, number][] {
  const byScope = Map.groupBy(siblings, ({ scope }) => scope);
  if (byScope.size < 2) return [];
  const scopes = [...byScope].toSorted(([a], [b]) => (a < b ? -1 : 1)).slice(0, MAX_SCOPES);
  const pairs: [number, number][] = [];
  let paired: Sibling[] = [];
  for (const [, siblingsInScope] of scopes) {
    const others = inOrder(paired);
    const known = new Set(others.map(({ index }) => setOf(index)));
    const left = inOrder(siblingsInScope).filter(({ index }) => !known.has(setOf(index)));
    const taken = new Set(inOrder(siblingsInScope).map(({ index }) => setOf(index)));
    const free = others.filter(({ index }) => !taken.has(setOf(index)));
    const matched = new Set<Sibling>();
    for (let at = 0, other = 0; at < left.length && other < free.length; ) {
      const [a, b] = [left[at], free[other]];
      if (a === undefined || b === undefined) break;
      if (contains(a, b) || contains(b, a)) {
        pairs.push([b.index, a.index]);
        matched.add(a);
        at += 1;
        other += 1;
      } else if (a.end < b.end) at += 1;
      else other += 1;
    }
    paired = [...paired, ...left.filter((sibling) => !matched.has(sibling))];
  }
  return pairs;
}

function contains(outer: Sibling, inner: Sibling): boolean {
  return outer.start - TOLERANCE_US <= inner.start && inner.end <= outer.end + TOLERANCE_US;
}

function inOrder(siblings: readonly Sibling[]): Sibling[] {
  return siblings.toSorted((a, b) => a.start - b.start || a.end - b.end || (a.spanId < b.spanId ? -1 : 1));
}
