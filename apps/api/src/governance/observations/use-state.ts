import type { UseState } from '@quartermaster/contracts/graph.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import { isBlockedUse } from './risk.ts';

/** In order of severity. If places differ, the first state of this list counts. */
const STATES: readonly UseState[] = ['blocked', 'unknown', 'declared'];

/** The state of an item, by its observations. Without observations, when only its usage is left, it is unknown. */
export function useStateOf(observations: readonly Pick<RuntimeObservation, 'unknown' | 'risk'>[]): UseState {
  const states = new Set(observations.map(stateOf));
  return STATES.find((state) => states.has(state)) ?? 'unknown';
}

function stateOf({ unknown, risk }: Pick<RuntimeObservation, 'unknown' | 'risk'>): UseState {
  if (isBlockedUse({ risk })) return 'blocked';
  return unknown ? 'unknown' : 'declared';
}
