import type { Database } from '@quartermaster/db/database.ts';
import { findTenantSettings } from '@quartermaster/db/repositories/tenants.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { principalName } from '../../auth/principal.ts';
import { countUnobserved } from '../../platform/metrics.ts';
import { aggregateRecordCalls } from './aggregate-records.ts';
import type { InterpretedRecord } from '../calls/interpreted-record.ts';
import type { PartialSuccess } from '../otlp/span.ts';
import { aggregationLimits } from './aggregation-limits.ts';
import type { PreparedLogs } from './prepare-logs.ts';
import { unreadOf } from './scope-counts.ts';
import { type IngestContext, noteRejected, placeOfSender } from './sender.ts';
import type { Records } from './serialized-records.ts';
import { BYTES_PER_KEY, isLimitReached, requireRoom } from './stored-bytes.ts';
import { type BatchedContent, transactionBatches } from './transaction-batches.ts';

/** An estimate of what a record takes in storage, before it is known how many keys are stored for its call: usually two. */
const BYTES_PER_RECORD = 500;

/**
 * Ingests log records: counts the calls that they report. The records themselves are not stored. A call that spans and several
 * records report counts once, and so does a record that is sent again. What is stored of the calls counts against the same
 * limit of bytes as spans.
 *
 * @param prepare reads the records. A record without a time gets the time of receipt
 * @param interrupted ends the work between two batches, with its reason. What is counted stays
 * @returns what was refused, or null
 */
export async function ingestLogs(
  ctx: IngestContext,
  prepare: (options: { receivedAt: Date }) => Promise<PreparedLogs<Records<InterpretedRecord>>>,
  interrupted?: AbortSignal,
): Promise<PartialSuccess | null> {
  const { metrics, now } = ctx.services;
  const place = placeOfSender(ctx.principal);
  const { received, reporting, scopes, ...refused } = await prepare({ receivedAt: now() });
  const limit =
    reporting.length === 0 ? NOTHING_REFUSED : await aggregateRecords(ctx, place, { reporting, interrupted });
  const rejected = refused.rejected + limit.rejected;
  const reasons = [...refused.reasons, ...limit.reasons];
  metrics.logRecords.inc({ outcome: 'dropped' }, received - reporting.length);
  metrics.logRecords.inc({ outcome: 'rejected' }, rejected);
  metrics.unreadRecords.inc({ signal: 'logs' }, unreadOf(scopes));
  ctx.services.telemetry.accounts.note(ctx.principal, place, scopes);
  return rejected === 0 ? null : noteRejected(ctx, place, { rejected, reasons });
}

function contentOf({ traceId, spanId, reading }: InterpretedRecord): BatchedContent {
  const { uses, tokensOf, failureOf, rejected } = reading;
  return {
    // The stored spans of its trace are read if it names a span.
    traceId: spanId === null ? null : traceId,
    uses: [...uses, ...[tokensOf, failureOf, rejected].filter((use) => use !== undefined)],
  };
}

type Refused = { rejected: number; reasons: string[] };
const NOTHING_REFUSED: Refused = { rejected: 0, reasons: [] };

/** @returns the records that were refused because a limit was reached after the first ones */
async function aggregateRecords(
  { services, principal }: IngestContext,
  place: TenantPlace,
  { reporting, interrupted }: { reporting: Records<InterpretedRecord>; interrupted: AbortSignal | undefined },
): Promise<Refused> {
  const { db, metrics, now, tenantLimits } = services;
  const settings = await findTenantSettings(db, place.tenantId);
  const limits = aggregationLimits(services, settings);
  const sender = principalName(principal);
  let done = 0;
  for (const records of transactionBatches(reporting, contentOf)) {
    // Only after the first batch: so each attempt makes progress, and a sender who repeats the request succeeds in the end.
    if (done > 0) interrupted?.throwIfAborted();
    const bytes = records.length * BYTES_PER_RECORD;
    try {
      await requireRoom(services, { place, sender, bytes, settings });
    } catch (error) {
      // Some batches are counted already, so the request as a whole must not be refused.
      if (!isLimitReached(error) || done === 0) throw error;
      return { rejected: reporting.length - done, reasons: [error.message] };
    }
    const work = (trx: Database) => aggregateRecordCalls(trx, place, { records, sender, limits }, now());
    const result = await inTransaction(db, work, { lockTenant: place.tenantId });
    done += records.length;
    tenantLimits.correct(place.tenantId, 'storedBytes', result.keys * BYTES_PER_KEY - bytes);
    metrics.logRecords.inc({ outcome: 'counted' }, result.counted);
    metrics.logRecords.inc({ outcome: 'known' }, result.known);
    countUnobserved(metrics, result.unobserved);
  }
  return NOTHING_REFUSED;
}
