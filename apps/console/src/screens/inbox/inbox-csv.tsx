import { listRuntimeObservations, type RuntimeObservation } from '@quartermaster/client';
import type { ReactNode } from 'react';
import { CsvButton } from '../../components/csv-button.tsx';
import type { CsvSource } from '../../data/csv.ts';
import type { ObservationQuery } from './query.ts';

/** Without the note of a review and the changed definition, which are free text. */
const COLUMNS: CsvSource<RuntimeObservation>['columns'] = {
  id: ({ id }) => id,
  tenant_id: ({ tenantId }) => tenantId,
  sub_tenant_id: ({ subTenantId }) => subTenantId,
  provider_id: ({ providerId }) => providerId,
  kind: ({ kind }) => kind,
  name: ({ name }) => name,
  unknown: ({ unknown }) => unknown,
  status: ({ status }) => status,
  risk: ({ risk }) => risk.level,
  risk_factors: ({ risk }) => risk.factors.map(({ factor }) => factor),
  calls: ({ occurrences }) => occurrences,
  errors: ({ evidence }) => evidence.errors,
  first_seen_at: ({ firstSeenAt }) => firstSeenAt,
  last_seen_at: ({ lastSeenAt }) => lastSeenAt,
  services: ({ evidence }) => evidence.serviceNames.join('; '),
  accounts: ({ evidence }) => evidence.accounts,
  environments: ({ evidence }) => evidence.environments,
  decision: ({ review }) => review?.decision,
  decided_by: ({ review }) => review?.reviewedBy,
  decided_at: ({ review }) => review?.reviewedAt,
  last_trace_id: ({ lastTraceId }) => lastTraceId,
};

export function InboxCsv({ query }: { query: ObservationQuery }): ReactNode {
  const source: CsvSource<RuntimeObservation> = {
    columns: COLUMNS,
    keyOf: ({ id }) => id,
    read: async (cursor) => {
      const page = { ...query, limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await listRuntimeObservations({ query: page, throwOnError: true })).data;
    },
  };
  return <CsvButton name="observations" scope="runtime_observations:read" source={source} />;
}
