/** Finds ancestors of spans. Senders choose the parent ids, so a parent may be missing, and parents may form cycles. */
export type SpanTree = {
  /** The parent of a span. Null for a root and for a span on a cycle. */
  parentOf(spanId: string): string | null;
  /** Returns a function that finds the nearest ancestor in the set. Looking up every span of the trace is linear in total. */
  nearest(among: ReadonlySet<string> | ReadonlyMap<string, unknown>): (spanId: string) => string | null;
};

export function spanTree(parents: ReadonlyMap<string, string | null>): SpanTree {
  const onCycles = spansOnCycles(parents);
  const parentOf = (spanId: string) => (onCycles.has(spanId) ? null : (parents.get(spanId) ?? null));
  return { parentOf, nearest };

  function nearest(among: ReadonlySet<string> | ReadonlyMap<string, unknown>) {
    const known = new Map<string, string | null>();
    return (spanId: string): string | null => {
      const passed: string[] = [];
      let at = spanId;
      let found: string | null | undefined;
      while (found === undefined) {
        found = known.get(at);
        if (found !== undefined) break;
        passed.push(at);
        const parent = parentOf(at);
        if (parent === null || among.has(parent)) found = parent;
        else at = parent;
      }
      for (const one of passed) known.set(one, found);
      return found;
    };
  }
}

/** Finds the spans that are their own ancestors. */
function spansOnCycles(parents: ReadonlyMap<string, string | null>): ReadonlySet<string> {
  const onCycles = new Set<string>();
  const done = new Set<string>();
  for (const [start, parent] of parents) {
    // A shortcut: most spans are roots, or come after their parents.
    if (parent === null || (parent !== start && done.has(parent))) {
      done.add(start);
      continue;
    }
    const path = new Set<string>();
    let at: string | null = start;
    while (at !== null && !done.has(at) && !path.has(at)) {
      path.add(at);
      at = parents.get(at) ?? null;
    }
    // The path came back to one of its own spans: the cycle begins there.
    if (at !== null && path.has(at)) {
      let isInside = false;
      for (const one of path) {
        isInside ||= one === at;
        if (isInside) onCycles.add(one);
      }
    }
    for (const one of path) done.add(one);
  }
  return onCycles;
}
