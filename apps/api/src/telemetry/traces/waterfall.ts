import type { Span, SpanOutline } from '@quartermaster/contracts/traces.ts';
import type { Page, PageKey, PageRequest } from '@quartermaster/db/queries.ts';
import { listSpans } from '@quartermaster/db/repositories/spans.ts';
import { stringifyWithStoredJson } from '@quartermaster/db/stored-json.ts';
import type { TenantPlace, TenantScope } from '@quartermaster/db/tenancy.ts';
import type { CallerContext } from '../../auth/context.ts';
import { noteReads } from '../../platform/audit/reads.ts';
import { reachOf } from '../../auth/principal.ts';
import { ApiError } from '../../platform/errors.ts';
import { errorTypeOf } from '../error-type.ts';
import { shortened, UsesOfSpans } from './span-uses.ts';

/** Spans that are read and parsed before other requests get a turn. */
const SPANS_AT_ONCE = 500;

/** Bytes of whole spans that one answer reads. */
const MAX_READ_BYTES = 64 * 1024 * 1024;

const SPANS_PER_POINT = 1000;

/** Observations of the models, tools and agents in the spans. */
const OBSERVATIONS_PER_POINT = 100;

/** One page of the spans of a trace in their short form. @throws 404 where nothing in the scope has the trace */
export async function readWaterfall(
  ctx: CallerContext,
  scope: TenantScope,
  traceId: string,
  { limit, after }: PageRequest,
): Promise<Page<SpanOutline>> {
  const { services, principal } = ctx;
  const items: SpanOutline[] = [];
  const uses = new UsesOfSpans();
  const places = new Map<string, TenantPlace>();
  let bytes = 0;
  let next: PageKey | null = after;
  do {
    const page = { limit: Math.min(SPANS_AT_ONCE, limit - items.length), after: next };
    const spans: Awaited<ReturnType<typeof listSpans>> = await listSpans(services.db, scope, traceId, page);
    if (!spans) throw new ApiError('trace_not_found', 'There is no trace with this id in your reach.');
    for (const stored of spans.items) {
      const text = stringifyWithStoredJson(stored);
      bytes += text.length;
      const span = JSON.parse(text) as Span;
      const outline = outlineOf(span);
      items.push(outline);
      uses.add(span, outline);
    }
    for (const place of spans.places) places.set(JSON.stringify(place), place);
    next = spans.next;
  } while (next !== null && items.length < limit && bytes < MAX_READ_BYTES);
  const observations = await uses.resolve(services.db, reachOf(principal, 'runtime_observations:read'));
  await noteReads(ctx, [...places.values()], { type: 'trace', id: traceId });
  const points = Math.floor(items.length / SPANS_PER_POINT) + Math.floor(observations / OBSERVATIONS_PER_POINT);
  await ctx.charge(points);
  return { items, next };
}

function outlineOf(span: Span): SpanOutline {
  const { spanId, parentSpanId, tenantId, subTenantId, name, kind, startTime, durationMs } = span;
  const { status, serviceName, genAi, conflicting } = span;
  return {
    spanId,
    parentSpanId,
    tenantId,
    subTenantId,
    name: shortened(name),
    kind,
    startTime,
    durationMs,
    error: status.code === 'error',
    errorType: errorTypeOf(span),
    serviceName,
    genAi: genAi && { operation: genAi.operation, model: genAi.model, agent: genAi.agent, tool: genAi.tool },
    uses: [],
    conflicting,
  };
}
