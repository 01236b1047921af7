import * as contract from '@quartermaster/contracts/metrics.ts';
import { endpoint, router } from '../../trpc.ts';
import { ingestMetrics } from '../ingest/ingest-metrics.ts';
import { countDataPointsJson } from '../otlp/metrics.ts';
import { decodedInput } from '../otlp/typed-input.ts';

export const metricsRouter = router({
  /** OTLP comes in through ingest/receiver.ts, which decodes by itself; this is the way of typed callers. */
  ingest: endpoint(contract.ingestMetrics).mutation(async ({ ctx, input }) => {
    await ingestMetrics(ctx, async () => decodedInput(() => countDataPointsJson(input.body)));
    return {};
  }),
});
