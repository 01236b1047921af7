import type { ReactNode } from 'react';
import { Views } from '../../components/filters.tsx';
import { Screen } from '../../components/screen.tsx';
import { useTenantFilter } from '../../data/tenant.ts';
import { useUrlState } from '../../data/url-state.ts';
import { type ClosedStatus, ClosedChanges } from './closed-changes.tsx';
import { OpenPlan } from './open-plan.tsx';

const SUMMARIES: Record<'plan' | ClosedStatus, string> = {
  plan: 'What would change at all providers if everything that was decided were applied now.',
  applied: 'What was changed by recommendations. Each can be undone as long as nothing was built on it.',
  dismissed: 'Changes that a person dismissed. They are not recommended again for the same cause.',
  superseded: 'What is not needed any more, because the state changed.',
};

/** The recommendations for all providers of a tenant: the plan, and what became of earlier ones. */
export function ChangesScreen(): ReactNode {
  const [state] = useUrlState();
  const filter = useTenantFilter();
  const view = (state['view'] ?? 'plan') as keyof typeof SUMMARIES;
  const query = { ...filter, status: view === 'plan' ? 'open' : view };
  return (
    <Screen
      title="Changes"
      summary={SUMMARIES[view]}
      scrolls={view === 'plan'}
      request={{ method: 'GET', path: '/v1/recommendations', query }}
      toolbar={
        <Views
          label="View"
          views={[
            { value: 'plan', label: 'Plan' },
            { value: 'applied', label: 'Applied' },
            { value: 'dismissed', label: 'Dismissed' },
            { value: 'superseded', label: 'Superseded' },
          ]}
        />
      }
    >
      {view === 'plan' ? <OpenPlan /> : <ClosedChanges status={view} />}
    </Screen>
  );
}
