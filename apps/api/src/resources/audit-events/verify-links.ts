import type { Link, StoredEvent } from '@quartermaster/db/repositories/audit-chain.ts';
import { hashOf, leafOf } from '../../platform/audit/chain.ts';
import type { Findings } from './findings.ts';

/**
 * Checks a run of links that begins after `from`: there is one at each position, each follows from the one before it, and
 * its event is as it was sealed. After a fault it continues from the hash that is stored there, so that one fault is not
 * reported again for every later link.
 */
export function checkLinks(
  found: Findings,
  from: Pick<Link, 'position' | 'hash'>,
  links: readonly (Link & { event: StoredEvent })[],
): void {
  let { position } = from;
  let previous: string | null = from.hash;
  for (const { event, ...link } of links) {
    if (link.position !== position + 1) {
      found.faults.push({ kind: 'removed', position: position + 1, eventId: null, detail: gap(position + 1, link) });
      previous = null;
    }
    if (previous !== null && hashOf(previous, link.leaf) !== link.hash) found.links.push({ ...link, previous });
    checkEvent(found, link, event);
    ({ position, hash: previous } = link);
  }
}

function checkEvent(found: Findings, { position, eventId, leaf }: Link, event: StoredEvent): void {
  if (event === 'missing') {
    found.faults.push({ kind: 'removed', position, eventId, detail: 'the event was sealed, but is missing' });
  } else if (leafOf(event) !== leaf) {
    found.events.push({ position, eventId, leaf, event: event === 'unreadable' ? null : event });
  }
}

function gap(first: number, next: Link): string {
  const last = next.position - 1;
  return first === last
    ? `the chain has no link at position ${first}`
    : `the chain has no links at the positions ${first} to ${last}`;
}
