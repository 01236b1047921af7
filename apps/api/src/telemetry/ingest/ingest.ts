import { holdsScopes } from '@quartermaster/contracts/scopes.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { addStoredBytes } from '@quartermaster/db/repositories/tenant-usage.ts';
import { findTenantSettings } from '@quartermaster/db/repositories/tenants.ts';
import { addToTraces, insertSpans } from '@quartermaster/db/repositories/traces.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { type Principal, principalName } from '../../access/principal.ts';
import { ApiError } from '../../errors.ts';
import type { PartialSuccess } from '../otlp/span.ts';
import { type FoldLimits, foldSpans } from '../../runtime-observations/fold.ts';
import type { CallerContext } from '../../trpc.ts';
import { additionsOf, type PreparedSpan } from './prepare.ts';
import type { PreparedTraces } from './prepare-body.ts';

/**
 * Spans stored and folded in one transaction, four times what exporters send at once. A larger request takes several, so
 * that nobody else's write waits for all of it; what is stored when one fails is not counted twice by a retry.
 */
const SPANS_OF_TRANSACTION = 2000;

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
  const { spans, rejected, reasons } = await prepare({ keepContent: settings.captureContent });
  const bytes = spans.reduce((sum, span) => sum + span.storedBytes, 0);
  await tenantLimits.add(db, place.tenantId, 'storedBytes', bytes);
  const limits = { observations: ctx.services.maxObservations, tenantLimits };
  let stored = 0;
  let unobserved = 0;
  for (const batch of inTransactions(spans)) {
    // Batches of one tenant fold into the same observations.
    const done = await inTransaction(db, (trx) => store(trx, { place, sender, batch, limits }, clock()), {
      turnOf: place.tenantId,
    });
    stored += done.stored;
    unobserved += done.unobserved;
  }
  metrics.spans.inc({ outcome: 'stored' }, stored);
  metrics.spans.inc({ outcome: 'duplicate' }, spans.length - stored);
  metrics.spans.inc({ outcome: 'rejected' }, rejected);
  metrics.unobserved.inc(unobserved);
  if (rejected === 0) return null;
  return { rejectedSpans: rejected, errorMessage: reasons.join('; ') };
}

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

/** Stores what is new of a batch, and folds it. Answers how many spans were new, and how many subjects not observed. */
async function store(
  trx: Database,
  { place, sender, batch, limits }: { place: TenantPlace; sender: string; batch: PreparedSpan[]; limits: FoldLimits },
  now: Date,
): Promise<{ stored: number; unobserved: number }> {
  const fresh = await insertSpans(trx, place, batch, sender, now);
  const additions = additionsOf(fresh);
  await addToTraces(trx, place, additions, now);
  const storedBytes = additions.reduce((sum, addition) => sum + addition.storedBytes, 0);
  await addStoredBytes(trx, place.tenantId, storedBytes, now);
  const folded = (spans: readonly PreparedSpan[]) => spans.flatMap((span) => span.folded ?? []);
  const spans = { batch: folded(batch), stored: folded(fresh), sender, limits };
  return { stored: fresh.length, unobserved: await foldSpans(trx, place, spans, now) };
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
