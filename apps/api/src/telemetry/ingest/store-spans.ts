import { together } from '@quartermaster/db/prepared-statement.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { selectFreshSpans } from '@quartermaster/db/repositories/fresh-spans.ts';
import { findKnownSpans } from '@quartermaster/db/repositories/known-spans.ts';
import { insertSpanBlocks } from '@quartermaster/db/repositories/span-blocks.ts';
import { buildSpanBlocks, type SpanBlock } from '@quartermaster/db/span-block.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import type { TenantSettings } from '@quartermaster/contracts/tenants.ts';
import { NOTHING_UNOBSERVED, type Unobserved } from '../../governance/observations/admit-sightings.ts';
import type { AggregationLimits } from '../../governance/observations/aggregate.ts';
import { countUnobserved } from '../../platform/metrics.ts';
import { aggregateSpanCalls } from './aggregate-spans.ts';
import { matchUses } from '../calls/match-uses.ts';
import { aggregationLimits } from './aggregation-limits.ts';
import { additionsOf, type PreparedSpan } from './prepare.ts';
import { recordChannels } from './record-channels.ts';
import type { IngestContext } from './sender.ts';
import type { Records } from './serialized-records.ts';
import { BYTES_PER_KEY, isLimitReached, requireRoom } from './stored-bytes.ts';
import { type BatchedContent, transactionBatches } from './transaction-batches.ts';

/** An estimate of what a span takes in the index. */
const INDEX_BYTES_PER_SPAN = 60;

/** Prepared spans of one account. */
export type SpansToStore = {
  place: TenantPlace;
  sender: string;
  settings: Pick<TenantSettings, 'spanRetentionDays' | 'usageRetentionDays'>;
  spans: Records<PreparedSpan>;
  /** The resources and scopes that the spans refer to by their numbers. */
  texts: readonly string[];
};

/** How many spans were refused, and why. */
export type Refused = { count: number; reasons: readonly string[] };

export const NOTHING_REFUSED: Refused = { count: 0, reasons: [] };

export type StoredSpans = {
  /** Spans that are rejected one by one, with the reason. */
  rejected: ReadonlyMap<PreparedSpan, string>;
  /** Whether the tenant was full after the first transaction, so that the rest was not stored. */
  isFull: boolean;
  /** The spans that were rejected one by one, and those that were not stored because the tenant was full. */
  refused: Refused;
};

/**
 * Stores spans, and aggregates their calls in the same transaction. Many spans take several transactions.
 *
 * @param interrupted ends the work between two transactions, with its reason. What is stored stays
 */
export async function storeSpans(
  services: IngestContext['services'],
  { place, sender, settings, spans, texts }: SpansToStore,
  interrupted?: AbortSignal,
): Promise<StoredSpans> {
  const { db, metrics, tenantLimits, now: clock } = services;
  const limits = aggregationLimits(services, settings);
  const rejected = new Map<PreparedSpan, string>();
  let done = 0;
  for (const batch of transactionBatches(spans, contentOf)) {
    // Only after the first batch: so each attempt makes progress, and a sender who repeats the request succeeds in the end.
    if (done > 0) interrupted?.throwIfAborted();
    // Compressed before the transaction. If some spans turn out to be duplicates, the blocks are built again in it.
    const blocks = await buildSpanBlocks(batch, texts);
    const bytes = bytesOf(blocks);
    try {
      await requireRoom(services, { place, sender, bytes, settings });
    } catch (error) {
      // Some batches are stored already, so the request as a whole must not be refused.
      if (!isLimitReached(error) || done === rejected.size) throw error;
      const refused = { count: rejected.size + spans.length - done, reasons: [...rejected.values(), error.message] };
      metrics.spans.inc({ outcome: 'rejected' }, spans.length - done);
      return { rejected, isFull: true, refused };
    }
    const work = (trx: Database) => store(trx, { place, sender, batch, texts, blocks, limits }, clock());
    const result = await inTransaction(db, work, { lockTenant: place.tenantId });
    tenantLimits.correct(place.tenantId, 'storedBytes', result.bytes - bytes);
    done += batch.length;
    for (const [span, reason] of result.rejected) rejected.set(span, reason);
    metrics.spans.inc({ outcome: 'stored' }, result.stored);
    metrics.spans.inc({ outcome: 'duplicate' }, result.duplicates);
    metrics.spans.inc({ outcome: 'rejected' }, result.rejected.size);
    countUnobserved(metrics, result.unobserved);
  }
  return { rejected, isFull: false, refused: { count: rejected.size, reasons: [...rejected.values()] } };
}

function contentOf({ traceId, interpreted }: PreparedSpan): BatchedContent {
  return { traceId, uses: interpreted?.uses ?? [] };
}

/** How many spans were stored or were duplicates, which were rejected, their bytes, and how many calls were not observed. */
type Stored = {
  stored: number;
  bytes: number;
  duplicates: number;
  rejected: ReadonlyMap<PreparedSpan, string>;
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
  await recordChannels(trx, place, { fresh, batch }, now);
  const stored = fresh.length === batch.length ? blocks : await buildSpanBlocks(fresh, texts);
  const additions = additionsOf(fresh);
  const bytes = await insertSpanBlocks(trx, place, { sender, blocks: stored, additions, known, variants, calls }, now);
  return { ...others, stored: fresh.length, bytes: bytes + keys * BYTES_PER_KEY, unobserved };
}

/** An estimate of what blocks and their index take in storage. */
function bytesOf(blocks: readonly SpanBlock[]): number {
  return blocks.reduce((sum, { body, spans }) => sum + body.length + spans * INDEX_BYTES_PER_SPAN, 0);
}
