import { mcpCall, newSpanId, newTraceId, type SpanInput, toolRun } from '../traces/sending.ts';

const MS = 1_000_000n;
const START = 1_700_000_000_000n * MS;

/** A span of one trace, with start and end in milliseconds. */
export function at(traceId: string, input: SpanInput, from = 0, to = from + 10): SpanInput & { spanId: string } {
  return { ...input, traceId, spanId: newSpanId(), start: START + BigInt(from) * MS, end: START + BigInt(to) * MS };
}

/** A tool call as an agent reports it, and within it the same call as the MCP client reports it. */
export function outerAndInner() {
  const traceId = newTraceId();
  const outer = at(traceId, toolRun('echo'), 0, 30);
  const inner = at(traceId, mcpCall('echo', { 'server.address': 'mcp.example.com' }), 5, 15);
  return { outer, inner: { ...inner, parentSpanId: outer.spanId } };
}
