import type { Random } from './random.ts';
import type { Step } from './trace-shapes.ts';

/** A span in OTLP's JSON form. */
export type OtlpSpan = Record<string, unknown>;

const KINDS = { internal: 1, client: 3 };
const STATUS_ERROR = 2;

/** The spans of a trace. Siblings run one after the other, and a parent takes a bit longer than all its children. */
export function spansOf(root: Step, { random, start }: { random: Random; start: number }): OtlpSpan[] {
  const traceId = random.hex(32);
  const spans: OtlpSpan[] = [];
  const add = (step: Step, parentSpanId: string | null, startMs: number): number => {
    const spanId = random.hex(16);
    const index = spans.push({}) - 1;
    let endMs = startMs + step.durationMs / 2;
    for (const child of step.children) endMs = add(child, spanId, endMs);
    endMs += step.durationMs / 2;
    const errorAttributes = step.error === undefined ? {} : { 'error.type': step.error.type };
    spans[index] = {
      traceId,
      spanId,
      ...(parentSpanId !== null && { parentSpanId }),
      name: step.name,
      kind: KINDS[step.kind],
      startTimeUnixNano: nanoseconds(startMs),
      endTimeUnixNano: nanoseconds(endMs),
      attributes: attributesOf({ ...step.attributes, ...errorAttributes }),
      ...(step.error !== undefined && { status: { code: STATUS_ERROR, message: step.error.message } }),
    };
    return endMs;
  };
  add(root, null, start);
  return spans;
}

export function durationOf({ durationMs, children }: Step): number {
  return children.reduce((sum, child) => sum + durationOf(child), durationMs);
}

/** The service that sends, and its environment. Null if it does not say. */
export type Sender = { service: string; environment: string | null };

/** An ExportTraceServiceRequest with the spans of one service. @param scope the name of the instrumentation */
export function exportRequest({ service, environment }: Sender, spans: OtlpSpan[], scope = 'quartermaster-seed') {
  const resource = {
    attributes: attributesOf({
      'service.name': service,
      ...(environment !== null && { 'deployment.environment.name': environment }),
    }),
  };
  return { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: scope }, spans }] }] };
}

function attributesOf(attributes: Record<string, string | number>) {
  return Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'string' ? { stringValue: value } : { intValue: String(value) },
  }));
}

function nanoseconds(milliseconds: number): string {
  return String(BigInt(Math.round(milliseconds * 1000)) * 1000n);
}
