import * as contract from '@quartermaster/contracts/metrics.ts';
import { endpoint, router } from '../../http/trpc.ts';
import { ingestMetrics } from '../ingest/ingest-metrics.ts';
import { countDataPointsJson } from '../otlp/metrics.ts';
import { decodedInput } from '../otlp/typed-input.ts';

export const metricsRouter = router({
  /** For typed tRPC callers. OTLP/HTTP requests are handled by ingest/receiver.ts. */
  ingest: endpoint(contract.ingestMetrics).mutation(async ({ ctx, input }) => {
    await ingestMetrics(ctx, async () => decodedInput(() => countDataPointsJson(input.body)));
    return {};
  }),
});
