import { together } from '@quartermaster/db/concurrent-statements.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { selectFreshSpans } from '@quartermaster/db/repositories/fresh-spans.ts';
import { findKnownSpans } from '@quartermaster/db/repositories/known-spans.ts';
import { insertSpanBlocks } from '@quartermaster/db/repositories/span-blocks.ts';
import { findTenantSettings } from '@quartermaster/db/repositories/tenants.ts';
import { buildSpanBlocks, type SpanBlock } from '@quartermaster/db/span-block.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { principalName } from '../../auth/principal.ts';
import type { PartialSuccess } from '../otlp/span.ts';
import type { AggregationLimits } from '../../governance/observations/aggregate.ts';
import { NOTHING_UNOBSERVED, type Unobserved } from '../../governance/observations/admit-sightings.ts';
import { countUnobserved } from '../../platform/metrics.ts';
import { aggregateSpanCalls } from './aggregate-spans.ts';
import { matchUses } from '../calls/match-uses.ts';
import { aggregationLimits } from './aggregation-limits.ts';
import { additionsOf, type PreparedSpan } from './prepare.ts';
import type { PreparedTraces } from './prepare-body.ts';
import { unreadOf } from './scope-counts.ts';
import { type IngestContext, placeOfSender } from './sender.ts';
import type { Records } from './serialized-records.ts';
import { BYTES_PER_KEY, isLimitReached, requireRoom } from './stored-bytes.ts';
import { type BatchedContent, transactionBatches } from './transaction-batches.ts';

/** An estimate of what a span takes in the index. */
const INDEX_BYTES_PER_SPAN = 60;

/**
 * Ingests spans: stores them, and aggregates their calls in the same transaction. The tenant is that of the credential.
 * Nothing in the spans can change it.
 *
 * @param prepare reads the spans, with or without content as the tenant's settings say
 * @param interrupted ends the work between two batches, with its reason. What is stored stays
 * @returns what was refused, or null
 */
export async function ingestSpans(
  ctx: IngestContext,
  prepare: (options: { keepContent: boolean }) => Promise<PreparedTraces<Records<PreparedSpan>>>,
  interrupted?: AbortSignal,
): Promise<PartialSuccess | null> {
  const { db, metrics, tenantLimits, now: clock } = ctx.services;
  const place = placeOfSender(ctx.principal);
  const sender = principalName(ctx.principal);
  const settings = await findTenantSettings(db, place.tenantId);
  const { spans, texts, scopes, rejected, reasons } = await prepare({ keepContent: settings.captureContent });
  const limits = aggregationLimits(ctx.services, settings);
  const total = { stored: 0, duplicates: 0, rejected, reasons: [...reasons] };
  let done = 0;
  for (const batch of transactionBatches(spans, contentOf)) {
    // Not before the first batch: each attempt stores something, so that one that is repeated ends at last.
    if (done > 0) interrupted?.throwIfAborted();
    // Compressed before the transaction. If some spans turn out to be duplicates, the blocks are built again in it.
    const blocks = await buildSpanBlocks(batch, texts);
    const bytes = bytesOf(blocks);
    try {
      await requireRoom(ctx.services, { place, sender, bytes, settings });
    } catch (error) {
      // Some batches are stored already. A refusal of the whole request would be wrong about them.
      if (!isLimitReached(error) || total.stored + total.duplicates === 0) throw error;
      total.rejected += spans.length - done;
      total.reasons.push(error.message);
      break;
    }
    const work = (trx: Database) => store(trx, { place, sender, batch, texts, blocks, limits }, clock());
    const result = await inTransaction(db, work, { lockTenant: place.tenantId });
    tenantLimits.correct(place.tenantId, 'storedBytes', result.bytes - bytes);
    done += batch.length;
    total.stored += result.stored;
    total.duplicates += result.duplicates;
    total.rejected += result.rejected;
    total.reasons.push(...result.reasons);
    countUnobserved(metrics, result.unobserved);
  }
  metrics.spans.inc({ outcome: 'stored' }, total.stored);
  metrics.spans.inc({ outcome: 'duplicate' }, total.duplicates);
  metrics.spans.inc({ outcome: 'rejected' }, total.rejected);
  metrics.unreadRecords.inc({ signal: 'traces' }, unreadOf(scopes));
  ctx.services.telemetry.accounts.note(ctx.principal, place, scopes);
  if (total.rejected === 0) return null;
  return { rejected: total.rejected, errorMessage: [...new Set(total.reasons)].join('; ') };
}

function contentOf({ traceId, interpreted }: PreparedSpan): BatchedContent {
  return { traceId, uses: interpreted?.uses ?? [] };
}

/** How many spans were stored, were duplicates or were rejected, their bytes, and how many calls were not observed. */
type Stored = {
  stored: number;
  bytes: number;
  duplicates: number;
  rejected: number;
  reasons: string[];
  unobserved: Unobserved;
};

type Batch = {
  place: TenantPlace;
  sender: string;
  batch: PreparedSpan[];
  /** The resources and scopes of the spans. */
  texts: readonly string[];
  /** All spans of the batch, compressed. */
  blocks: readonly SpanBlock<PreparedSpan>[];
  limits: AggregationLimits;
};

/** Stores the new spans of a batch, and aggregates their calls. */
async function store(
  trx: Database,
  { place, sender, batch, texts, blocks, limits }: Batch,
  now: Date,
): Promise<Stored> {
  const interpreted = batch.flatMap((span) => span.interpreted ?? []);
  const [known, matched] = await together(trx, [
    () => findKnownSpans(trx, place, { spans: batch, sender }),
    () => matchUses(trx, place, interpreted, now),
  ]);
  const { fresh, variants, ...others } = selectFreshSpans(batch, { known, sender });
  if (fresh.length === 0) return { ...others, stored: 0, bytes: 0, unobserved: NOTHING_UNOBSERVED };
  const callBatch = { matched, fresh, known, sender, limits };
  const { calls, unobserved, keys } = await aggregateSpanCalls(trx, place, callBatch, now);
  const stored = fresh.length === batch.length ? blocks : await buildSpanBlocks(fresh, texts);
  const additions = additionsOf(fresh);
  const bytes = await insertSpanBlocks(trx, place, { sender, blocks: stored, additions, known, variants, calls }, now);
  return { ...others, stored: fresh.length, bytes: bytes + keys * BYTES_PER_KEY, unobserved };
}

/** An estimate of what blocks and their index take in storage. */
function bytesOf(blocks: readonly SpanBlock[]): number {
  return blocks.reduce((sum, { body, spans }) => sum + body.length + spans * INDEX_BYTES_PER_SPAN, 0);
}
