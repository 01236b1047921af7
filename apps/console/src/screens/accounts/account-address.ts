import type { ServiceAccount } from '@quartermaster/client';

type Address = { path: { service_account_id: string }; query: { tenant_id?: string } };

/** Which account a request is about. Its id alone is unique only in its tenant. */
export function accountAddress({ id, tenantId }: Pick<ServiceAccount, 'id' | 'tenantId'>): Address {
  return { path: { service_account_id: id }, query: tenantId === null ? {} : { tenant_id: tenantId } };
}
