import { listProviderRuntimeObservations, type Provider, type RuntimeObservation } from '@quartermaster/client';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { formatCompact } from '../../components/format.ts';
import { MeaningMark, RiskMark, StateMark, Tag } from '../../components/marks.tsx';
import { Empty } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { usePagedList } from '../../data/pages.ts';
import { useUrlState } from '../../data/url-state.ts';
import { Callers } from '../inbox/callers.tsx';
import { meaningOf } from '../inbox/meaning.ts';

const keyOf = ({ id }: RuntimeObservation) => id;

const COLUMNS: Column<RuntimeObservation>[] = [
  { key: 'meaning', header: 'Meaning', width: '100px', cell: (row) => <MeaningMark meaning={meaningOf(row)} /> },
  {
    key: 'name',
    header: 'What',
    width: 'minmax(200px, 2fr)',
    cell: ({ id, name, kind, providerId }) => (
      <span className="row">
        <Link
          to="/inbox"
          search={(before) => ({ tenant: before['tenant'], view: 'all', provider: providerId, item: id })}
          className="truncate"
        >
          <strong>{name}</strong>
        </Link>
        <Tag>{kind}</Tag>
      </span>
    ),
  },
  { key: 'risk', header: 'Risk', width: '90px', cell: ({ risk }) => <RiskMark level={risk.level} /> },
  { key: 'status', header: 'Status', width: '100px', cell: ({ status }) => <StateMark state={status} /> },
  {
    key: 'callers',
    header: 'Called by',
    isWideOnly: true,
    width: 'minmax(140px, 1fr)',
    cell: Callers,
  },
  { key: 'last', header: 'Last seen', width: '110px', cell: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
  {
    key: 'calls',
    header: 'Calls',
    width: '80px',
    isNumber: true,
    cell: ({ occurrences }) => formatCompact(occurrences),
  },
];

/** What agents were seen to use of a provider. */
export function ObservationsTab({ provider }: { provider: Provider }): ReactNode {
  const [state, setState] = useUrlState();
  const navigate = useNavigate();
  const list = usePagedList({
    key: ['observations-of-provider', provider.id],
    read: async (cursor, signal) => {
      const query = { limit: 100, ...(cursor !== undefined && { cursor }) };
      const path = { provider_id: provider.id };
      return (await listProviderRuntimeObservations({ path, query, signal, throwOnError: true })).data;
    },
  });
  return (
    <DataTable
      label="Observed"
      list={list}
      columns={COLUMNS}
      keyOf={keyOf}
      active={state['item']}
      onActive={(item) => setState({ item })}
      onOpen={({ id }) =>
        void navigate({
          to: '/inbox',
          search: { tenant: state['tenant'], view: 'all', provider: provider.id, item: id },
        })
      }
      empty={<Empty title="No agent has used it">What agents call of this provider appears here.</Empty>}
    />
  );
}
