import { plainName } from '@quartermaster/naming/name-key.ts';
import type { CallSpan, CallUse, TOKEN_COUNTS } from './call-span.ts';
import { DELEGATE, FAILURE, REJECTION } from '../reading/operations.ts';
import { areAtOnce, type Grouped, groupUses, type Report } from './group-uses.ts';
import type { Spellings } from './same-name.ts';
import { type SpanTree, spanTree } from './span-tree.ts';
import { type Tokens, tokensOfWrappers } from './wrapper-tokens.ts';

type CallReport = Pick<Report, 'span' | 'use'>;

/** One call of a model, tool, agent, prompt or resource. If one answer lists several calls of a tool, they are one `Call` with `times`. */
export type Call = {
  kind: CallUse['kind'];
  name: string;
  provider: CallUse['provider'];
  /** The nearest agent around the call, otherwise the agent that its spans name, otherwise its service. */
  agent: string;
  /** The same without the service. Null if telemetry names no agent. */
  namedAgent: string | null;
  /** Milliseconds since 1970. */
  countedAt: number;
  durationUs: number;
  failed: boolean;
  /**
   * How many calls. 0 if there are only tokens, and other spans report their calls, or only a failure, and the other signal
   * reports its call.
   */
  times: number;
  inputTokens: number;
  outputTokens: number;
  /** At most the input tokens, together with those written to the cache. */
  cacheReadTokens: number;
  cacheWriteTokens: number;
  /** At most the output tokens. */
  reasoningTokens: number;
  /** The innermost span that reports it. */
  span: CallSpan;
  /** All reports of the call, the innermost first. */
  reports: readonly CallReport[];
};

const UNNAMED_SERVICE = 'unknown_service';

/**
 * Resolves the spans of one sender in one trace to calls. A call that several spans report counts once: the innermost span
 * is the call, and what it does not say is taken from the others. See docs/counting.md, "How calls are counted".
 *
 * A pure function. The order of the spans makes no difference. Takes O(n log n).
 *
 * @param parents the parent of each span of the sender in the trace, including spans that report no calls
 * @param spans the spans that report calls
 * @param spellingsOf shared by the traces of a batch, see `spellingsReader`
 * @returns the calls, without those that a log record counted before. If such a call failed, and no log record said so, only its
 *   failure is returned
 */
export function resolve(
  parents: ReadonlyMap<string, string | null>,
  spans: readonly CallSpan[],
  spellingsOf?: (use: CallUse) => Spellings,
): Call[] {
  if (spans.length === 0) return [];
  const { tree, grouped, all } = resolveAll(parents, spans, spellingsOf);
  const calls = all.flatMap(uncounted);
  return spans.some(({ tokensOf }) => tokensOf !== null)
    ? [...calls, ...tokensOfCalls(tree, grouped, { spans, calls })]
    : calls;
}

/** Resolves spans to all calls that count, including those that a log record counted before. */
export function resolveAll(
  parents: ReadonlyMap<string, string | null>,
  spans: readonly CallSpan[],
  spellingsOf?: (use: CallUse) => Spellings,
): { tree: SpanTree; grouped: Grouped; all: Call[] } {
  const tree = spanTree(parents);
  const grouped = groupUses(tree, withoutRejected(tree, parents, withoutDelegating(tree, spans)), spellingsOf);
  const failedInside = failuresInside(tree, spans);
  const all = grouped.isSeparate ? callOfEach(tree, grouped, failedInside) : callsOfSets(tree, grouped, failedInside);
  return { tree, grouped, all };
}

/**
 * The tokens of spans whose calls other spans report. They count at the provider that the span was matched to, if that provider
 * has a call of the model. Otherwise they count at another provider with a call of the model, if there is one.
 */
function tokensOfCalls(
  tree: SpanTree,
  { reports }: Grouped,
  { spans, calls }: { spans: readonly CallSpan[]; calls: readonly Call[] },
): Call[] {
  const agents = agentsOf(reports);
  const ofModels = calls.filter(({ kind }) => kind === 'model');
  const providers = new Map(ofModels.map(({ name, provider }) => [name, provider]));
  const called = new Set(ofModels.map(({ name, provider }) => `${provider.id} ${name}`));
  const sums = new Map<string, CallReport>();
  for (const span of spans) {
    const { spanId, tokensOf } = span;
    if (tokensOf === null) continue;
    // A span that was exported several times has the whole sum in the last one.
    const former = sums.get(spanId);
    if (former === undefined || tokensIn(former.span) < tokensIn(span)) sums.set(spanId, { span, use: tokensOf });
  }
  const nearest = tree.nearest(agents);
  return [...sums].map(([spanId, report]) => {
    const agent = agents.get(spanId) ?? agents.get(nearest(spanId) ?? '') ?? null;
    const { name, provider: matchedProvider } = report.use;
    const provider = called.has(`${matchedProvider.id} ${name}`)
      ? matchedProvider
      : (providers.get(name) ?? matchedProvider);
    const call = callOf([report], { best: report, provider, agent, tokens: undefined, failedInside: NOTHING });
    return { ...call, times: 0, failed: false };
  });
}

function tokensIn({ inputTokens, outputTokens }: CallSpan): number {
  return (inputTokens ?? 0) + (outputTokens ?? 0);
}

/** How many errors a call adds to counts. */
export function errorsOf({ failed, times }: Pick<Call, 'failed' | 'times'>): number {
  return failed ? Math.max(times, 1) : 0;
}

/**
 * The name of a call's subject at its provider. The provider may have been renamed after the call's spans were stored, and a model's
 * name has neither the former nor the present name in front.
 */
export function nameAt(provider: { name: string }, { kind, name, provider: matched }: Call): string {
  return plainName(kind, plainName(kind, name, matched.name), provider.name);
}

const NO_TOKENS = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };

/** The failure alone of a call that is counted already. */
export function failureOf(call: Call): Call {
  return { ...call, times: 0, failed: true, ...NO_TOKENS };
}

/** The calls of a span that was made from a log record. There are no other spans to resolve it with. */
export function callsOfOne(span: CallSpan | null): Call[] {
  return span === null ? [] : resolve(new Map([[span.spanId, null]]), [span]);
}

/** Whether a log record counted the call. */
export function isOfRecord({ reports }: Call): boolean {
  return reports.some(({ use }) => use.isCounted);
}

/** A call, or its failure if a log record counted the call but not the failure. */
function uncounted(call: Call): Call[] {
  if (!isOfRecord(call)) return [call];
  return call.failed ? [failureOf(call)] : [];
}

/** The calls if each report is one. */
function callOfEach(tree: SpanTree, { reports }: Grouped, failedInside: ReadonlySet<string>): Call[] {
  const agents = agentsOf(reports);
  const nearest = tree.nearest(agents);
  const providerOf = providerFinder(tree, reports, (index) => reports[index]);
  const calls: Call[] = [];
  for (const report of reports) {
    const around = nearest(report.span.spanId);
    const agent = around === null ? null : (agents.get(around) ?? null);
    const provider = providerOf(report);
    calls.push(callOf([report], { best: report, provider, agent, tokens: undefined, failedInside }));
  }
  return calls;
}

function callsOfSets(tree: SpanTree, grouped: Grouped, failedInside: ReadonlySet<string>): Call[] {
  const { reports, setOf, isWrapper } = grouped;
  const groups = new Map<number, number[]>();
  for (const index of reports.keys()) {
    const set = setOf(index);
    const group = groups.get(set);
    if (group) group.push(index);
    else groups.set(set, [index]);
  }
  const bestOf = bestInformed(grouped);
  const agentOf = agentFinder(tree, grouped);
  const bestOfSets = new Map([...groups].map(([set, group]) => [set, bestOf(group)]));
  const providerOf = providerFinder(tree, reports, (index) => bestOfSets.get(setOf(index)));
  const wrapperTokens = tokensOfWrappers(grouped);
  const calls: Call[] = [];
  for (const [set, group] of groups) {
    const unwrapped = group.filter((index) => !isWrapper[index]);
    const ordered = innermostFirst(grouped, unwrapped);
    const members = ordered.flatMap((index) => reports[index] ?? []);
    const [first] = members;
    if (first === undefined) continue;
    const best = bestOf(ordered) ?? first;
    const provider = providerOf(best);
    const [agent, tokens] = [agentOf(ordered), wrapperTokens.get(set)];
    calls.push(callOf(members, { best, provider, agent, tokens, failedInside }));
  }
  return calls;
}

/** Leaves out tools that only run an agent, if the agent's own span is inside: then only the agent's run counts. */
function withoutDelegating(tree: SpanTree, spans: readonly CallSpan[]): readonly CallSpan[] {
  if (spans.every(({ operation }) => operation !== DELEGATE)) return spans;
  const around = tree.nearest(new Set(spans.map(({ spanId }) => spanId)));
  const agents = spans.filter(({ uses }) => uses.some(({ kind }) => kind === 'agent'));
  const answered = new Set(agents.map(({ spanId }) => around(spanId)));
  return spans.filter(({ spanId, operation }) => operation !== DELEGATE || !answered.has(spanId));
}

/**
 * Leaves out tool calls that were rejected and so never ran. A span inside the call reports the rejection, with no other call
 * in between. A rejection with spans inside it does not count, because then something ran.
 */
function withoutRejected(
  tree: SpanTree,
  parents: ReadonlyMap<string, string | null>,
  spans: readonly CallSpan[],
): readonly CallSpan[] {
  const rejections = spans.filter(({ operation }) => operation === REJECTION);
  if (rejections.length === 0) return spans;
  const withSpansInside = new Set(parents.values());
  const callAround = tree.nearest(new Set(spans.map(({ spanId }) => spanId)));
  const empty = rejections.filter(({ spanId }) => !withSpansInside.has(spanId));
  const rejectedIds = new Set(empty.map(({ spanId }) => callAround(spanId)));
  const rejected = new Set(spans.filter((span) => isToolCall(span) && rejectedIds.has(span.spanId)));
  // Some instrumentations write each call twice, and the rejection is only inside one of the two spans.
  for (const twins of Map.groupBy(spans.filter(isToolCall), twinKeyOf).values()) {
    if (twins.some((span) => rejected.has(span)) && areAtOnce(twins)) for (const twin of twins) rejected.add(twin);
  }
  return spans.filter((span) => !rejected.has(span));
}

const NOTHING: ReadonlySet<string> = new Set();

/** The ids of the spans of tool calls whose failure is reported only by a span inside them. */
function failuresInside(tree: SpanTree, spans: readonly CallSpan[]): ReadonlySet<string> {
  const failures = spans.filter(({ operation, uses, failed }) => operation === FAILURE && uses.length === 0 && failed);
  if (failures.length === 0) return NOTHING;
  const calls = new Map(spans.filter(({ uses }) => uses.length > 0).map((span) => [span.spanId, span]));
  const callAround = tree.nearest(calls);
  const around = failures.flatMap(({ spanId }) => calls.get(callAround(spanId) ?? '') ?? []);
  return new Set(around.filter(isToolCall).map(({ spanId }) => spanId));
}

/** A tool may also run an agent. The span of a model's call may name tools that the vendor ran. */
function isToolCall({ uses }: CallSpan): boolean {
  return uses.some(({ kind }) => kind === 'tool') && uses.every(({ kind }) => kind !== 'model');
}

function twinKeyOf({ spanId, parentSpanId, spanName, callId }: CallSpan): string {
  return JSON.stringify(callId === null ? [spanId] : [parentSpanId, spanName, callId]);
}

function callOf(
  members: readonly CallReport[],
  {
    best,
    provider,
    agent,
    tokens,
    failedInside,
  }: Pick<Call, 'provider'> & {
    best: CallReport;
    agent: string | null;
    tokens: Tokens | undefined;
    failedInside: ReadonlySet<string>;
  },
): Call {
  const [{ span, use }] = members as [CallReport, ...CallReport[]];
  const firstOf = <Value>(read: (span: CallSpan) => Value | null): Value | null => {
    for (const member of members) {
      const value = read(member.span);
      if (value !== null) return value;
    }
    return null;
  };
  // The span of an agent's call names the called agent, not the caller.
  const namedAgent = agent ?? (use.kind === 'agent' ? null : firstOf((memberSpan) => memberSpan.agent));
  return {
    kind: use.kind,
    name: nameOf(members, best),
    provider,
    agent: namedAgent ?? firstOf((memberSpan) => memberSpan.serviceName) ?? UNNAMED_SERVICE,
    namedAgent,
    countedAt: span.countedAt,
    durationUs: span.end - span.start,
    failed:
      members.some((member) => member.span.failed || failedInside.has(member.span.spanId)) &&
      members.every((member) => !member.use.isFailureCounted),
    times: members.reduce((most, member) => Math.max(most, member.use.times), 1),
    ...(use.kind === 'model'
      ? boundedParts((count) => firstOf((memberSpan) => memberSpan[count]) ?? tokens?.[count] ?? 0)
      : NO_TOKENS),
    span,
    reports: members,
  };
}

/** The tokens of a call. Its spans may report parts that do not fit the input and output of each other. */
function boundedParts(read: (count: (typeof TOKEN_COUNTS)[number]) => number): typeof NO_TOKENS {
  const [inputTokens, outputTokens] = [read('inputTokens'), read('outputTokens')];
  const cacheReadTokens = Math.min(read('cacheReadTokens'), inputTokens);
  return {
    inputTokens,
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens: Math.min(read('cacheWriteTokens'), inputTokens - cacheReadTokens),
    reasoningTokens: Math.min(read('reasoningTokens'), outputTokens),
  };
}

/**
 * The name of a call. For a tool, an MCP client's span is preferred, because it has the server's name of the tool. For a model
 * it is the requested name. Another span of the call may have the name from the response.
 */
function nameOf(members: readonly CallReport[], best: CallReport): string {
  const answered = new Set(members.map(({ use }) => use.responseModel));
  const isExact = ({ use }: CallReport) => (use.kind === 'model' ? !answered.has(use.written) : use.isMcp);
  return (members.find(isExact) ?? best).use.name;
}

/** Sorts children before their parents, and the shorter of two siblings first, because it is nearer to the call. */
function innermostFirst({ reports, outer }: Grouped, indexes: readonly number[]): number[] {
  if (indexes.length < 2) return [...indexes];
  const depths = new Map<number, number>();
  const members = new Set(indexes);
  const depthOf = (index: number): number => {
    const chain: number[] = [];
    let at: number | null = index;
    while (at !== null && members.has(at) && !depths.has(at)) {
      chain.push(at);
      at = outer[at] ?? null;
    }
    let depth = (at === null ? undefined : depths.get(at)) ?? 0;
    for (const member of chain.toReversed()) depths.set(member, (depth += 1));
    return depths.get(index) ?? depth;
  };
  const durationOf = (index: number) => {
    const span = reports[index]?.span;
    return span ? span.end - span.start : 0;
  };
  return indexes.toSorted((a, b) => depthOf(b) - depthOf(a) || durationOf(a) - durationOf(b) || a - b);
}

/**
 * Returns a function that finds the report with the highest certainty, among the reports of one call and all reports around
 * them, because a wrapper may know the provider better than the calls inside it. Of several reports with the highest certainty,
 * it takes the innermost.
 */
function bestInformed({ reports, outer }: Grouped): (group: readonly number[]) => Report | undefined {
  const best = new Map<number, number>();
  /** The best of a report and all reports around it. */
  const bestFrom = (index: number): number => {
    const chain: number[] = [];
    let at: number | null = index;
    while (at !== null && !best.has(at)) {
      chain.push(at);
      at = outer[at] ?? null;
    }
    let found = at === null ? undefined : best.get(at);
    for (const report of chain.toReversed()) {
      if (found === undefined || certainty(report) >= certainty(found)) found = report;
      best.set(report, found);
    }
    return found ?? index;
  };
  const certainty = (index: number) => reports[index]?.use.certainty ?? 0;
  return (group) => {
    let found: number | undefined;
    for (const index of group) {
      const report = bestFrom(index);
      if (found === undefined || certainty(report) > certainty(found)) found = report;
    }
    return found === undefined ? undefined : reports[found];
  };
}

/**
 * Returns a function that finds the provider of a call, by the report that knows it best. A tool that a vendor ran belongs to the
 * vendor of the model around it, otherwise of the models beside it, otherwise of all models in the trace, if they have only one.
 *
 * @param bestOf the report that knows the provider of a model's call best
 */
function providerFinder(
  tree: SpanTree,
  reports: readonly Report[],
  bestOf: (index: number) => Report | undefined,
): (best: Report) => CallUse['provider'] {
  if (reports.every(({ use }) => !use.isOfModel)) return ({ use }) => use.provider;
  type Provider = CallUse['provider'];
  const models = new Map<string, Provider>();
  const soleIn = new Map<string | null, Provider | undefined>();
  const ALL = 'all';
  for (const [index, { span, use }] of reports.entries()) {
    const provider = use.kind === 'model' ? bestOf(index)?.use.provider : undefined;
    if (provider === undefined) continue;
    models.set(span.spanId, provider);
    for (const place of [span.parentSpanId, ALL]) {
      soleIn.set(place, !soleIn.has(place) || soleIn.get(place)?.id === provider.id ? provider : undefined);
    }
  }
  const nearest = tree.nearest(models);
  return ({ span: { spanId, parentSpanId }, use }) => {
    if (!use.isOfModel) return use.provider;
    const around = models.get(spanId) ?? models.get(nearest(spanId) ?? '');
    return around ?? soleIn.get(parentSpanId) ?? soleIn.get(ALL) ?? use.provider;
  };
}

/** The names of agents, by the ids of their spans. */
function agentsOf(reports: readonly Report[]): Map<string, string> {
  const agents = new Map<string, string>();
  for (const { span, use } of reports) {
    if (use.kind === 'agent' && !agents.has(span.spanId)) agents.set(span.spanId, use.name);
  }
  return agents;
}

/** Returns a function that finds the name of the nearest agent around the reports of one call. */
function agentFinder(tree: SpanTree, { reports, outer }: Grouped): (group: readonly number[]) => string | null {
  const agents = agentsOf(reports);
  const nearest = tree.nearest(agents);
  const outermost = new Map<number, number>();
  const outermostOf = (index: number): number => {
    const chain: number[] = [];
    let at = index;
    for (let around = outer[at]; around != null && !outermost.has(at); around = outer[at]) {
      chain.push(at);
      at = around;
    }
    const found = outermost.get(at) ?? at;
    for (const report of chain) outermost.set(report, found);
    return found;
  };
  return (group) => {
    // Starts from the outermost report, because the spans of an agent's own call are not calls by that agent.
    for (const index of new Set(group.map(outermostOf))) {
      const agent = nearest(reports[index]?.span.spanId ?? '');
      if (agent !== null) return agents.get(agent) ?? null;
    }
    return null;
  };
}
