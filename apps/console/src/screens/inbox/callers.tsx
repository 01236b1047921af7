import type { RuntimeObservation } from '@quartermaster/client';
import type { ReactNode } from 'react';

/** The API keeps so many names of each kind. */
const MAX_NAMES = 10;

/** The agents that used it. Where telemetry names none, the services. */
export function Callers({ evidence }: Pick<RuntimeObservation, 'evidence'>): ReactNode {
  const { agents, serviceNames } = evidence;
  const names = agents.length > 0 ? agents : serviceNames;
  const services = agents.length > 0 && serviceNames.length > 0 ? ` (in ${serviceNames.join(', ')})` : '';
  return <span title={namesText(names) + services}>{namesText(names)}</span>;
}

/** Names in one line, which says whether there may be more of them. */
export function namesText(names: readonly string[]): string {
  return names.join(', ') + (names.length < MAX_NAMES ? '' : ', and maybe more');
}
