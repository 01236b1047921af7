import type { TraceFailure } from '@quartermaster/contracts/traces.ts';
import { timeParts } from '@quartermaster/db/nano-time.ts';
import type { TraceAddition } from '@quartermaster/db/repositories/trace-rows.ts';
import type { BlockSpan } from '@quartermaster/db/span-block.ts';
import { type SpanDocument, spanWriter } from '@quartermaster/db/span-document.ts';
import { boundSpan } from '../otlp/bounds.ts';
import type { OtlpSpan } from '../otlp/span.ts';
import type { InterpretedSpan } from '../calls/interpreted-span.ts';
import { errorTypeOf } from '../error-type.ts';
import { environmentOf } from './environment.ts';
import { ScopeCounts } from './scope-counts.ts';
import { contentFilter } from '../content/content.ts';
import { isIdentifier } from '../content/text-forms.ts';
import { withoutEncodedText } from '../encoded-text.ts';
import { withPublicUrls } from '../urls.ts';
import type { Facts, Use } from '../reading/facts.ts';
import { channelOf, type NamedChannel } from '../frameworks/channels.ts';
import { readSpan } from '../frameworks/read.ts';
import { visibleName } from '../reading/visible-name.ts';

/** A span as it is stored, with what it adds to its trace and to observations. Plain data, because it may cross threads. */
export type PreparedSpan = BlockSpan & {
  name: string;
  serviceName: string | null;
  endTime: string;
  failed: boolean;
  errorType: string | null;
  interpreted: InterpretedSpan | null;
  /** The channel that the run of an agent names. Null for other spans. */
  channel: NamedChannel | null;
};

/** Prepares the spans of one batch: does everything that needs no transaction. */
export type SpanPreparer = {
  prepare: (span: OtlpSpan) => PreparedSpan;
  /** The resources and scopes that prepared spans refer to by their numbers. */
  texts: string[];
  /** How many spans of each scope were prepared, and how many of them a dialect recognised. */
  scopes: ScopeCounts;
};

export function spanPreparer({ keepContent }: { keepContent: boolean }): SpanPreparer {
  const filter = contentFilter({ keepContent });
  const { write, texts } = spanWriter();
  const scopes = new ScopeCounts('spans');
  const visible = new Map<string, string>();

  function visibleOf(serviceName: string | null): string | null {
    if (serviceName === null) return null;
    const known = visible.get(serviceName) ?? visibleName(serviceName);
    visible.set(serviceName, known);
    return known;
  }

  function prepare(span: OtlpSpan): PreparedSpan {
    // Read before content is removed, because some names are in attributes that also hold content.
    const { dialect, instrumentation, facts, uses } = readSpan(span);
    scopes.add(span.scope.name, dialect !== null && !isUncounted(facts, uses));
    const serviceName = serviceNameOf(span);
    const stored = boundSpan(filter(span, dialect));
    const { traceId, spanId, parentSpanId, name, startTime, endTime } = stored;
    const failed = stored.status.code === 'error';
    const genAi = facts && summaryOf(facts, keepContent);
    const { line, resource, scope, digest } = write(stored, { serviceName, genAi });
    const interpreted = facts && {
      traceId,
      spanId,
      parentSpanId,
      serviceName: visibleOf(serviceName),
      environment: environmentOf(span),
      dialect,
      scope: instrumentation === undefined ? stored.scope.name : `${stored.scope.name}/${instrumentation}`,
      spanName: name,
      start: microseconds(startTime),
      end: microseconds(endTime),
      // Some frameworks leave the status of a failed call unset.
      failed: failed || facts.errorType !== null,
      facts,
      uses,
    };
    return {
      traceId,
      spanId,
      parentSpanId,
      startTime,
      digest,
      line,
      resource,
      scope,
      name,
      serviceName,
      endTime,
      failed,
      errorType: errorTypeOf(stored),
      interpreted,
      channel: interpreted && channelOf(span, interpreted),
    };
  }

  return { prepare, texts, scopes };
}

/** Whether a span names a model or a tool, but reports no call. Such spans alone do not make a scope count as read. */
function isUncounted(facts: Facts | null, uses: readonly Use[]): boolean {
  if (facts === null || uses.length > 0 || facts.mcpMethod !== null) return false;
  return facts.model !== null || facts.tool !== null;
}

/** What stored spans add to the summaries of their traces. */
export function additionsOf(spans: readonly PreparedSpan[]): TraceAddition[] {
  const additions = new Map<string, TraceAddition>();
  for (const span of spans) {
    const { traceId, serviceName, startTime, endTime } = span;
    const known = additions.get(traceId);
    const addition = known ?? {
      traceId,
      rootName: null,
      serviceName,
      startTime,
      endTime,
      spanCount: 0,
      errorCount: 0,
      services: [],
      models: [],
      tools: [],
      agents: [],
      failures: [],
    };
    if (span.parentSpanId === null) addition.rootName ??= span.name;
    if (startTime < addition.startTime) addition.startTime = startTime;
    if (endTime > addition.endTime) addition.endTime = endTime;
    addition.spanCount += 1;
    if (span.failed) addition.errorCount += 1;
    if (serviceName !== null) addName(addition.services, serviceName);
    addFailures(addition.failures, span);
    for (const { kind, name } of span.interpreted?.uses ?? []) {
      if (kind === 'model') addName(addition.models, name);
      else if (kind === 'tool') addName(addition.tools, name);
      else if (kind === 'agent') addName(addition.agents, name);
    }
    // The span of a call can name the agent that made it, without being a use of the agent.
    const agent = span.interpreted?.facts.agent ?? null;
    if (agent !== null) addName(addition.agents, agent);
    if (!known) additions.set(traceId, addition);
  }
  return [...additions.values()];
}

/** The maximum number of names of one kind in the summary of a trace. */
const MAX_NAMES = 20;

function addName(names: string[], name: string): void {
  if (names.length < MAX_NAMES && !names.includes(name)) names.push(name);
}

/** Adds the target of a span's failed call, such as the name of the tool. */
function addFailures(failures: TraceFailure[], { interpreted, errorType }: PreparedSpan): void {
  if (interpreted?.failed !== true) return;
  for (const { kind, name } of interpreted.uses) {
    if (kind !== 'model' && kind !== 'tool' && kind !== 'agent') continue;
    const isKnown = failures.some((one) => one.kind === kind && one.name === name && one.errorType === errorType);
    if (!isKnown && failures.length < MAX_NAMES) failures.push({ kind, name, errorType });
  }
}

/** Microseconds since 1970. @param time RFC 3339, UTC, with nanoseconds */
function microseconds(time: string): number {
  const { milliseconds, nanoseconds } = timeParts(time);
  return milliseconds * 1000 + Math.floor(nanoseconds / 1000);
}

/** The summary of a span's facts in API answers. */
function summaryOf(facts: Facts, keepContent: boolean): SpanDocument['genAi'] {
  const { operation, vendor, model, agent, tool, conversationId, inputTokens, outputTokens } = facts;
  const idOf = (id: string | null) => (id === null || keepContent || isIdentifier(id) ? id : null);
  return {
    operation: idOf(operation),
    provider: vendor,
    model,
    agent,
    tool,
    conversationId: idOf(conversationId),
    inputTokens,
    outputTokens,
  };
}

export function serviceNameOf(span: Pick<OtlpSpan, 'resource'>): string | null {
  const name = span.resource['service.name'];
  if (typeof name !== 'string' || name === '') return null;
  return withoutEncodedText(withPublicUrls(name.slice(0, 256))).toWellFormed();
}
