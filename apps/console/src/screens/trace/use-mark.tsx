import type { SpanUse } from '@quartermaster/client';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { MeaningMark } from '../../components/marks.tsx';

/** Whether a model, tool or agent is declared, linked to its observation. */
export function UseMark({ use: { kind, name, state, observationId } }: { use: SpanUse }): ReactNode {
  return (
    <Link
      to="/inbox"
      search={(before) => ({ tenant: before['tenant'], view: 'all', q: name, item: observationId })}
      title={`The ${kind} ${name} is ${state}. Open its observation.`}
    >
      <MeaningMark meaning={state} />
    </Link>
  );
}
