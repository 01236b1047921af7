import { listOperatorTasks, type OperatorTask } from '@quartermaster/client';
import type { ReactNode } from 'react';
import type { Column } from '../../components/data-table.tsx';
import { SelectFilter, Views } from '../../components/filters.tsx';
import { words } from '../../components/format.ts';
import { StateMark, Tag } from '../../components/marks.tsx';
import { placeOf } from '../../components/place.tsx';
import { PrincipalName } from '../../components/principal.tsx';
import { Screen } from '../../components/screen.tsx';
import { SplitList } from '../../components/split-list.tsx';
import { Empty } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useMe } from '../../data/me.ts';
import { usePagedList } from '../../data/pages.ts';
import { whileSignedIn } from '../../data/session.ts';
import { useTenantFilter } from '../../data/tenant.ts';
import { useUrlState } from '../../data/url-state.ts';
import { ConnectLink } from '../connect/connect-link.tsx';
import { TaskPanel } from './task-panel.tsx';
import { REFRESH_MS } from './use-lease.ts';

const VIEWS = [
  { value: 'open', label: 'Open' },
  { value: 'mine', label: 'Mine' },
  { value: 'claimed', label: 'Claimed' },
  { value: 'running', label: 'Running' },
  { value: 'failed', label: 'Failed' },
  { value: 'succeeded', label: 'Done' },
  { value: 'cancelled', label: 'Cancelled' },
  { value: 'all', label: 'All' },
];

const KINDS = [
  'review_observation',
  'investigate_blocked_use',
  'adopt_provider',
  'rotate_credential',
  'sync_inventory',
  'review_cardinality',
  'review_telemetry',
  'review_mcp_server',
  'investigate_bypass',
];

const TONES = {
  open: 'quiet',
  claimed: 'live',
  running: 'live',
  succeeded: 'quiet',
  failed: 'danger',
  cancelled: 'quiet',
} as const;

const COLUMNS: Column<OperatorTask>[] = [
  {
    key: 'title',
    header: 'Task',
    width: 'minmax(260px, 3fr)',
    cell: ({ title, priority }) => (
      <span className="row">
        <span className="truncate">{title}</span>
        {priority === 'high' && <Tag>high priority</Tag>}
      </span>
    ),
  },
  {
    key: 'kind',
    header: 'Kind',
    width: '150px',
    isWideOnly: true,
    cell: ({ kind }) => <span className="dim">{words(kind)}</span>,
  },
  {
    key: 'status',
    header: 'Status',
    width: '90px',
    cell: ({ status }) => <StateMark state={status} tone={TONES[status]} />,
  },
  {
    key: 'assignee',
    header: 'Assignee',
    width: 'minmax(120px, 1fr)',
    cell: ({ assignee }) =>
      assignee === null ? <span className="dim">not claimed</span> : <PrincipalName principal={assignee} />,
  },
  { key: 'due', header: 'Due', isWideOnly: true, width: '84px', cell: ({ dueAt }) => <Time at={dueAt} fallback="" /> },
  {
    key: 'created',
    header: 'Created',
    isWideOnly: true,
    width: '84px',
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
  { key: 'tenant', header: 'Tenant', width: 'minmax(120px, 1fr)', isWideOnly: true, cell: placeOf },
];

export function TasksScreen(): ReactNode {
  const [state] = useUrlState();
  const me = useMe();
  const filter = useTenantFilter();
  const { view = 'open', kind, item } = state;
  const query = {
    ...filter,
    ...(kind !== undefined && { kind: kind as OperatorTask['kind'] }),
    ...(view === 'mine' && { status: 'claimed' as const, assignee: me.principal }),
    ...(view !== 'mine' && view !== 'all' && { status: view as OperatorTask['status'] }),
  };
  const list = usePagedList({
    key: ['tasks', query],
    read: async (cursor, signal) => {
      const page = { ...query, limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await listOperatorTasks({ query: page, signal, throwOnError: true })).data;
    },
    refetchInterval: whileSignedIn(REFRESH_MS),
  });
  return (
    <Screen
      title="Tasks"
      summary="Work that needs a person. Claim a task, so that no other person works on it at the same time."
      request={{ method: 'GET', path: '/v1/operator/tasks', query }}
      toolbar={
        <>
          <Views label="Status" views={VIEWS} />
          <span className="grow" />
          <SelectFilter name="kind" label="Kind" width={200} choices={KINDS} />
        </>
      }
    >
      <SplitList
        label="Tasks"
        list={list}
        columns={COLUMNS}
        empty={<Nothing view={view} hasFilter={kind !== undefined} />}
        // Claiming moves a task out of the view, but its panel stays.
        shown={item}
        renderPanel={(taskId, close) => <TaskPanel key={taskId} taskId={taskId} close={close} />}
      />
    </Screen>
  );
}

function Nothing({ view, hasFilter }: { view: string; hasFilter: boolean }): ReactNode {
  if (hasFilter) return <Empty title="No task of this kind">Clear the filter to see the others.</Empty>;
  if (view === 'open') {
    return (
      <Empty title="Nothing waits">
        New observations, uses of blocked items, expiring credentials and discovered providers make tasks. No agent yet?{' '}
        <ConnectLink />.
      </Empty>
    );
  }
  if (view === 'mine')
    return <Empty title="You have claimed nothing">Open a task in the view Open, and claim it.</Empty>;
  return <Empty title="No task has this status">The view All has every task.</Empty>;
}
