import { listRuntimeObservations } from '@quartermaster/client';
import { useQuery } from '@tanstack/react-query';
import { Navigate } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { Empty } from '../../components/states.tsx';
import { useTenantFilter } from '../../data/tenant.ts';
import { ConnectLink } from '../connect/connect-link.tsx';
import { SampleDataOffer } from '../connect/sample-data.tsx';

/** Whether this load of the page has shown an empty inbox. Only the first one leads on, so that the inbox can be opened. */
let hasLanded = false;

/** What an empty installation shows: where an agent is connected. */
export function FirstSteps(): ReactNode {
  return (
    <Empty title="No agent has been seen yet">
      <p>
        <ConnectLink />: what it calls appears here within seconds.
      </p>
      <SampleDataOffer />
    </Empty>
  );
}

/** An inbox without anything to decide: everything is decided, or no agent was ever seen. */
export function NothingToDecide(): ReactNode {
  const tenant = useTenantFilter();
  const [isLanding] = useState(() => !hasLanded);
  useEffect(() => {
    hasLanded = true;
  }, []);
  const { data } = useQuery({
    queryKey: ['any-observation', tenant],
    queryFn: async ({ signal }) =>
      (await listRuntimeObservations({ query: { ...tenant, limit: 1 }, signal, throwOnError: true })).data,
  });
  if (data?.items.length !== 0) {
    return (
      <Empty title="Nothing to decide">
        <p>Everything that agents use is declared or decided. The view All has all observations.</p>
        <p>
          <ConnectLink />
        </p>
      </Empty>
    );
  }
  return tenant.tenant_id === undefined && isLanding ? <Navigate to="/connect" replace /> : <FirstSteps />;
}
