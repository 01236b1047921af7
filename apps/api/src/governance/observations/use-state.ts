import type { UseState } from '@quartermaster/contracts/graph.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import { isBlockedUse } from './risk.ts';

/** The worst first: it counts if places differ. */
const STATES: readonly UseState[] = ['blocked', 'unknown', 'declared'];

/** The state of an item, by its observations. An item without one is unknown: only usage remembers it. */
export function useStateOf(observations: readonly Pick<RuntimeObservation, 'unknown' | 'risk'>[]): UseState {
  const states = new Set(observations.map(stateOf));
  return STATES.find((state) => states.has(state)) ?? 'unknown';
}

function stateOf({ unknown, risk }: Pick<RuntimeObservation, 'unknown' | 'risk'>): UseState {
  if (isBlockedUse({ risk })) return 'blocked';
  return unknown ? 'unknown' : 'declared';
}
