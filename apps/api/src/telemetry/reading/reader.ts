import { withoutEncodedId } from '../encoded-text.ts';
import { AGENT_CALL_NAMES } from './agent-calls.ts';
import { TOTAL_TOKENS } from './cached-tokens.ts';
import type { Dialect, LogSource, ReadSource } from './dialect.ts';
import { type FactReader, factReader } from './fact-reader.ts';
import { boundedText, compileSlots, sourcesOf } from './fact-slots.ts';
import type { Facts, Reading, Use } from './facts.ts';
import { isModelCall } from './operations.ts';
import { recogniser } from './recognise.ts';
import { WAITING_NAMES, waitsForAnswer } from './rejections.ts';
import { serverToolsIn, withServerTools } from './server-tools.ts';
import { matchesSpan } from './span-pattern.ts';
import { CLIENT_ADDRESS, usesOf } from './uses.ts';
import { boundedId } from './visible-name.ts';

/** Reads spans and log records. */
type Reader = {
  /** Recognises the dialect of a span, and reads it. */
  readSpan: (span: ReadSource) => Reading;
  /** Reads a log record. The reading of an event that no dialect lists is empty, and names no dialect. */
  readLogRecord: (record: LogSource) => Reading;
  /**
   * Every attribute name that is read. Decoders keep these attributes beyond their limit, because instrumentations that flatten
   * a long conversation into hundreds of attributes write the model and the token counts after it.
   */
  readNames: ReadonlySet<string>;
};

type Compiled = { dialect: Dialect; read: FactReader };
type CompiledEvent = Compiled & {
  name: string;
  isCommonName: boolean;
  counts: (record: LogSource) => boolean;
  tokensOnly: (record: LogSource) => boolean;
  isFailure: boolean;
  isRejection: boolean;
};

/** The maximum number of uses of one span. Bounded because calls are compared in pairs. */
const MAX_USES = 64;

/** Patterns are matched against at most this many characters of a span's name. */
const MAX_SPAN_NAME = 1024;

export function dialectReader(dialects: readonly Dialect[]): Reader {
  const { dialectOf, nextAfter } = recogniser(dialects);
  const compiled = new Map<Dialect | null, Compiled>(
    dialects.map((dialect) => [dialect, { dialect, read: factReader(dialect) }]),
  );
  const events = Map.groupBy([...compiled.values()].flatMap(compileEvents), ({ name }) => name);
  return {
    readSpan(span) {
      const found = compiled.get(dialectOf(span.scope, span.attributes));
      if (!found) return emptyReading(null);
      const { dialect } = found;
      if (span.attributes[SPAN_TYPE_OF_LOGFIRE] === 'pending_span') return emptyReading(dialect);
      const source = span.name.length > MAX_SPAN_NAME ? { ...span, name: span.name.slice(0, MAX_SPAN_NAME) } : span;
      const read = found.read(source);
      if (read !== null) return readingOf(dialect, source, read);
      const next = compiled.get(nextAfter(dialect, span.scope, span.attributes));
      const readNext = next?.read(source) ?? null;
      return next && readNext !== null ? readingOf(next.dialect, source, readNext) : readingOf(dialect, source, null);
    },
    readLogRecord(given) {
      const ofScope = dialectOf(given.scope, {});
      const named = events.get(given.eventName ?? '') ?? [];
      const event = named.find((candidate) => candidate.dialect === ofScope) ?? named[0];
      if (!event) return emptyReading(null);
      const { dialect, read, isCommonName, counts, tokensOnly, isFailure, isRejection } = event;
      const record = withDataOfBody(given);
      if (isCommonName && ofScope !== dialect) return emptyReading(null);
      // A framework that has events of its own may repeat them as events of the conventions.
      if (dialect.endings !== undefined && ofScope !== null && ofScope !== dialect) return emptyReading(ofScope);
      if (!counts(record)) return emptyReading(dialect);
      const source: ReadSource = { ...record, name: record.eventName ?? '', kind: 'internal' };
      const reading = readingOf(dialect, source, read(source));
      if (isFailure) return withoutCall(reading, 'failureOf');
      if (isRejection) return withoutCall(reading, 'rejected');
      return tokensOnly(record) ? withoutCall(reading, 'tokensOf') : reading;
    },
    readNames: new Set([
      ...dialects.flatMap(namesOf),
      ...AGENT_CALL_NAMES,
      ...TOTAL_TOKENS,
      ...WAITING_NAMES,
      SPAN_TYPE_OF_LOGFIRE,
      OUTPUT_MESSAGES,
      CLIENT_ADDRESS,
    ]),
  };
}

/** Logfire sends a span that begins as a span of its own, `pending_span`, and sends it again when it has ended. */
const SPAN_TYPE_OF_LOGFIRE = 'logfire.span_type';

/** Adds the second text of a body that is a list as the attribute `body`. */
function withDataOfBody(record: LogSource): LogSource {
  const data = Array.isArray(record.body) ? record.body[1] : undefined;
  return typeof data === 'string' ? { ...record, attributes: { ...record.attributes, body: data } } : record;
}

function readingOf(dialect: Dialect, source: ReadSource, read: ReturnType<FactReader>): Reading {
  if (read === null) return emptyReading(dialect.endings === undefined ? dialect : null);
  if (wasRejected(dialect, source, read.facts)) return { dialect: dialect.name, facts: read.facts, uses: [] };
  const usual = usesOf(source, read.facts, read.isWrapper);
  const dialectUses = usesByDialect(dialect, source, { facts: read.facts, usual });
  const counted = isUncountedModelCall(source, dialectUses) ? [...dialectUses, ...modelOf(read.facts)] : dialectUses;
  const answer = dialect.serverToolsHaveSpans ? undefined : source.attributes[OUTPUT_MESSAGES];
  const uses = answer === undefined ? counted : withServerTools(read.facts, counted, () => serverToolsIn(answer));
  const written = source.attributes[dialect.instrumentation ?? ''];
  const instrumentation = typeof written === 'string' ? boundedText(written) : null;
  return {
    dialect: dialect.name,
    ...(instrumentation !== null && { instrumentation: boundedId(withoutEncodedId(instrumentation)) }),
    facts: read.facts,
    uses: uses.length > MAX_USES ? boundedUses(uses) : uses,
  };
}

/** The uses by the dialect's own rules. */
function usesByDialect(dialect: Dialect, source: ReadSource, { facts, usual }: { facts: Facts; usual: Use[] }): Use[] {
  if (dialect.ignored && matchesSpan(dialect.ignored, source, facts)) return [];
  const uses = dialect.uses?.(source, facts, usual) ?? usual;
  const answer = source.attributes[dialect.answer ?? ''];
  return answer === undefined ? uses : withServerTools(facts, uses, () => serverToolsIn(answer));
}

function wasRejected(dialect: Dialect, source: ReadSource, facts: Facts): boolean {
  if (facts.tool === null || facts.operation !== 'execute_tool') return false;
  // The error of an MCP call may be the server's own text.
  if (facts.mcpMethod === null && waitsForAnswer(source)) return true;
  if (dialect.rejected && matchesSpan(dialect.rejected, source, facts)) return true;
  return dialect.wasRejected?.(source, facts) ?? false;
}

/** The conventional attribute of a model's answer. */
const OUTPUT_MESSAGES = 'gen_ai.output.messages';

/** Whether a client span has a conventional model operation, although none of its uses is a model. Its model then counts. */
function isUncountedModelCall({ kind, attributes }: ReadSource, uses: readonly Use[]): boolean {
  if (kind !== 'client' || !isModelCall(attributes['gen_ai.operation.name'])) return false;
  return uses.every((use) => use.kind !== 'model');
}

function modelOf({ model }: Facts): Use[] {
  return model === null ? [] : [{ kind: 'model', name: model }];
}

/** At most 64 distinct uses, because the answer in one span may list thousands. */
function boundedUses(uses: readonly Use[]): Use[] {
  const distinct = new Map(uses.map((use) => [`${use.kind} ${use.name}`, use]));
  return [...distinct.values()].slice(0, MAX_USES);
}

/** The call moves from `uses` to another field. */
function withoutCall({ uses, ...reading }: Reading, field: 'tokensOf' | 'failureOf' | 'rejected'): Reading {
  const [use] = uses;
  return use === undefined ? { ...reading, uses } : { ...reading, uses: [], [field]: use };
}

function emptyReading(dialect: Dialect | null): Reading {
  return { dialect: dialect?.name ?? null, facts: null, uses: [] };
}

function compileEvents({ dialect }: Compiled): CompiledEvent[] {
  return Object.entries(dialect.logs ?? {}).map(([name, event]) => {
    const { operation, attributes = {}, isCommonName = false, counts = () => true, tokensOnly = () => false } = event;
    const { isFailure = false, isRejection = false } = event;
    const read = factReader(dialect, { operation, sources: attributes });
    return { name, dialect, read, isCommonName, counts, tokensOnly, isFailure, isRejection };
  });
}

/** The attributes that a dialect reads, as it declares them. */
export function namesOf(dialect: Dialect): string[] {
  const { signature = [], logs = {}, uncounted = {}, ignored = {}, rejected = {}, answer, alsoReads = [] } = dialect;
  const ofEvents = Object.values(logs).map(({ attributes = {} }) => attributes);
  return [
    ...compileSlots(sourcesOf(dialect), uncounted, ...ofEvents).keys(),
    ...signature.filter((name) => !name.endsWith('.*')),
    ...[dialect.instrumentation, answer].filter((name) => name !== undefined),
    ...[ignored, rejected].flatMap(({ attributes = {} }) => Object.keys(attributes)),
    ...alsoReads,
  ];
}
