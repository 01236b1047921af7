import type { ListRuntimeObservationsData, Me, ObservationView, RuntimeObservation } from '@quartermaster/client';
import { holdsWithin } from '../../data/rights.ts';
import type { UrlState } from '../../data/url-state.ts';

export type ObservationQuery = NonNullable<ListRuntimeObservationsData['query']>;

export const PAGE_SIZE = 100;

/** The view that the address names. The link of a denial names a subject instead, which may have any status. */
export function viewOf({ view, name }: UrlState): string {
  return view ?? (name === undefined ? 'new' : 'all');
}

/** The views whose rows have any status. */
export const ANY_STATUS: ReadonlySet<string> = new Set(['blocked', 'denied', 'all']);

/** The query of the list, as the address says. */
export function inboxQuery(state: UrlState): ObservationQuery {
  const { tenant, provider, agent, kind, name, status, q, risk, environment, sort } = state;
  const view = viewOf(state);
  return {
    ...(tenant !== undefined && { tenant_id: tenant }),
    ...(view !== 'all' && { view: view as ObservationView }),
    ...(sort !== undefined && { sort: sort as NonNullable<ObservationQuery['sort']> }),
    ...(sort === undefined && view === 'all' && { sort: 'last_seen_at' as const }),
    ...(provider !== undefined && { provider_id: provider }),
    ...(agent !== undefined && { agent }),
    ...(kind !== undefined && { kind: kind as RuntimeObservation['kind'] }),
    ...(name !== undefined && { name }),
    ...(status !== undefined && view === 'all' && { status: status as RuntimeObservation['status'] }),
    ...(q !== undefined && { text: q }),
    ...(environment !== undefined && { environment }),
    ...(risk !== undefined && { min_risk: risk as RuntimeObservation['risk']['level'] }),
  };
}

/** Whether the inbox at this address starts with rows that the caller may read. Groups have no rows. */
export function firstPageIsRead(me: Me, state: UrlState): boolean {
  const mayRead = me.termsAccepted && holdsWithin(me, 'runtime_observations:read', state['tenant']);
  return mayRead && state['group'] === undefined;
}
