import type { CallSpan, CallUse } from './call-span.ts';
import { isModelCall } from '../reading/operations.ts';
import { pairSiblings } from './pair-siblings.ts';
import { isSameName, type Spellings, spellingsReader } from './same-name.ts';
import type { SpanTree } from './span-tree.ts';
import { unionFind } from './union-find.ts';

/** A span's report of a call: one use in one span. */
export type Report = { span: CallSpan; use: CallUse; spellings: Spellings };

/** The reports of a trace, grouped by call. Reports are named by their index in `reports`. */
export type Grouped = {
  reports: readonly Report[];
  /** The number of a report's set. The reports in one set are about one call. */
  setOf(index: number): number;
  /** The enclosing report of the same call, or of several calls of its kind and name. Null if there is none. */
  outer: readonly (number | null)[];
  /** Whether the report is about several calls inside it, and is not a call itself. */
  isWrapper: readonly boolean[];
  /** Whether every report is a separate call: each set has one report, and no report encloses another report of its call. */
  isSeparate: boolean;
};

/** The maximum number of spans that may share one call id. An id on more spans is not unique, and is ignored. */
const MAX_SPANS_PER_CALL_ID = 16;

/** Finds out which spans of one sender in a trace report the same call. The order of `spans` makes no difference. */
export function groupUses(tree: SpanTree, spans: readonly CallSpan[], spellingsOf = spellingsReader()): Grouped {
  const reports = sortedReports(spans, spellingsOf);
  const sets = unionFind(reports.length);
  const bySpan = indexesBySpan(reports);
  uniteVariants(reports, bySpan, sets.union);
  const outer = outerReports(reports, bySpan, tree);
  const isOfOneScope = reports.every(({ span }) => span.scope === reports[0]?.span.scope);
  // A shortcut for the usual case: one instrumentation writes one span for each call.
  if (isOfOneScope && sets.isUntouched() && hasDistinctCallIds(reports) && outer.every((around) => around === null)) {
    return { reports, setOf: sets.find, outer, isWrapper: reports.map(() => false), isSeparate: true };
  }
  // The variants of one span count as one node of the tree.
  const nodeOf = reports.map((_, index) => sets.find(index));
  const inner = new Map<number, Set<number>>();
  for (const [index, around] of outer.entries()) {
    if (around === null) continue;
    if (isPartOf(reports[index], reports[around])) {
      sets.union(around, index);
      continue;
    }
    const key = nodeOf[around] ?? around;
    const within = inner.get(key) ?? new Set();
    inner.set(key, within.add(nodeOf[index] ?? index));
  }
  const isWrapperNode = wrapperTest(inner);
  const isWrapper = reports.map((_, index) => isWrapperNode(nodeOf[index] ?? index));
  for (const [around, within] of inner) {
    const [only] = within;
    if (only !== undefined && within.size === 1) sets.union(around, only);
  }
  uniteByCallId(reports, sets.union);
  const grouped = { reports, setOf: sets.find, outer, isWrapper, isSeparate: false };
  // Siblings report one call only if they are of two instrumentations.
  if (isOfOneScope) return grouped;
  const outermost = [...reports.keys()].filter((index) => outer[index] === null);
  const uniteAt = (indexes: number[], placeOf: (report: Report) => string) =>
    uniteSiblings(
      reports,
      Map.groupBy(indexes, (index) => placeIn(reports[index], placeOf)),
      { isWrapper, sets },
    );
  uniteAt(outermost, ({ span }) => span.parentSpanId ?? '');
  const callAround = tree.nearest(bySpan);
  uniteAt(toolsOfOneScope(reports, outermost, sets.find), ({ span }) => callAround(span.spanId) ?? '');
  return grouped;
}

/** The reports of spans, in an order that does not depend on the order of the spans. */
function sortedReports(spans: readonly CallSpan[], spellingsOf: (use: CallUse) => Spellings): Report[] {
  const texts = new Map<CallSpan, string>();
  const reports: Report[] = [];
  for (const span of spans) {
    for (const use of distinctUses(span)) reports.push({ span, use, spellings: spellingsOf(use) });
  }
  return reports.toSorted(
    (a, b) =>
      a.span.start - b.span.start ||
      compare(a.span.spanId, b.span.spanId) ||
      compare(a.use.kind, b.use.kind) ||
      a.span.end - b.span.end ||
      compare(a.use.written, b.use.written) ||
      // Equal uses of one span stay in their order, because the sort is stable.
      (a.span === b.span ? 0 : compare(textOf(a.span), textOf(b.span))),
  );

  function textOf(span: CallSpan): string {
    const text = texts.get(span) ?? JSON.stringify(span);
    texts.set(span, text);
    return text;
  }
}

/** Uses of one span with the same kind and name are one report. */
function distinctUses({ uses }: CallSpan): readonly CallUse[] {
  if (uses.length < 2) return uses;
  return [...new Map(uses.map((use) => [`${use.kind} ${use.written}`, use])).values()];
}

function indexesBySpan(reports: readonly Report[]): Map<string, number[]> {
  const bySpan = new Map<string, number[]>();
  for (let index = 0; index < reports.length; index += 1) {
    const spanId = reports[index]?.span.spanId ?? '';
    const indexes = bySpan.get(spanId);
    if (indexes) indexes.push(index);
    else bySpan.set(spanId, [index]);
  }
  return bySpan;
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

type Union = (first: number, second: number) => void;

/** A span that was exported several times, such as at its start and at its end, reports one call. */
function uniteVariants(reports: readonly Report[], bySpan: ReadonlyMap<string, number[]>, union: Union): void {
  for (const indexes of bySpan.values()) {
    if (indexes.length < 2) continue;
    uniteEquals(reports, indexes, union);
  }
}

/** Unites each report with the first earlier one of the same name. Quadratic, but the lists are short. */
function uniteEquals(reports: readonly Report[], indexes: readonly number[], union: Union): void {
  for (const index of indexes) {
    for (const earlier of indexes) {
      if (earlier === index) break;
      if (!isSame(reports[index], reports[earlier])) continue;
      union(earlier, index);
      break;
    }
  }
}

function isSame(a: Report | undefined, b: Report | undefined): boolean {
  return a !== undefined && b !== undefined && isSameName(a.spellings, b.spellings);
}

function outerReports(
  reports: readonly Report[],
  bySpan: ReadonlyMap<string, number[]>,
  tree: SpanTree,
): (number | null)[] {
  const spanAround = tree.nearest(bySpan);
  const runs = new Set<string>();
  for (const report of reports) if (isRunOfModel(report)) runs.add(report.span.spanId);
  const runAround = runs.size === 0 ? () => null : tree.nearest(runs);
  return reports.map((inner) => {
    const direct = outerIn(inner, spanAround(inner.span.spanId));
    return direct === null && inner.use.kind === 'model' ? outerIn(inner, runAround(inner.span.spanId)) : direct;
  });

  function outerIn(inner: Report, around: string | null): number | null {
    if (around === null) return null;
    for (const index of bySpan.get(around) ?? []) if (isOuterOf(reports[index], inner)) return index;
    return null;
  }
}

/**
 * Whether a span names a model but is not known to be a call of the model, such as the span of a conversation. The calls may be
 * inside spans of agents and tools within the conversation.
 */
function isRunOfModel({ span, use }: Report): boolean {
  return use.kind === 'model' && !isModelCall(span.operation);
}

/**
 * Instrumentations that write each call of a model inside the call before it. RubyLLM calls the model again in the method that called
 * it first, after the tools have run.
 */
const NESTED_CALLS: ReadonlySet<string> = new Set(['OpenTelemetry::Instrumentation::RubyLLM']);

function isOuterOf(outer: Report | undefined, inner: Report): boolean {
  if (outer === undefined || !isSame(outer, inner)) return false;
  const [a, b] = [outer.span, inner.span];
  if (a.scope !== b.scope || (a.callId !== null && a.callId === b.callId)) return true;
  // One instrumentation reports two calls if the ids differ, or if the spans have one name (a tool that calls itself).
  if (a.callId !== null && b.callId !== null) return false;
  if (NESTED_CALLS.has(a.scope)) return false;
  // Spans of one model call may list the tools that the vendor ran in it.
  return outer.use.kind !== 'tool' || isModelCall(a.operation) || a.spanName !== b.spanName;
}

/**
 * Returns a function that tests whether a node is a wrapper: it has several nodes inside it, or a single node that is a wrapper.
 *
 * @param inner the nodes directly inside each node
 */
function wrapperTest(inner: ReadonlyMap<number, ReadonlySet<number>>): (node: number) => boolean {
  const known = new Map<number, boolean>();
  return (node) => {
    const passed: number[] = [];
    let at = node;
    let found = known.get(at);
    while (found === undefined) {
      passed.push(at);
      const [only, second] = inner.get(at) ?? [];
      if (only === undefined || second !== undefined) {
        found = second !== undefined;
      } else {
        at = only;
        found = known.get(at);
      }
    }
    for (const passedNode of passed) known.set(passedNode, found);
    return found;
  };
}

/** Whether a span reports a part of a model call, such as a chunk of its stream or an attempt, and not a call of its own. */
function isPartOf(inner: Report | undefined, outer: Report | undefined): boolean {
  if (inner?.use.kind !== 'model' || inner.span.scope !== outer?.span.scope) return false;
  const hasTokens = inner.span.inputTokens !== null || inner.span.outputTokens !== null;
  return inner.span.operation === null && !hasTokens && isModelCall(outer.span.operation);
}

function uniteByCallId(reports: readonly Report[], union: Union): void {
  if (hasDistinctCallIds(reports)) return;
  const identified = [...reports.keys()].filter((index) => reports[index]?.span.callId != null);
  const byId = Map.groupBy(identified, (index) => `${reports[index]?.use.kind} ${reports[index]?.span.callId}`);
  for (const indexes of byId.values()) {
    if (indexes.length < 2 || indexes.length > MAX_SPANS_PER_CALL_ID || isRepeated(reports, indexes)) continue;
    uniteEquals(reports, indexes, union);
  }
}

function hasDistinctCallIds(reports: readonly Report[]): boolean {
  const ids = new Set<string>();
  for (const { span } of reports) {
    if (span.callId === null) continue;
    if (ids.has(span.callId)) return false;
    ids.add(span.callId);
  }
  return true;
}

/**
 * Whether one instrumentation uses the same call id on several spans of one name. Some servers number calls from 1 in every
 * answer. Spans of tools with one parent at the same time do not count as repetition, because some instrumentations write each
 * span twice. Spans that fetch an answer again until the model has finished it do not count either.
 */
function isRepeated(reports: readonly Report[], indexes: readonly number[]): boolean {
  const spans = new Map(
    indexes.flatMap((index) => {
      const report = reports[index];
      return report && report.span.operation !== 'fetch_response' ? [[report.span.spanId, report]] : [];
    }),
  );
  const places = Map.groupBy(spans.values(), ({ span, use }) => `${span.scope}\0${span.spanName}\0${use.written}`);
  return [...places.values()].some((at) => {
    return at.length > 1 && !(at[0]?.use.kind === 'tool' && areAtOnce(at.map(({ span }) => span)));
  });
}

/** Whether all spans have one parent, and a moment at which all of them run. */
export function areAtOnce(spans: readonly CallSpan[]): boolean {
  let [latestStart, earliestEnd] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const { start, end, parentSpanId } of spans) {
    if (parentSpanId !== spans[0]?.parentSpanId) return false;
    latestStart = Math.max(latestStart, start);
    earliestEnd = Math.min(earliestEnd, end);
  }
  return spans.length === 1 || latestStart < earliestEnd;
}

function placeIn(report: Report | undefined, placeOf: (report: Report) => string): string {
  return report ? `${placeOf(report)} ${report.use.kind} ${report.spellings.forms[0]}` : '';
}

/**
 * The tool calls that only one instrumentation is known to report. For one call, the framework's span of the tool and the span
 * of the MCP client need not be siblings. The client's span may be inside the span of its session, which lasts for many calls.
 * Only tools are matched in this way, because calls of one model overlap far more often.
 */
function toolsOfOneScope(
  reports: readonly Report[],
  indexes: readonly number[],
  setOf: (index: number) => number,
): number[] {
  const scopes = new Map<number, Set<string>>();
  for (const [index, { span }] of reports.entries()) {
    const set = setOf(index);
    scopes.set(set, (scopes.get(set) ?? new Set()).add(span.scope));
  }
  return indexes.filter((index) => reports[index]?.use.kind === 'tool' && scopes.get(setOf(index))?.size === 1);
}

/** @param byPlace the reports of one kind and name in one place of the tree */
function uniteSiblings(
  reports: readonly Report[],
  byPlace: ReadonlyMap<string, readonly number[]>,
  { isWrapper, sets }: { isWrapper: boolean[]; sets: { find(index: number): number; union: Union } },
): void {
  for (const indexes of byPlace.values()) {
    if (indexes.length < 2) continue;
    const siblings = indexes.flatMap((index) => {
      const span = reports[index]?.span;
      if (!span) return [];
      const { spanId, scope, start, end } = span;
      return [{ index, spanId, scope, start, end }];
    });
    for (const [first, second] of pairSiblings(siblings, sets.find)) {
      // If one sibling is a wrapper, the other one wraps the same calls.
      if (isWrapper[first] || isWrapper[second]) {
        isWrapper[first] = true;
        isWrapper[second] = true;
      } else sets.union(first, second);
    }
  }
}
