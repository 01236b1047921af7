import { setImmediate as breathe } from 'node:timers/promises';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey } from '@quartermaster/db/name-key.ts';
import {
  findObservationOf,
  insertObservation,
  updateObservation,
} from '@quartermaster/db/repositories/runtime-observations.ts';
import { scopeOf, type TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { Subject } from '../traces/genai.ts';
import { providerMatcher, type SeenSpan } from './provider-match.ts';
import { riskOf } from './risk.ts';
import { declaredAt, settle, statusAfter } from './unknown.ts';

/** A stored span, as folding counts it. */
export type FoldedSpan = SeenSpan & { startedAt: Date; failed: boolean };

type Sighting = { provider: Provider; subject: Subject; spans: FoldedSpan[] };
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
 */
export async function foldSpans(
  db: Database,
  place: TenantPlace,
  { batch, stored, sender }: { batch: readonly SeenSpan[]; stored: readonly FoldedSpan[]; sender: string },
  now: Date,
): Promise<void> {
  const match = await providerMatcher(db, place, batch, now);
  const sightings = new Map<string, Sighting>();
  for (const [index, span] of stored.entries()) {
    if (index % OF_TURN === OF_TURN - 1) await breathe();
    for (const subject of span.subjects) {
      const provider = await match(span, subject);
      const key = JSON.stringify([provider.id, subject.kind, nameKey(subject.kind, subject.name, provider.name)]);
      const sighting = sightings.get(key);
      if (sighting) sighting.spans.push(span);
      else sightings.set(key, { provider, subject, spans: [span] });
    }
  }
  let folded = 0;
  for (const sighting of sightings.values()) {
    await fold(db, place, sighting, sender, now);
    folded += 1;
    if (folded % OF_TURN === 0) await breathe();
  }
}

async function fold(
  db: Database,
  place: TenantPlace,
  { provider, subject, spans }: Sighting,
  sender: string,
  now: Date,
): Promise<void> {
  const key = nameKey(subject.kind, subject.name, provider.name);
  const identity = { providerId: provider.id, kind: subject.kind, name: subject.name, nameKey: key };
  const former = await findObservationOf(db, place, identity);
  const declared = await declaredAt(db, place, provider, subject);
  const evidence = addTo(former?.evidence, spans, sender);
  const seen = seenIn(former, spans, now);
  const sightings = {
    unknown: declared.unknown,
    inventoryItemId: declared.unknown ? null : (declared.item?.id ?? null),
    occurrences: (former?.occurrences ?? 0) + spans.length,
    evidence,
    risk: riskOf({ provider, declared, evidence }),
    ...seen,
  };
  const observation = former
    ? await updateObservation(db, scopeOf(place), former.id, { ...sightings, ...statusAfter(former, declared) }, now)
    : await insertObservation(
        db,
        place,
        { ...identity, ...sightings, ...statusAfter({ status: 'open' }, declared) },
        now,
      );
  // What follows from it was done when it became what it is.
  const isSame = former?.unknown === observation?.unknown && former?.status === observation?.status;
  if (observation && !isSame) await settle(db, provider, observation, now);
}

/** First and last seen, by the spans' own start times, whatever order they come in; never later than now. */
function seenIn(
  former: RuntimeObservation | undefined,
  spans: readonly FoldedSpan[],
  now: Date,
): Pick<RuntimeObservation, 'firstSeenAt' | 'lastSeenAt' | 'lastTraceId' | 'lastSpanId'> {
  let { firstSeenAt = '', lastSeenAt = '', lastTraceId = '', lastSpanId = '' } = former ?? {};
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

function addTo(former: Evidence | undefined, spans: readonly FoldedSpan[], sender: string): Evidence {
  const merged = (known: string[] | undefined, found: (string | null)[]) =>
    [...new Set([...(known ?? []), ...found.filter((text) => text !== null)])].slice(0, SAMPLES);
  return {
    serviceNames: merged(
      former?.serviceNames,
      spans.map((span) => span.serviceName),
    ),
    serverAddresses: merged(
      former?.serverAddresses,
      spans.map((span) => span.genAi.serverAddress),
    ),
    operations: merged(
      former?.operations,
      spans.map((span) => span.genAi.operation ?? span.genAi.mcpMethod),
    ),
    accounts: merged(former?.accounts, [sender]),
    errors: (former?.errors ?? 0) + spans.filter((span) => span.failed).length,
  };
}
