import * as contract from '@quartermaster/contracts/traces.ts';
import { listSpans } from '@quartermaster/db/repositories/spans.ts';
import { listTraces } from '@quartermaster/db/repositories/traces.ts';
import { scopeOfQuery } from '../../auth/places.ts';
import { noteReads } from '../../platform/audit/reads.ts';
import { ApiError } from '../../platform/errors.ts';
import { jsonResponse } from '../otlp/json.ts';
import { decodedInput } from '../otlp/typed-input.ts';
import { answerPage } from '../../http/cursors.ts';
import { endpoint, router } from '../../http/trpc.ts';
import { ingestSpans } from '../ingest/ingest.ts';
import { readWaterfall } from './waterfall.ts';
import { prepareJson } from '../ingest/prepare-body.ts';

export const tracesRouter = router({
  /** For typed tRPC callers. OTLP/HTTP requests are handled by ingest/receiver.ts. */
  ingest: endpoint(contract.ingestTraces).mutation(async ({ ctx, input }) => {
    const refused = await ingestSpans(ctx, async (options) => decodedInput(() => prepareJson(input.body, options)));
    return jsonResponse('traces', refused);
  }),

  list: endpoint(contract.listTraces).query(({ ctx, input }) => {
    const scope = scopeOfQuery(ctx, input.query);
    const { query } = input;
    const filter = {
      serviceName: query.service_name,
      service: query.service,
      model: query.model,
      tool: query.tool,
      agent: query.agent,
      minDurationMs: query.min_duration_ms,
      errorsOnly: query.errors_only,
      failedKind: query.failed_kind,
      failedName: query.failed_name,
      startedAfter: query.started_after,
      startedBefore: query.started_before,
      createdAfter: query.created_after,
      createdBefore: query.created_before,
    };
    return answerPage(ctx, input, scope, async (page) => {
      const traces = await listTraces(ctx.services.db, scope, filter, page);
      await noteReads(ctx, traces.items, null);
      return traces;
    });
  }),

  waterfall: endpoint(contract.getTraceWaterfall).query(({ ctx, input }) => {
    const scope = scopeOfQuery(ctx, input.query);
    const traceId = input.path.trace_id.toLowerCase();
    return answerPage(ctx, input, scope, (page) => readWaterfall(ctx, scope, traceId, page));
  }),

  spans: endpoint(contract.listTraceSpans).query(({ ctx, input }) => {
    const scope = scopeOfQuery(ctx, input.query);
    const traceId = input.path.trace_id.toLowerCase();
    const spanId = input.query.span_id?.toLowerCase();
    return answerPage(ctx, input, scope, async (page) => {
      const spans = await listSpans(ctx.services.db, scope, traceId, { ...page, spanId });
      if (!spans) throw new ApiError('trace_not_found', 'There is no trace with this id in your reach.');
      await noteReads(ctx, spans.places, { type: 'trace', id: traceId });
      return spans;
    });
  }),
});
