import { setImmediate as breathe } from 'node:timers/promises';
import { holdsScopes } from '@quartermaster/contracts/scopes.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { inTurn } from '@quartermaster/db/in-turn.ts';
import { findTenantSettings } from '@quartermaster/db/repositories/tenants.ts';
import { addToTraces, insertSpans, type NewSpan, type TraceAddition } from '@quartermaster/db/repositories/traces.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { type Principal, principalName } from '../access/principal.ts';
import { ApiError } from '../errors.ts';
import type { DecodedTraces, OtlpSpan, PartialSuccess } from '../otlp/span.ts';
import { type FoldedSpan, foldSpans } from '../runtime-observations/fold.ts';
import type { CallerContext } from '../trpc.ts';
import { contentFilter } from './content.ts';
import { type GenAi, readGenAi, subjectsOf } from './genai.ts';
import { visibleName } from './visible-name.ts';

/** Spans prepared before the event loop gets a turn. */
const SPANS_OF_TURN = 500;

/**
 * Spans stored and folded in one transaction, four times what exporters send at once. A larger request takes several, so
 * that nobody else's write waits for all of it; what is stored when one fails is not counted twice by a retry.
 */
const SPANS_OF_TRANSACTION = 2000;

type Prepared = { document: NewSpan; folded: FoldedSpan | null };

/**
 * Stores spans, and folds each into observations in the transaction that stores it. The tenant is the credential's
 * alone: nothing in the spans can say otherwise.
 *
 * @returns what was refused, or null
 */
export async function ingestSpans(
  ctx: Pick<CallerContext, 'services' | 'principal'>,
  decoded: DecodedTraces,
): Promise<PartialSuccess | null> {
  const { db, metrics, now: clock } = ctx.services;
  const place = placeOfSender(ctx.principal);
  const sender = principalName(ctx.principal);
  const settings = await findTenantSettings(db, place.tenantId);
  const prepared = await prepare(decoded.spans, settings.captureContent);
  const limit = ctx.services.maxObservations;
  let stored = 0;
  let unobserved = 0;
  for (let start = 0; start < prepared.length; start += SPANS_OF_TRANSACTION) {
    const batch = prepared.slice(start, start + SPANS_OF_TRANSACTION);
    // Batches of one tenant fold into the same observations.
    const done = await inTurn(db, `ingest ${place.tenantId}`, () =>
      inTransaction(db, (trx) => store(trx, { place, sender, batch, limit }, clock())),
    );
    stored += done.stored;
    unobserved += done.unobserved;
  }
  metrics.spans.inc({ outcome: 'stored' }, stored);
  metrics.spans.inc({ outcome: 'duplicate' }, prepared.length - stored);
  metrics.spans.inc({ outcome: 'rejected' }, decoded.rejected);
  metrics.unobserved.inc(unobserved);
  if (decoded.rejected === 0) return null;
  return { rejectedSpans: decoded.rejected, errorMessage: decoded.reasons.join('; ') };
}

/** Stores what is new of a batch, and folds it. Answers how many spans were new, and how many subjects not observed. */
async function store(
  trx: Database,
  { place, sender, batch, limit }: { place: TenantPlace; sender: string; batch: Prepared[]; limit: number },
  now: Date,
): Promise<{ stored: number; unobserved: number }> {
  const documents = batch.map(({ document }) => document);
  const fresh = new Set(await insertSpans(trx, place, documents, sender, now));
  await addToTraces(trx, place, additionsOf([...fresh]), now);
  const folded = (items: Prepared[]) => items.flatMap((item) => item.folded ?? []);
  const isFresh = (item: Prepared) => fresh.has(item.document);
  const spans = { batch: folded(batch), stored: folded(batch.filter(isFresh)), sender, limit };
  return { stored: fresh.size, unobserved: await foldSpans(trx, place, spans, now) };
}

/** The one place where the sender may write traces. */
function placeOfSender(principal: Principal): TenantPlace {
  const writable = principal.grants.filter(({ scopes }) =>
    holdsScopes([...scopes, ...principal.platformScopes], ['traces:write']),
  );
  const [place] = writable;
  if (place && writable.length === 1) return { tenantId: place.tenantId, subTenantId: place.subTenantId };
  throw new ApiError('ingest_tenant_ambiguous', 'Send spans with a credential that belongs to exactly one tenant.');
}

async function prepare(spans: readonly OtlpSpan[], keepContent: boolean): Promise<Prepared[]> {
  const filter = contentFilter({ keepContent });
  const prepared: Prepared[] = [];
  for (const span of spans) {
    // The reader sees the whole span: some names stand in attributes that are content otherwise.
    const genAi = readGenAi(span);
    const document = documentOf(filter(span), genAi);
    prepared.push({ document, folded: genAi && foldedOf(document, span, genAi) });
    if (prepared.length % SPANS_OF_TURN === 0) await breathe();
  }
  return prepared;
}

function documentOf(span: OtlpSpan, genAi: GenAi | null): NewSpan {
  const { traceState: _, ...kept } = span;
  return { ...kept, serviceName: serviceNameOf(span), genAi: genAi && shownOf(genAi) };
}

function shownOf(genAi: GenAi): NewSpan['genAi'] {
  const { operation, provider, model, agent, tool, conversationId, inputTokens, outputTokens } = genAi;
  return { operation, provider, model, agent, tool, conversationId, inputTokens, outputTokens };
}

function foldedOf(document: NewSpan, span: OtlpSpan, genAi: GenAi): FoldedSpan {
  const { traceId, spanId, parentSpanId } = document;
  const serviceName = document.serviceName === null ? null : visibleName(document.serviceName);
  return {
    ...{ traceId, spanId, parentSpanId, serviceName, genAi },
    subjects: subjectsOf(span, genAi),
    startedAt: new Date(span.startTime),
    failed: span.status.code === 'error',
  };
}

function serviceNameOf(span: OtlpSpan): string | null {
  const name = span.resource['service.name'];
  return typeof name === 'string' && name !== '' ? name.slice(0, 256).toWellFormed() : null;
}

/** What the new spans add to their traces. */
function additionsOf(spans: readonly NewSpan[]): TraceAddition[] {
  const additions = new Map<string, TraceAddition>();
  for (const span of spans) {
    const { traceId, serviceName, startTime, endTime } = span;
    const known = additions.get(traceId);
    const addition = known ?? { traceId, rootName: null, serviceName, startTime, endTime, spanCount: 0, errorCount: 0 };
    if (span.parentSpanId === null) addition.rootName ??= span.name;
    if (startTime < addition.startTime) addition.startTime = startTime;
    if (endTime > addition.endTime) addition.endTime = endTime;
    addition.spanCount += 1;
    if (span.status.code === 'error') addition.errorCount += 1;
    additions.set(traceId, addition);
  }
  return [...additions.values()];
}
