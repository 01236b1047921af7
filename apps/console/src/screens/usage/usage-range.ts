import { useMemo, useState } from 'react';
import { useUrlState, wholeNumber } from '../../data/url-state.ts';

const HOUR_MS = 3_600_000;

/** Periods beside the usual 30 days, in hours. */
export const PERIODS = [
  { value: '24', label: 'Last 24 hours' },
  { value: '168', label: 'Last 7 days' },
];

/** `from` of usage, as the parameter `hours` of the address says. To the full hour, so that it is the same for a while. */
export function useUsageRange(): { from?: string } {
  const [state] = useUrlState();
  const hours = wholeNumber(state['hours']);
  const [hour] = useState(() => Math.floor(Date.now() / HOUR_MS) * HOUR_MS);
  return useMemo(
    () => (hours === undefined ? {} : { from: new Date(hour - hours * HOUR_MS).toISOString() }),
    [hours, hour],
  );
}
