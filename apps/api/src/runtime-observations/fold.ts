import { setImmediate as breathe } from 'node:timers/promises';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey, plainName } from '@quartermaster/db/name-key.ts';
import {
  findObservationOf,
  insertObservation,
  type ObservationSubject,
  updateObservation,
} from '@quartermaster/db/repositories/runtime-observations.ts';
import { scopeOf, type TenantPlace } from '@quartermaster/db/tenancy.ts';
import { reconcileProvider, reconcileSubject } from '../recommendations/reconcile.ts';
import { observationBudget, settleBudget } from './cardinality.ts';
import { declaredAt, declaringItemId } from './declared.ts';
import { firstUses, type ProviderUses } from './first-use.ts';
import { providerMatcher, type SeenSpan } from './provider-match.ts';
import { askAgain, settleReviewTask } from './review-task.ts';
import { riskOf } from './risk.ts';
import { statusAfter, statusSeenAgain } from './status.ts';

/** A stored span, as folding counts it. */
export type FoldedSpan = SeenSpan & { startedAt: Date; failed: boolean };

/** All spans of a batch that speak of one subject. */
type Sighting = {
  provider: Provider;
  subject: ObservationSubject & { name: string };
  former: RuntimeObservation | undefined;
  spans: FoldedSpan[];
  /** How the name was written. */
  names: Set<string>;
};
type Evidence = RuntimeObservation['evidence'];

const SAMPLES = 10;

/** Spans and sightings looked at before the event loop gets a turn: the database answers without giving it one. */
const OF_TURN = 200;

/**
 * Folds spans into observations, one for each (tenant, sub-tenant, provider, kind, name), in the transaction that
 * stored them: what was stored before is not folded again, so counts are exact under retries.
 *
 * @param batch all spans of the request, since children tell of their parents' provider
 * @param stored those that were new
 * @param sender who sent them, as evidence has it
 * @param limit observations that the tenant may have
 * @returns how many subjects were not observed, because the tenant has as many as it may
 */
export async function foldSpans(
  db: Database,
  place: TenantPlace,
  spans: { batch: readonly SeenSpan[]; stored: readonly FoldedSpan[]; sender: string; limit: number },
  now: Date,
): Promise<number> {
  const { batch, stored, sender, limit } = spans;
  if (stored.length === 0) return 0;
  const budget = await observationBudget(db, place.tenantId, limit);
  const match = await providerMatcher(db, place, batch, now);
  const uses = firstUses(db, sender);
  const sightings = new Map<string, Sighting>();
  for (const [index, span] of stored.entries()) {
    if (index % OF_TURN === OF_TURN - 1) await breathe();
    for (const seen of span.subjects) {
      // A provider that would have to be made comes with an observation that would have to be, too.
      const provider = await match(span, seen, () => budget.left > 0);
      if (!provider) {
        budget.take();
        continue;
      }
      const name = plainName(seen.kind, seen.name, provider.name);
      const subject = {
        providerId: provider.id,
        kind: seen.kind,
        nameKey: nameKey(seen.kind, name, provider.name),
        name,
      };
      const key = JSON.stringify([provider.id, subject.kind, subject.nameKey]);
      let sighting = sightings.get(key);
      if (!sighting) {
        const former = await findObservationOf(db, place, subject);
        if (!former && !budget.take()) continue;
        sighting = { provider, subject, former, spans: [], names: new Set() };
        sightings.set(key, sighting);
      }
      sighting.spans.push(span);
      if (sighting.names.size < SAMPLES) sighting.names.add(seen.name);
    }
  }
  let folded = 0;
  for (const sighting of sightings.values()) {
    await uses.record(sighting.provider, now);
    const accounts = lastOf(sighting.former?.evidence.accounts, sender);
    await fold(db, place, { ...sighting, accounts, uses: await uses.of(sighting.provider, accounts) }, now);
    folded += 1;
    if (folded % OF_TURN === 0) await breathe();
  }
  await settleBudget(db, place.tenantId, budget, { limit, now });
  return budget.refused;
}

async function fold(
  db: Database,
  place: TenantPlace,
  sighting: Sighting & { accounts: string[]; uses: ProviderUses },
  now: Date,
): Promise<void> {
  const { provider, subject, former, spans, uses } = sighting;
  const declared = await declaredAt(db, place, provider, subject);
  const latest = new Date(Math.max(...spans.map(({ startedAt }) => startedAt.getTime())));
  const decided = former
    ? { ...former, status: statusSeenAgain(former, declared, { latest, now }) }
    : ({ status: 'open', review: null, drift: null } as const);
  const occurrences = (former?.occurrences ?? 0) + spans.length;
  const { status, review } = statusAfter({ ...decided, occurrences }, declared);
  const evidence = evidenceOf(former?.evidence, sighting);
  const observed = {
    unknown: declared.unknown,
    inventoryItemId: declaringItemId(declared),
    occurrences,
    evidence,
    status,
    risk: riskOf(
      { provider, item: declared.item, observation: { unknown: declared.unknown, status, review, evidence }, uses },
      now,
    ),
    ...seenIn(former, spans, now),
  };
  const isReviewSpent = former?.review != null && review === null;
  const observation = former
    ? await updateObservation(
        db,
        scopeOf(place),
        former.id,
        { ...observed, ...(isReviewSpent && { review: null }) },
        now,
      )
    : await insertObservation(db, place, { ...subject, ...observed, drift: null }, now);
  if (!observation) throw new Error(`the observation ${former?.id} is gone`);
  if (!former && provider.status === 'discovered') await reconcileProvider(db, provider, now, observation);
  // What follows from it was done when it became what it is.
  if (former?.unknown === observation.unknown && former.status === observation.status) {
    await askAgain(db, provider, observation, now);
    return;
  }
  await settleReviewTask(db, provider, observation, now);
  await reconcileSubject(db, provider, subject, now);
}

/** First and last seen, by the spans' own start times, whatever order they come in; never later than now. */
function seenIn(
  former: RuntimeObservation | undefined,
  spans: readonly FoldedSpan[],
  now: Date,
): Pick<RuntimeObservation, 'firstSeenAt' | 'lastSeenAt' | 'lastTraceId' | 'lastSpanId'> {
  // What a sync alone reported was not seen in traffic yet.
  const seen = former !== undefined && former.occurrences > 0 ? former : undefined;
  let { firstSeenAt = '', lastSeenAt = '', lastTraceId = null, lastSpanId = null } = seen ?? {};
  for (const span of spans) {
    const time = (span.startedAt > now ? now : span.startedAt).toISOString();
    if (firstSeenAt === '' || time < firstSeenAt) firstSeenAt = time;
    if (time >= lastSeenAt) {
      lastSeenAt = time;
      lastTraceId = span.traceId;
      lastSpanId = span.spanId;
    }
  }
  return { firstSeenAt, lastSeenAt, lastTraceId, lastSpanId };
}

function evidenceOf(
  former: Evidence | undefined,
  { spans, names, accounts }: Pick<Sighting, 'spans' | 'names'> & { accounts: string[] },
): Evidence {
  const seen = (read: (span: FoldedSpan) => string | null) => spans.map(read);
  return {
    serviceNames: merged(
      former?.serviceNames,
      seen((span) => span.serviceName),
    ),
    serverAddresses: merged(
      former?.serverAddresses,
      seen((span) => span.genAi.serverAddress),
    ),
    operations: merged(
      former?.operations,
      seen((span) => span.genAi.operation ?? span.genAi.mcpMethod),
    ),
    accounts,
    names: merged(former?.names, [...names]),
    errors: (former?.errors ?? 0) + spans.filter((span) => span.failed).length,
  };
}

/** The last ten accounts: whoever came last is whom the others do not know yet. */
function lastOf(known: readonly string[] = [], account: string): string[] {
  return [...known.filter((one) => one !== account), account].slice(-SAMPLES);
}

/** The first ten of what is known and found. */
function merged(known: string[] | undefined, found: readonly (string | null)[]): string[] {
  return [...new Set([...(known ?? []), ...found.filter((text) => text !== null)])].slice(0, SAMPLES);
}
