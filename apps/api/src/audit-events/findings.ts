import type { AuditEvent, AuditFault } from '@quartermaster/contracts/audit-events.ts';
import { hashOf, leafOf } from './chain.ts';

/** An event that is not as it was sealed. `event` is null where its row holds no event at all. */
type ChangedEvent = { position: number; eventId: string; leaf: string; event: AuditEvent | null };

/** A link that does not follow from the one before it, whose hash is `previous`. */
type ChangedLink = { position: number; eventId: string; leaf: string; hash: string; previous: string };

/** What a call has found so far. What is changed is named at its end: two changes may be one swap. */
export type Findings = {
  faults: AuditFault[];
  events: ChangedEvent[];
  links: ChangedLink[];
  unverifiable: number;
  pending(): number;
};

/** Swaps are looked for among so many changes, each with each; among more of them each is told by itself. */
const MOST_COMPARED = 50;

export function noFindings(): Findings {
  const [events, links]: [ChangedEvent[], ChangedLink[]] = [[], []];
  return { faults: [], events, links, unverifiable: 0, pending: () => events.length + links.length };
}

/** All that was found, each change named as what it is, in the order of the chain. */
export function settle({ faults, events, links }: Findings): AuditFault[] {
  const settled = [...faults, ...namedEvents(events), ...namedLinks(links)];
  return settled.toSorted((a, b) => (a.position ?? Infinity) - (b.position ?? Infinity));
}

function namedEvents(events: readonly ChangedEvent[]): AuditFault[] {
  const compared = events.length <= MOST_COMPARED ? events : [];
  return events.map((changed) => {
    const { position, eventId } = changed;
    const other = compared.find((other) => isEventOf(changed, other) && isEventOf(other, changed));
    if (!other) return { kind: 'changed', position, eventId, detail: 'the event is not as it was sealed' };
    const detail = `the event stands in the place of ${other.eventId}, at position ${other.position}`;
    return { kind: 'swapped', position, eventId, detail };
  });
}

/** Whether a row holds the event that was sealed in another place. */
function isEventOf(changed: ChangedEvent, place: ChangedEvent): boolean {
  if (changed === place || changed.event === null) return false;
  return leafOf({ ...changed.event, id: place.eventId }) === place.leaf;
}

function namedLinks(links: readonly ChangedLink[]): AuditFault[] {
  const compared = links.length <= MOST_COMPARED ? links : [];
  const named = new Map<ChangedLink, AuditFault | null>();
  for (const link of compared) {
    const other = named.has(link) ? undefined : compared.find((other) => !named.has(other) && areSwapped(link, other));
    if (!other) continue;
    for (const [one, partner] of [
      [link, other],
      [other, link],
    ] as const) {
      const detail = `the link stands in the place of the one at position ${partner.position}`;
      named.set(one, { kind: 'swapped', position: one.position, eventId: one.eventId, detail });
      // The one behind it follows from the other's hash: nothing else is wrong with it.
      const behind = compared.find(({ position }) => position === one.position + 1);
      const follows = behind && hashOf(partner.hash, behind.leaf) === behind.hash;
      if (follows && behind !== partner && !named.has(behind)) named.set(behind, null);
    }
  }
  const detail = 'the link does not follow from the one before it';
  return links.flatMap((link) => {
    const { position, eventId } = link;
    const fault = named.get(link);
    if (fault === null) return [];
    return [fault ?? { kind: 'link_changed', position, eventId, detail }];
  });
}

/** Whether the chain fits with two links in each other's place, wherever their hashes are now. */
function areSwapped(first: ChangedLink, second: ChangedLink): boolean {
  if (first.position >= second.position) return false;
  const hashes = [first.hash, second.hash];
  const restored = hashOf(first.previous, second.leaf);
  const between = second.position === first.position + 1 ? restored : second.previous;
  return hashes.includes(restored) && hashes.includes(hashOf(between, first.leaf));
}
