import type { ReactNode } from 'react';
import { useMe } from '../data/me.ts';
import { holds } from '../data/rights.ts';
import { useAccountName, usePrincipalName, useUser } from '../data/names.ts';
import { RowLink } from './row-link.tsx';

const ACCOUNT = /^service_account:([^/]+)\/(.+)$/;

/** A person by name. It leads to the screen of people for callers who may open that. */
export function UserName({ id }: { id: string }): ReactNode {
  const name = usePrincipalName(`user:${id}`);
  const user = useUser(id);
  const mayOpen = holds(useMe(), 'users:read') && user !== undefined && user.status !== 'deleted';
  if (!mayOpen) return <span>{name}</span>;
  return (
    <RowLink path="/people" search={{ item: id }}>
      {name}
    </RowLink>
  );
}

/** A service account by name. */
export function AccountName({ tenantId, id }: { tenantId: string | null; id: string }): ReactNode {
  return useAccountName(tenantId ?? '', id);
}

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
