import type { CallerContext } from '../../trpc.ts';
import type { PartialSuccess } from '../otlp/span.ts';
import type { PreparedLogs } from './prepare-logs.ts';
import { unreadOf } from './scope-counts.ts';
import { placeOfSender } from './sender.ts';

/**
 * Takes log records. None is stored.
 *
 * @param prepare reads them; a record without a time has that of its receipt
 * @returns what was refused, or null
 */
export async function ingestLogs(
  ctx: Pick<CallerContext, 'services' | 'principal'>,
  prepare: (options: { receivedAt: Date }) => Promise<PreparedLogs>,
): Promise<PartialSuccess | null> {
  const { metrics, now } = ctx.services;
  const place = placeOfSender(ctx.principal);
  const { received, scopes, rejected, reasons } = await prepare({ receivedAt: now() });
  metrics.logRecords.inc({ outcome: 'dropped' }, received);
  metrics.logRecords.inc({ outcome: 'rejected' }, rejected);
  metrics.unreadRecords.inc({ signal: 'logs' }, unreadOf(scopes));
  ctx.services.accountTelemetry.note(ctx.principal, place, scopes);
  return rejected === 0 ? null : { rejected, errorMessage: reasons.join('; ') };
}
