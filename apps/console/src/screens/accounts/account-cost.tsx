import { listUsageOptions } from '@quartermaster/client/@tanstack/react-query.gen.ts';
import type { ServiceAccount } from '@quartermaster/client';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { CostText, unpricedText } from '../../components/cost.tsx';
import { useMe } from '../../data/me.ts';
import { holds } from '../../data/rights.ts';

/** What the model calls cost that an account reported in 30 days. */
export function AccountCost({ account }: { account: ServiceAccount }): ReactNode {
  const mayRead = holds(useMe(), 'usage:read', account);
  const { id, tenantId } = account;
  const query = { tenant_id: tenantId, account: `service_account:${tenantId}/${id}` };
  const { data } = useQuery({ ...listUsageOptions({ query }), enabled: mayRead });
  const cost = data?.items[0]?.cost ?? null;
  if (cost === null) return null;
  return (
    <span>
      <CostText cost={cost} /> in 30 days, an estimate by list prices
      {unpricedText(cost.unpricedCalls)}
    </span>
  );
}
