import { listOperatorTasks, type OperatorTask, type Provider } from '@quartermaster/client';
import type { ReactNode } from 'react';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { StateMark } from '../../components/marks.tsx';
import { PrincipalName } from '../../components/principal.tsx';
import { Empty } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { usePagedList } from '../../data/pages.ts';
import { CANNOT_SYNC } from './cannot-sync.ts';

const keyOf = ({ id }: OperatorTask) => id;

const COLUMNS: Column<OperatorTask>[] = [
  { key: 'when', header: 'Started', width: '120px', cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    key: 'status',
    header: 'Result',
    width: '120px',
    cell: ({ status }) => <StateMark state={status} tone={status === 'failed' ? 'danger' : 'quiet'} />,
  },
  {
    key: 'note',
    header: 'What happened',
    width: 'minmax(260px, 3fr)',
    cell: ({ lastError, note }) => lastError ?? note ?? '',
  },
  {
    key: 'who',
    header: 'By',
    width: 'minmax(140px, 1fr)',
    cell: ({ assignee }) => <PrincipalName principal={assignee} />,
  },
  {
    key: 'attempts',
    isWideOnly: true,
    header: 'Attempts',
    width: '80px',
    isNumber: true,
    cell: ({ attempts }) => attempts,
  },
];

/** Each time that the provider was asked what it offers. */
export function SyncsTab({ provider }: { provider: Provider }): ReactNode {
  const list = usePagedList({
    key: ['syncs-of-provider', provider.id],
    read: async (cursor, signal) => {
      const filter = { kind: 'sync_inventory' as const, subject_id: provider.id, limit: 100 };
      const query = { ...filter, ...(cursor !== undefined && { cursor }) };
      return (await listOperatorTasks({ query, signal, throwOnError: true })).data;
    },
  });
  return (
    <DataTable
      label="Syncs"
      list={list}
      columns={COLUMNS}
      keyOf={keyOf}
      empty={
        <Empty title="It was never asked">
          {provider.baseUrl === null ? CANNOT_SYNC : 'Press Sync now to ask the provider what it offers.'}
        </Empty>
      }
    />
  );
}
