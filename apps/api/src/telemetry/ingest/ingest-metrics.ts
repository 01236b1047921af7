import { type IngestContext, placeOfSender } from './sender.ts';

/** Ingests metrics: only counts the data points. Calls and tokens are counted from spans and log records. */
export async function ingestMetrics(ctx: IngestContext, countPoints: () => Promise<number>): Promise<void> {
  const { metrics, telemetry } = ctx.services;
  const place = placeOfSender(ctx.principal);
  const records = await countPoints();
  metrics.dataPoints.inc({ outcome: 'dropped' }, records);
  const problem = { reason: 'metrics_dropped', requests: 1, records, detail: null } as const;
  telemetry.accounts.noteProblem(ctx.principal, place, problem);
}
