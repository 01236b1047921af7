import { listUsage, type Usage, type UsagePage } from '@quartermaster/client';
import type { ReactNode } from 'react';
import { CsvButton } from '../../components/csv-button.tsx';
import type { CsvSource } from '../../data/csv.ts';

type UsageQuery = NonNullable<NonNullable<Parameters<typeof listUsage>[0]>['query']>;

type Row = Usage & Pick<UsagePage, 'from' | 'to'>;

const COLUMNS: CsvSource<Row>['columns'] = {
  from: ({ from }) => from,
  to: ({ to }) => to,
  tenant_id: ({ tenantId }) => tenantId,
  sub_tenant_id: ({ subTenantId }) => subTenantId,
  provider_id: ({ providerId }) => providerId,
  kind: ({ kind }) => kind,
  name: ({ name }) => name,
  agent: ({ agent }) => agent,
  account: ({ account }) => account,
  calls: ({ calls }) => calls,
  errors: ({ errors }) => errors,
  input_tokens: ({ inputTokens }) => inputTokens,
  output_tokens: ({ outputTokens }) => outputTokens,
  cache_read_tokens: ({ cacheReadTokens }) => cacheReadTokens,
  cache_write_tokens: ({ cacheWriteTokens }) => cacheWriteTokens,
  reasoning_tokens: ({ reasoningTokens }) => reasoningTokens,
  duration_ms: ({ durationMs }) => durationMs,
  cost_micro_usd: ({ cost }) => cost?.microUsd,
  unpriced_calls: ({ cost }) => cost?.unpricedCalls,
  prices: ({ cost }) => cost?.prices.map(({ id, version }) => (version === null ? id : `${id}@${version}`)),
};

/** The server adds up everything for each page, so a page is as large as it may be. */
const PAGE_SIZE = 1000;

type Props = { query: UsageQuery; keyOf: (row: Usage) => string };

export function UsageCsv({ query, keyOf }: Props): ReactNode {
  const source: CsvSource<Row> = {
    columns: COLUMNS,
    keyOf,
    read: async (cursor) => {
      const page = { ...query, limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) };
      const { items, nextCursor, from, to } = (await listUsage({ query: page, throwOnError: true })).data;
      return { items: items.map((item) => ({ ...item, from, to })), nextCursor };
    },
  };
  return <CsvButton name="usage" scope="usage:read" source={source} />;
}
