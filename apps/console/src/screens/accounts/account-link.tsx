import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

type Props = { id: string; tenantId: string | null; children: ReactNode };

/** The address says the tenant, too: the id of an account is unique only in its tenant. */
export function AccountLink({ id, tenantId, children }: Props): ReactNode {
  return (
    <Link
      to="/accounts/$accountId"
      params={{ accountId: id }}
      search={(before) => ({ tenant: before['tenant'], of: tenantId ?? undefined })}
      className="truncate"
    >
      {children}
    </Link>
  );
}
