import { findTenantSettings } from '@quartermaster/db/repositories/tenants.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { principalName } from '../../access/principal.ts';
import type { CallerContext } from '../../trpc.ts';
import { countUnobserved } from '../../metrics.ts';
import { foldReadings } from '../calls/fold-readings.ts';
import type { PartialSuccess } from '../otlp/span.ts';
import type { PreparedLogs } from './prepare-logs.ts';
import { unreadOf } from './scope-counts.ts';
import { placeOfSender } from './sender.ts';

/** What a record takes, about: a few keys of its call, and what it may add to observations and usage. */
const BYTES_OF_RECORD = 500;

/** Records folded in one transaction, as many as exporters send at once: other writers have their turns in between. */
const RECORDS_OF_TRANSACTION = 512;

/**
 * Takes log records: counts the calls that they tell of, and stores no record. A call that a span or another record told
 * of counts once, and so does a record that is sent again.
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
  const { received, told, scopes, rejected, reasons } = await prepare({ receivedAt: now() });
  if (told.length > 0) await foldTold(ctx, told);
  metrics.logRecords.inc({ outcome: 'dropped' }, received - told.length);
  metrics.logRecords.inc({ outcome: 'rejected' }, rejected);
  metrics.unreadRecords.inc({ signal: 'logs' }, unreadOf(scopes));
  ctx.services.accountTelemetry.note(ctx.principal, place, scopes);
  return rejected === 0 ? null : { rejected, errorMessage: reasons.join('; ') };
}

async function foldTold(
  { services, principal }: Pick<CallerContext, 'services' | 'principal'>,
  told: PreparedLogs['told'],
): Promise<void> {
  const { db, metrics, tenantLimits, now } = services;
  const place = placeOfSender(principal);
  const settings = await findTenantSettings(db, place.tenantId);
  const limits = {
    observations: services.maxObservations,
    tenantLimits,
    usageSeries: services.maxUsageSeries,
    usageRetentionDays: settings.usageRetentionDays,
  };
  const sender = principalName(principal);
  for (let start = 0; start < told.length; start += RECORDS_OF_TRANSACTION) {
    const records = told.slice(start, start + RECORDS_OF_TRANSACTION);
    await tenantLimits.add(db, place.tenantId, 'storedBytes', records.length * BYTES_OF_RECORD);
    // Batches of one tenant fold into the same observations.
    const folded = await inTransaction(db, (trx) => foldReadings(trx, place, { records, sender, limits }, now()), {
      turnOf: place.tenantId,
    });
    metrics.logRecords.inc({ outcome: 'counted' }, folded.counted);
    metrics.logRecords.inc({ outcome: 'known' }, folded.known);
    countUnobserved(metrics, folded.unobserved);
  }
}
