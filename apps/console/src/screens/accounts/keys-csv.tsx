import { type Credential, searchCredentials, type SearchCredentialsInput } from '@quartermaster/client';
import type { ReactNode } from 'react';
import { CsvButton } from '../../components/csv-button.tsx';
import type { CsvSource } from '../../data/csv.ts';

const COLUMNS: CsvSource<Credential>['columns'] = {
  id: ({ id }) => id,
  tenant_id: ({ tenantId }) => tenantId,
  sub_tenant_id: ({ subTenantId }) => subTenantId,
  name: ({ name }) => name,
  service_account_id: ({ ownerId }) => ownerId,
  scopes: ({ scopes }) => scopes,
  status: ({ status }) => status,
  created_at: ({ createdAt }) => createdAt,
  created_by: ({ createdBy }) => createdBy,
  created_by_key: ({ createdByKey }) => createdByKey,
  expires_at: ({ expiresAt }) => expiresAt,
  last_used_at: ({ lastUsedAt }) => lastUsedAt,
  revoked_at: ({ revokedAt }) => revokedAt,
  rotation_count: ({ rotationCount }) => rotationCount,
};

export function KeysCsv({ search }: { search: SearchCredentialsInput }): ReactNode {
  const source: CsvSource<Credential> = {
    columns: COLUMNS,
    keyOf: ({ id }) => id,
    read: async (cursor) => {
      const page = { ...search, limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await searchCredentials({ body: page, throwOnError: true })).data;
    },
  };
  return <CsvButton name="keys" scope="credentials:read" source={source} />;
}
