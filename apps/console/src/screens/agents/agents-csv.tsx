import { type Agent, type AgentPage, listAgents } from '@quartermaster/client';
import type { ReactNode } from 'react';
import { CsvButton } from '../../components/csv-button.tsx';
import type { CsvSource } from '../../data/csv.ts';

export type AgentQuery = NonNullable<NonNullable<Parameters<typeof listAgents>[0]>['query']>;

type Row = Agent & Pick<AgentPage, 'from' | 'to'>;

const COLUMNS: CsvSource<Row>['columns'] = {
  id: ({ id }) => id,
  tenant_id: ({ tenantId }) => tenantId,
  sub_tenant_id: ({ subTenantId }) => subTenantId,
  name: ({ name }) => name,
  declared: ({ declared }) => declared,
  manifest_id: ({ manifestId }) => manifestId,
  accounts: ({ accounts }) => accounts,
  first_seen_at: ({ firstSeenAt }) => firstSeenAt,
  last_seen_at: ({ lastSeenAt }) => lastSeenAt,
  from: ({ from }) => from,
  to: ({ to }) => to,
  calls: ({ usage }) => usage.calls,
  errors: ({ usage }) => usage.errors,
  input_tokens: ({ usage }) => usage.inputTokens,
  output_tokens: ({ usage }) => usage.outputTokens,
  cost_micro_usd: ({ usage }) => usage.cost?.microUsd,
  unpriced_calls: ({ usage }) => usage.cost?.unpricedCalls,
};

export function AgentsCsv({ query }: { query: AgentQuery }): ReactNode {
  const source: CsvSource<Row> = {
    columns: COLUMNS,
    keyOf: ({ id }) => id,
    read: async (cursor) => {
      const page = { ...query, limit: 100, ...(cursor !== undefined && { cursor }) };
      const { items, nextCursor, from, to } = (await listAgents({ query: page, throwOnError: true })).data;
      return { items: items.map((item) => ({ ...item, from, to })), nextCursor };
    },
  };
  return <CsvButton name="agents" scope="runtime_observations:read" source={source} />;
}
