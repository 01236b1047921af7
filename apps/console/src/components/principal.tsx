import type { ReactNode } from 'react';
import { usePrincipalName } from '../data/names.ts';
import { RowLink } from './row-link.tsx';

const ACCOUNT = /^service_account:([^/]+)\/(.+)$/;

/** `user:<id>` or `service_account:<tenant>/<id>` by name. Accounts are links. */
export function PrincipalName({ principal }: { principal: string | null }): ReactNode {
  const name = usePrincipalName(principal);
  const [, tenantId, accountId] = ACCOUNT.exec(principal ?? '') ?? [];
  if (accountId === undefined) return <span title={principal ?? undefined}>{name}</span>;
  return (
    <RowLink path={`/accounts/${accountId}`} search={{ of: tenantId }} title={principal ?? undefined}>
      {name}
    </RowLink>
  );
}
