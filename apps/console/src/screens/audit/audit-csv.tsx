import { type AuditEvent, listAuditEvents } from '@quartermaster/client';
import type { ReactNode } from 'react';
import { CsvButton } from '../../components/csv-button.tsx';
import type { CsvSource } from '../../data/csv.ts';
import { actorOf, type AuditQuery, textOfChange } from './audit-query.ts';
import { whatHappened } from './audit-words.ts';

const COLUMNS: CsvSource<AuditEvent>['columns'] = {
  id: ({ id }) => id,
  created_at: ({ createdAt }) => createdAt,
  tenant_id: ({ tenantId }) => tenantId,
  sub_tenant_id: ({ subTenantId }) => subTenantId,
  actor: (event) => actorOf(event) ?? event.actor.type,
  key_id: ({ keyId }) => keyId,
  what: whatHappened,
  operation: ({ operation }) => operation,
  target_type: ({ target }) => target?.type,
  target_id: ({ target }) => target?.id,
  target_name: ({ target }) => target?.name,
  outcome: ({ outcome }) => outcome,
  reason: ({ reason }) => reason,
  decision: ({ decision }) => decision,
  count: ({ count }) => count,
  changed_fields: ({ changedFields }) => changedFields,
  changes: ({ changes }) => changes.map((change) => `${change.field}: ${textOfChange(change)}`).join('; '),
  request_id: ({ requestId }) => requestId,
};

export function AuditCsv({ query }: { query: AuditQuery }): ReactNode {
  const source: CsvSource<AuditEvent> = {
    columns: COLUMNS,
    keyOf: ({ id }) => id,
    read: async (cursor) => {
      const page = { ...query, limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await listAuditEvents({ query: page, throwOnError: true })).data;
    },
  };
  return <CsvButton name="audit" scope="audit_events:read" source={source} />;
}
