import type { CallSpan, CallUse } from './call-span.ts';
import { pairSiblings } from './pair-siblings.ts';
import { isSameName, type Spellings, spellingsReader } from './same-name.ts';
import type { SpanTree } from './span-tree.ts';
import { unionFind } from './union-find.ts';

/** One use of one span. */
export type Told = { span: CallSpan; use: CallUse; spellings: Spellings };

/** What the spans of a trace tell, sorted into calls. */
export type Grouped = {
  told: readonly Told[];
  /** The number of the set of each: uses in one set tell of one call. */
  setOf(index: number): number;
  /** The use around it that tells of the same call, or of several calls of the kind; null if there is none. */
  outer: readonly (number | null)[];
  /** Whether the use stands for several calls inside it, and is none itself. */
  isWrapper: readonly boolean[];
};

/** Spans that may share one call id. Ids that more spans have are not unique, and tell nothing. */
const MAX_SPANS_OF_ID = 16;

/** Finds out which uses of one sender's spans in a trace tell of the same call. The order of `spans` makes no difference. */
export function groupUses(tree: SpanTree, spans: readonly CallSpan[], spellingsOf = spellingsReader()): Grouped {
  const told = toldBy(spans, spellingsOf);
  const sets = unionFind(told.length);
  const bySpan = Map.groupBy(told.keys(), (index) => told[index]?.span.spanId ?? '');
  uniteVariants(told, bySpan, sets.union);
  const outer = outerUses(told, bySpan, tree);
  // The variants of one span have one place in the tree.
  const cell = told.map((_, index) => sets.find(index));
  const inner = new Map<number, Set<number>>();
  for (const [index, around] of outer.entries()) {
    if (around === null) continue;
    const key = cell[around] ?? around;
    const within = inner.get(key) ?? new Set();
    inner.set(key, within.add(cell[index] ?? index));
  }
  const isWrapper = told.map((_, index) => (inner.get(cell[index] ?? index)?.size ?? 0) > 1);
  for (const [around, within] of inner) {
    const [only] = within;
    if (only !== undefined && within.size === 1) sets.union(around, only);
  }
  uniteByCallId(told, sets.union);
  const outermost = [...told.keys()].filter((index) => outer[index] === null);
  const uniteAt = (indexes: number[], placeOf: (one: Told) => string) =>
    uniteSiblings(
      told,
      Map.groupBy(indexes, (index) => placeIn(told[index], placeOf)),
      { isWrapper, sets },
    );
  uniteAt(outermost, ({ span }) => span.parentSpanId ?? '');
  const callAround = tree.nearest(bySpan);
  uniteAt(toolsOfOneScope(told, outermost, sets.find), ({ span }) => callAround(span.spanId) ?? '');
  return { told, setOf: sets.find, outer, isWrapper };
}

/** In an order that does not depend on the order of the spans. */
function toldBy(spans: readonly CallSpan[], spellingsOf: (use: CallUse) => Spellings): Told[] {
  const texts = new Map<CallSpan, string>();
  const told = spans.flatMap((span) => distinctUses(span).map((use) => ({ span, use, spellings: spellingsOf(use) })));
  return told.toSorted(
    (a, b) =>
      a.span.start - b.span.start ||
      compare(a.span.spanId, b.span.spanId) ||
      compare(a.use.kind, b.use.kind) ||
      a.span.end - b.span.end ||
      compare(a.use.written, b.use.written) ||
      // Uses of one span that are alike keep their order.
      (a.span === b.span ? 0 : compare(textOf(a.span), textOf(b.span))),
  );

  function textOf(span: CallSpan): string {
    const text = texts.get(span) ?? JSON.stringify(span);
    texts.set(span, text);
    return text;
  }
}

/** Uses of one span that have the same name count as one call, so they need not be compared with all others. */
function distinctUses({ uses }: CallSpan): readonly CallUse[] {
  if (uses.length < 2) return uses;
  return [...new Map(uses.map((use) => [`${use.kind} ${use.written}`, use])).values()];
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

type Union = (one: number, other: number) => void;

/** A span that its sender reported several times, such as at its start and at its end, tells of one call. */
function uniteVariants(told: readonly Told[], bySpan: ReadonlyMap<string, number[]>, union: Union): void {
  for (const indexes of bySpan.values()) {
    if (indexes.length < 2) continue;
    uniteEquals(told, indexes, union);
  }
}

/** Unites those that have a name equal to that of an earlier one. The lists are short. */
function uniteEquals(told: readonly Told[], indexes: readonly number[], union: Union): void {
  for (const [position, index] of indexes.entries()) {
    const same = indexes.slice(0, position).find((other) => isSame(told[index], told[other]));
    if (same !== undefined) union(same, index);
  }
}

function isSame(a: Told | undefined, b: Told | undefined): boolean {
  return a !== undefined && b !== undefined && isSameName(a.spellings, b.spellings);
}

function outerUses(told: readonly Told[], bySpan: ReadonlyMap<string, number[]>, tree: SpanTree): (number | null)[] {
  const spanAround = tree.nearest(bySpan);
  return told.map((inner) => {
    const around = spanAround(inner.span.spanId);
    const uses = around === null ? undefined : bySpan.get(around);
    return uses?.find((index) => isOuterOf(told[index], inner)) ?? null;
  });
}

function isOuterOf(outer: Told | undefined, inner: Told): boolean {
  if (outer === undefined || !isSame(outer, inner)) return false;
  const [a, b] = [outer.span, inner.span];
  if (a.scope !== b.scope || (a.callId !== null && a.callId === b.callId)) return true;
  // One instrumentation tells of two calls: with two ids, or of a tool that calls itself.
  if (a.callId !== null && b.callId !== null) return false;
  return outer.use.kind !== 'tool' || a.spanName !== b.spanName;
}

function uniteByCallId(told: readonly Told[], union: Union): void {
  const identified = [...told.keys()].filter((index) => told[index]?.span.callId != null);
  const byId = Map.groupBy(identified, (index) => `${told[index]?.use.kind} ${told[index]?.span.callId}`);
  for (const indexes of byId.values()) {
    if (indexes.length < 2 || indexes.length > MAX_SPANS_OF_ID || isRepeated(told, indexes)) continue;
    uniteEquals(told, indexes, union);
  }
}

/** Whether one instrumentation has the id on several spans of one name: some servers number calls from 1 in every answer. */
function isRepeated(told: readonly Told[], indexes: readonly number[]): boolean {
  const spans = new Map(indexes.flatMap((index) => (told[index] ? [[told[index].span.spanId, told[index]]] : [])));
  const places = [...spans.values()].map(({ span, use }) => `${span.scope}\0${span.spanName}\0${use.written}`);
  return new Set(places).size < places.length;
}

function placeIn(one: Told | undefined, placeOf: (one: Told) => string): string {
  return one ? `${placeOf(one)} ${one.use.kind} ${one.spellings.forms[0]}` : '';
}

/**
 * Uses of tools that only one instrumentation is known to tell of. The span of a framework's tool and that of the MCP client
 * need not be siblings: the latter may stand in the span of the client's session, which lasts for many calls. Models are
 * called at the same time far more often.
 */
function toolsOfOneScope(
  told: readonly Told[],
  indexes: readonly number[],
  setOf: (index: number) => number,
): number[] {
  const scopes = new Map<number, Set<string>>();
  for (const [index, { span }] of told.entries()) {
    const set = setOf(index);
    scopes.set(set, (scopes.get(set) ?? new Set()).add(span.scope));
  }
  return indexes.filter((index) => told[index]?.use.kind === 'tool' && scopes.get(setOf(index))?.size === 1);
}

/** @param byPlace uses of one kind and name in one place */
function uniteSiblings(
  told: readonly Told[],
  byPlace: ReadonlyMap<string, readonly number[]>,
  { isWrapper, sets }: { isWrapper: boolean[]; sets: { find(index: number): number; union: Union } },
): void {
  for (const indexes of byPlace.values()) {
    if (indexes.length < 2) continue;
    const siblings = indexes.flatMap((index) => {
      const span = told[index]?.span;
      if (!span) return [];
      const { spanId, scope, start, end } = span;
      return [{ index, spanId, scope, start, end }];
    });
    for (const [one, other] of pairSiblings(siblings, sets.find)) {
      // The sibling of a span that stands for several calls stands for the same ones.
      if (isWrapper[one] || isWrapper[other]) {
        isWrapper[one] = true;
        isWrapper[other] = true;
      } else sets.union(one, other);
    }
  }
}
