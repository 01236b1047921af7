import * as contract from '@quartermaster/contracts/traces.ts';
import { listSpans } from '@quartermaster/db/repositories/spans.ts';
import { listTraces } from '@quartermaster/db/repositories/traces.ts';
import { scopeOfQuery } from '../../access/places.ts';
import { noteReads } from '../../audit-events/reads.ts';
import { ApiError } from '../../errors.ts';
import { jsonResponse } from '../otlp/json.ts';
import { decodedInput } from '../otlp/typed-input.ts';
import { answerPage } from '../../pages.ts';
import { endpoint, router } from '../../trpc.ts';
import { ingestSpans } from '../ingest/ingest.ts';
import { prepareJson } from '../ingest/prepare-body.ts';

export const tracesRouter = router({
  /** OTLP over HTTP comes in through otlp/receiver.ts, which decodes by itself; this is the way of typed callers. */
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
      createdAfter: query.created_after,
      createdBefore: query.created_before,
    };
    return answerPage(ctx, input, scope, async (page) => {
      const traces = await listTraces(ctx.services.db, scope, filter, page);
      await noteReads(ctx, traces.items, null);
      return traces;
    });
  }),

  spans: endpoint(contract.listTraceSpans).query(({ ctx, input }) => {
    const scope = scopeOfQuery(ctx, input.query);
    const traceId = input.path.trace_id.toLowerCase();
    return answerPage(ctx, input, scope, async (page) => {
      const spans = await listSpans(ctx.services.db, scope, traceId, page);
      if (!spans) throw new ApiError('trace_not_found', 'No trace of this id in your reach.');
      await noteReads(ctx, spans.places, { type: 'trace', id: traceId });
      return spans;
    });
  }),
});
