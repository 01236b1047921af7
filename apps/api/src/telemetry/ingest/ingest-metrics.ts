import type { CallerContext } from '../../trpc.ts';
import { placeOfSender } from './sender.ts';

/** Takes metrics, and drops them: calls and tokens are counted from spans and log records. */
export async function ingestMetrics(
  ctx: Pick<CallerContext, 'services' | 'principal'>,
  countPoints: () => Promise<number>,
): Promise<void> {
  placeOfSender(ctx.principal);
  ctx.services.metrics.dataPoints.inc({ outcome: 'dropped' }, await countPoints());
}
