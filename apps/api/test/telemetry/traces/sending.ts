import { createHash } from 'node:crypto';
import { unique } from '../../support/people.ts';
import type { Body, Credential, TestServer } from '../../support/server.ts';

export type AttributeInput = string | number | boolean | AttributeInput[];

/** A span. Missing ids are generated. */
export type SpanInput = {
  traceId?: string;
  spanId?: string;
  parentSpanId?: string;
  name?: string;
  /** The number in OTLP: 2 is server, 3 is client. */
  kind?: number;
  /** Nanoseconds since 1970. */
  start?: bigint;
  end?: bigint;
  failed?: boolean;
  /** The resource's `service.name`. */
  service?: string;
  /** Further attributes of the resource. */
  resource?: Record<string, AttributeInput>;
  /** The name of the instrumentation scope. */
  scope?: string;
  attributes?: Record<string, AttributeInput>;
};

const CLIENT = 3;
export const SERVER = 2;
const START = 1_700_000_000_000_000_000n;

/** The current time of the service in nanoseconds since 1970, as spans contain it. */
export function nowInNanoseconds({ services }: Pick<TestServer, 'services'>): bigint {
  return BigInt(services.now().getTime()) * 1_000_000n;
}

/** A new trace id. */
export function newTraceId(): string {
  return digest().slice(0, 32);
}

export function newSpanId(): string {
  return digest().slice(0, 16);
}

function digest(): string {
  return createHash('sha256').update(unique('span')).digest('hex');
}

/** An ExportTraceServiceRequest in JSON. */
export function exportRequest(spans: readonly SpanInput[]) {
  const traceId = newTraceId();
  const resourceOf = ({ service = 'travel-agent', resource }: SpanInput) => ({ 'service.name': service, ...resource });
  const byResource = Map.groupBy(spans, (span) => JSON.stringify(resourceOf(span)));
  return {
    resourceSpans: [...byResource].map(([resource, own]) => ({
      resource: { attributes: keyValues(JSON.parse(resource)) },
      scopeSpans: [...Map.groupBy(own, ({ scope = 'tests' }) => scope)].map(([name, ofScope]) => ({
        scope: { name },
        spans: ofScope.map((span) => wire(span, traceId)),
      })),
    })),
  };
}

function wire(span: SpanInput, traceId: string) {
  const start = span.start ?? START;
  return {
    traceId: span.traceId ?? traceId,
    spanId: span.spanId ?? newSpanId(),
    ...(span.parentSpanId !== undefined && { parentSpanId: span.parentSpanId }),
    name: span.name ?? 'a span',
    kind: span.kind ?? CLIENT,
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(span.end ?? start + 1_000_000n),
    attributes: keyValues(span.attributes ?? {}),
    ...(span.failed === true && { status: { code: 2 } }),
  };
}

function keyValues(attributes: Record<string, AttributeInput>) {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }));
}

function anyValue(value: AttributeInput): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** Sends spans as JSON, and expects that all of them are stored. */
export async function sendSpans(server: TestServer, as: Credential, spans: readonly SpanInput[]): Promise<void> {
  const answer = await server.ok('POST', '/v1/traces', { as, body: exportRequest(spans) });
  if (JSON.stringify(answer) !== '{}') throw new Error(`not all spans were taken: ${JSON.stringify(answer)}`);
}

/** A chat with a model. */
export function chat(model: string, attributes: Record<string, AttributeInput> = {}): SpanInput {
  return {
    name: `chat ${model}`,
    attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': model, ...attributes },
  };
}

/** A tool span of an agent. */
export function toolRun(tool: string, attributes: Record<string, AttributeInput> = {}): SpanInput {
  return {
    name: `execute_tool ${tool}`,
    kind: 1,
    attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': tool, ...attributes },
  };
}

/** A call of an MCP tool. */
export function mcpCall(tool: string, attributes: Record<string, AttributeInput> = {}): SpanInput {
  return {
    name: `tools/call ${tool}`,
    attributes: { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': tool, ...attributes },
  };
}

/** The items of all pages of a list. */
export async function all(server: TestServer, path: string, as: Credential): Promise<Body[]> {
  const items: Body[] = [];
  let cursor: string | null = null;
  do {
    const mark = path.includes('?') ? '&' : '?';
    const page: Body = await server.ok(
      'GET',
      cursor === null ? path : `${path}${mark}cursor=${encodeURIComponent(cursor)}`,
      { as },
    );
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return items;
}
