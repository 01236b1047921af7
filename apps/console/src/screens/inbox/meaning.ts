import type { RuntimeObservation } from '@quartermaster/client';
import type { Meaning } from '../../components/marks.tsx';

/** Which of the three meanings an observation has now. */
export function meaningOf({ unknown, risk }: Pick<RuntimeObservation, 'unknown' | 'risk'>): Meaning {
  if (risk.factors.some(({ factor }) => factor === 'blocked_item' || factor === 'disabled_provider')) return 'blocked';
  return unknown ? 'unknown' : 'declared';
}

/** The level of risk in words that start a sentence, by factor. */
export const FACTOR_TITLES: Record<RuntimeObservation['risk']['factors'][number]['factor'], string> = {
  rejected_again: 'Rejected, and used again',
  blocked_item: 'Blocked, but still used',
  drift: 'The definition changed',
  unknown_provider: 'Unknown provider',
  disabled_provider: 'Provider disabled, but still used',
  foreign_address: 'Another address',
  unknown_item: 'Not declared',
  first_use: 'First use',
  denied_use: 'Denied by a gateway',
  call_errors: 'Errors',
};
