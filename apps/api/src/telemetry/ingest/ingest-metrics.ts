import { type IngestContext, placeOfSender } from './sender.ts';

/** Ingests metrics: only counts the data points. Calls and tokens are counted from spans and log records. */
export async function ingestMetrics(ctx: IngestContext, countPoints: () => Promise<number>): Promise<void> {
  placeOfSender(ctx.principal);
  ctx.services.metrics.dataPoints.inc({ outcome: 'dropped' }, await countPoints());
}
