import type { SpanOutline } from '@quartermaster/client';

/** What the waterfall needs of a span. Times are milliseconds since the start of the trace. */
export type Row = {
  span: SpanOutline;
  depth: number;
  start: number;
  end: number;
  childCount: number;
  /** The index of the parent in the list of all rows; -1 for a root. */
  parent: number;
  isError: boolean;
};

export type Tree = { rows: Row[]; duration: number; errorRows: number[] };

/** The spans as a tree in the order of their starts. A span whose parent is missing becomes a root. */
export function treeOf(spans: readonly SpanOutline[]): Tree {
  const starts = new Map(spans.map((span) => [span, millisecondsOf(span.startTime)]));
  const startOf = (span: SpanOutline) => starts.get(span) ?? 0;
  const zero = spans.reduce((least, span) => Math.min(least, startOf(span)), Number.POSITIVE_INFINITY);
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const childrenOf = Map.groupBy(spans, ({ parentSpanId }) =>
    parentSpanId !== null && ids.has(parentSpanId) ? parentSpanId : '',
  );
  for (const children of childrenOf.values()) children.sort((a, b) => startOf(a) - startOf(b));

  const rows: Row[] = [];
  const seen = new Set<SpanOutline>();
  // Not recursive: a chain of ten thousand spans would overflow the stack.
  const stack = (childrenOf.get('') ?? []).toReversed().map((span) => ({ span, depth: 0, parent: -1 }));
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { span, depth, parent } = next;
    if (seen.has(span)) continue;
    seen.add(span);
    const children = childrenOf.get(span.spanId) ?? [];
    const start = startOf(span) - zero;
    const index =
      rows.push({
        span,
        depth,
        start,
        end: start + span.durationMs,
        childCount: children.length,
        parent,
        isError: span.error,
      }) - 1;
    for (const child of children.toReversed()) stack.push({ span: child, depth: depth + 1, parent: index });
  }
  return {
    rows,
    duration: rows.reduce((most, { end }) => Math.max(most, end), 0),
    errorRows: rows.flatMap(({ isError }, index) => (isError ? [index] : [])),
  };
}

/** The indices of the rows whose ancestors are all open. */
export function visibleRows({ rows }: Tree, closed: ReadonlySet<string>): number[] {
  if (closed.size === 0) return rows.map((_, index) => index);
  const isHidden: boolean[] = [];
  const visible: number[] = [];
  rows.forEach(({ parent }, index) => {
    const above = rows[parent];
    const hidden = above !== undefined && (isHidden[parent] === true || closed.has(above.span.spanId));
    isHidden.push(hidden);
    if (!hidden) visible.push(index);
  });
  return visible;
}

/** Milliseconds with a fraction. The API gives nanoseconds, which a Date would cut. */
function millisecondsOf(time: string): number {
  const [seconds = '', fraction = ''] = time.replace('Z', '').split('.');
  return Date.parse(`${seconds}Z`) + Number(`0.${fraction || '0'}`) * 1000;
}
