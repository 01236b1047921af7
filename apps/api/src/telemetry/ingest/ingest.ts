import type { Database } from '@quartermaster/db/database.ts';
import { selectFreshSpans } from '@quartermaster/db/repositories/fresh-spans.ts';
import { findKnownSpans } from '@quartermaster/db/repositories/known-spans.ts';
import { insertSpanBlocks } from '@quartermaster/db/repositories/span-blocks.ts';
import { findTenantSettings } from '@quartermaster/db/repositories/tenants.ts';
import { buildSpanBlocks, type SpanBlock } from '@quartermaster/db/span-block.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { principalName } from '../../access/principal.ts';
import type { PartialSuccess } from '../otlp/span.ts';
import type { FoldLimits } from '../../runtime-observations/fold.ts';
import { NOTHING_UNOBSERVED, type Unobserved } from '../../runtime-observations/within-limits.ts';
import type { CallerContext } from '../../trpc.ts';
import { countUnobserved } from '../../metrics.ts';
import { foldCalls } from '../calls/fold-calls.ts';
import { additionsOf, type PreparedSpan } from './prepare.ts';
import type { PreparedTraces } from './prepare-body.ts';
import { unreadOf } from './scope-counts.ts';
import { placeOfSender } from './sender.ts';

/**
 * Spans stored and folded in one transaction, four times what exporters send at once. A larger request takes several, so
 * that nobody else's write waits for all of it; what is stored when one fails is not counted twice by a retry.
 */
const SPANS_OF_TRANSACTION = 2000;

/** What the index takes for a span, about. */
const INDEX_BYTES_PER_SPAN = 60;

/** Names in one transaction that the request says for the first time: each may be new, and what is new takes the longest. */
const NAMES_OF_TRANSACTION = 100;

/**
 * Stores spans, and folds each into observations in the transaction that stores it. The tenant is the credential's
 * alone: nothing in the spans can say otherwise.
 *
 * @param prepare reads them as the tenant wants them stored
 * @returns what was refused, or null
 */
export async function ingestSpans(
  ctx: Pick<CallerContext, 'services' | 'principal'>,
  prepare: (options: { keepContent: boolean }) => Promise<PreparedTraces>,
): Promise<PartialSuccess | null> {
  const { db, metrics, tenantLimits, now: clock } = ctx.services;
  const place = placeOfSender(ctx.principal);
  const sender = principalName(ctx.principal);
  const settings = await findTenantSettings(db, place.tenantId);
  const { spans, texts, scopes, rejected, reasons } = await prepare({ keepContent: settings.captureContent });
  const limits: FoldLimits = {
    observations: ctx.services.maxObservations,
    tenantLimits,
    usageSeries: ctx.services.maxUsageSeries,
    usageRetentionDays: settings.usageRetentionDays,
  };
  const total = { stored: 0, duplicates: 0, rejected, reasons: [...reasons] };
  for (const batch of inTransactions(spans)) {
    // Compressed before the transaction, as if all were new: they nearly always are.
    const blocks = await buildSpanBlocks(batch, texts);
    await tenantLimits.add(db, place.tenantId, 'storedBytes', bytesOf(blocks));
    // Batches of one tenant fold into the same observations.
    const work = (trx: Database) => store(trx, { place, sender, batch, texts, blocks, limits }, clock());
    const done = await inTransaction(db, work, { turnOf: place.tenantId });
    total.stored += done.stored;
    total.duplicates += done.duplicates;
    total.rejected += done.rejected;
    total.reasons.push(...done.reasons);
    countUnobserved(metrics, done.unobserved);
  }
  metrics.spans.inc({ outcome: 'stored' }, total.stored);
  metrics.spans.inc({ outcome: 'duplicate' }, total.duplicates);
  metrics.spans.inc({ outcome: 'rejected' }, total.rejected);
  metrics.unreadRecords.inc({ signal: 'traces' }, unreadOf(scopes));
  ctx.services.accountTelemetry.note(ctx.principal, place, scopes);
  if (total.rejected === 0) return null;
  return { rejected: total.rejected, errorMessage: [...new Set(total.reasons)].join('; ') };
}

/** What became of spans. */
type Stored = { stored: number; duplicates: number; rejected: number; reasons: string[]; unobserved: Unobserved };

/** The spans of each transaction, in their order. */
function* inTransactions(spans: readonly PreparedSpan[]): Generator<PreparedSpan[]> {
  const names = new Set<string>();
  let start = 0;
  let namesBefore = 0;
  for (const [index, { folded }] of spans.entries()) {
    for (const { kind, name } of folded?.uses ?? []) names.add(`${kind} ${name}`);
    const isFull = index + 1 - start === SPANS_OF_TRANSACTION || names.size - namesBefore >= NAMES_OF_TRANSACTION;
    if (!isFull && index + 1 < spans.length) continue;
    yield spans.slice(start, index + 1);
    start = index + 1;
    namesBefore = names.size;
  }
}

type Batch = {
  place: TenantPlace;
  sender: string;
  batch: PreparedSpan[];
  /** The resources and scopes of the spans. */
  texts: readonly string[];
  /** All spans of the batch, compressed. */
  blocks: readonly SpanBlock<PreparedSpan>[];
  limits: FoldLimits;
};

/** Stores what is new of a batch, and folds it. */
async function store(
  trx: Database,
  { place, sender, batch, texts, blocks, limits }: Batch,
  now: Date,
): Promise<Stored> {
  const known = await findKnownSpans(trx, place, { spans: batch, sender });
  const { fresh, variants, ...others } = selectFreshSpans(batch, { known, sender });
  if (fresh.length === 0) return { ...others, stored: 0, unobserved: NOTHING_UNOBSERVED };
  const folded = batch.flatMap((span) => span.folded ?? []);
  const { calls, unobserved } = await foldCalls(trx, place, { batch: folded, fresh, known, sender, limits }, now);
  const stored = fresh.length === batch.length ? blocks : await buildSpanBlocks(fresh, texts);
  const additions = additionsOf(fresh);
  await insertSpanBlocks(trx, place, { sender, blocks: stored, additions, known, variants, calls }, now);
  return { ...others, stored: fresh.length, unobserved };
}

/** About what blocks take with their index. */
function bytesOf(blocks: readonly SpanBlock[]): number {
  return blocks.reduce((sum, { body, spans }) => sum + body.length + spans * INDEX_BYTES_PER_SPAN, 0);
}
