import type { SpanUse } from '@quartermaster/client';
import type { ReactNode } from 'react';
import { MeaningMark } from '../../components/marks.tsx';
import { RowLink } from '../../components/row-link.tsx';

/** Whether a model, tool or agent is declared, linked to its observation. */
export function UseMark({ use: { kind, name, state, observationId } }: { use: SpanUse }): ReactNode {
  return (
    <RowLink
      path="/inbox"
      search={{ view: 'all', q: name, item: observationId }}
      title={`The ${kind} ${name} is ${state}. Open its observation.`}
    >
      <MeaningMark meaning={state} />
    </RowLink>
  );
}
