import type { AuditEvent, AuditFault } from '@quartermaster/contracts/audit-events.ts';
import { hashOf, leafOf } from '../../platform/audit/chain.ts';

/** An event that differs from what was sealed. `event` is null if its row cannot be read as an event. */
type ChangedEvent = { position: number; eventId: string; leaf: string; event: AuditEvent | null };

/** A link whose hash does not follow from `previous`, the hash of the link before it. */
type ChangedLink = { position: number; eventId: string; leaf: string; hash: string; previous: string };

/**
 * What a call has found so far. Changed events and links become faults only at the end of the call, in {@link faultsOf}:
 * two changes may turn out to be one swap.
 */
export type Findings = {
  faults: AuditFault[];
  events: ChangedEvent[];
  links: ChangedLink[];
  unverifiable: number;
  pending(): number;
};

/** The search for swaps compares all pairs. With more changes than this, each is reported by itself. */
const MAX_COMPARED = 50;

export function noFindings(): Findings {
  const [events, links]: [ChangedEvent[], ChangedLink[]] = [[], []];
  return { faults: [], events, links, unverifiable: 0, pending: () => events.length + links.length };
}

/** All faults, including those of changed events and links, in the order of the chain. */
export function faultsOf({ faults, events, links }: Findings): AuditFault[] {
  const all = [...faults, ...faultsOfEvents(events), ...faultsOfLinks(links)];
  return all.toSorted((a, b) => (a.position ?? Infinity) - (b.position ?? Infinity));
}

function faultsOfEvents(events: readonly ChangedEvent[]): AuditFault[] {
  const compared = events.length <= MAX_COMPARED ? events : [];
  return events.map((changed) => {
    const { position, eventId } = changed;
    const other = compared.find((other) => isEventOf(changed, other) && isEventOf(other, changed));
    if (!other) return { kind: 'changed', position, eventId, detail: 'the event was changed after it was sealed' };
    const detail = `the event is in the place of the event ${other.eventId}, at position ${other.position}`;
    return { kind: 'swapped', position, eventId, detail };
  });
}

/** Whether the row of `changed` now holds the event that was sealed as `place`. */
function isEventOf(changed: ChangedEvent, place: ChangedEvent): boolean {
  if (changed === place || changed.event === null) return false;
  return leafOf({ ...changed.event, id: place.eventId }) === place.leaf;
}

function faultsOfLinks(links: readonly ChangedLink[]): AuditFault[] {
  const compared = links.length <= MAX_COMPARED ? links : [];
  // Null: the link itself is sound, and is not reported.
  const named = new Map<ChangedLink, AuditFault | null>();
  for (const link of compared) {
    const other = named.has(link) ? undefined : compared.find((other) => !named.has(other) && areSwapped(link, other));
    if (!other) continue;
    for (const [one, partner] of [
      [link, other],
      [other, link],
    ] as const) {
      const detail = `the link is in the place of the link at position ${partner.position}`;
      named.set(one, { kind: 'swapped', position: one.position, eventId: one.eventId, detail });
      // The next link follows from the partner's hash, so the swap alone explains why it did not fit.
      const behind = compared.find(({ position }) => position === one.position + 1);
      const follows = behind && hashOf(partner.hash, behind.leaf) === behind.hash;
      if (follows && behind !== partner && !named.has(behind)) named.set(behind, null);
    }
  }
  const detail = 'the hash of the link does not follow from the previous link';
  return links.flatMap((link) => {
    const { position, eventId } = link;
    const fault = named.get(link);
    if (fault === null) return [];
    return [fault ?? { kind: 'link_changed', position, eventId, detail }];
  });
}

/** Whether the chain would be sound if the two links changed places. Their hashes may be swapped or not. */
function areSwapped(first: ChangedLink, second: ChangedLink): boolean {
  if (first.position >= second.position) return false;
  const hashes = [first.hash, second.hash];
  const restored = hashOf(first.previous, second.leaf);
  const between = second.position === first.position + 1 ? restored : second.previous;
  return hashes.includes(restored) && hashes.includes(hashOf(between, first.leaf));
}
