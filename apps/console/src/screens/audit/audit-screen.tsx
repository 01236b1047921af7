import { type AuditEvent, listAuditEvents } from '@quartermaster/client';
import { AUDIT_OPERATION_TITLES } from '@quartermaster/client/audit-operations.gen.ts';
import { type ReactNode, useMemo } from 'react';
import type { Column } from '../../components/data-table.tsx';
import { SelectFilter, TextFilter } from '../../components/filters.tsx';
import { formatNumber } from '../../components/format.ts';
import { StateMark } from '../../components/marks.tsx';
import { placeOf } from '../../components/place.tsx';
import { PrincipalName } from '../../components/principal.tsx';
import { PrincipalFilter } from '../../components/principal-filter.tsx';
import { RangeFilter } from '../../components/range-filter.tsx';
import { Screen } from '../../components/screen.tsx';
import { SplitList } from '../../components/split-list.tsx';
import { Empty } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { usePagedList } from '../../data/pages.ts';
import { MINUTE_MS, PERIODS } from '../../data/time-range.ts';
import { useUrlParameter, useUrlState } from '../../data/url-state.ts';
import { AuditCsv } from './audit-csv.tsx';
import { AuditPanel } from './audit-panel.tsx';
import { actorOf, shortTextOfChange, useAuditQuery } from './audit-query.ts';
import { DECISION_CHOICES, titleOf, whatHappened } from './audit-words.ts';
import { ChainStatus } from './chain-status.tsx';
import { TargetName } from './target-name.tsx';

const TONES = { success: 'quiet', failure: 'danger', denied: 'danger' } as const;

const OPERATIONS: readonly Choice[] = Object.keys(AUDIT_OPERATION_TITLES)
  .map(choiceOf)
  .toSorted((a, b) => a.label.localeCompare(b.label, 'en'));

type Choice = { value: string; label: string };

function choiceOf(name: string): Choice {
  return { value: name, label: titleOf(name) };
}

/** The operations to filter by. An address may name one of another version. */
function useOperations(): readonly Choice[] {
  const chosen = useUrlParameter('operation');
  const isListed = chosen === undefined || OPERATIONS.some(({ value }) => value === chosen);
  return useMemo(() => (isListed ? OPERATIONS : [{ value: chosen, label: chosen }, ...OPERATIONS]), [chosen, isListed]);
}

const COLUMNS: Column<AuditEvent>[] = [
  { key: 'when', header: 'When', width: '110px', cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    key: 'outcome',
    header: 'Outcome',
    width: '100px',
    cell: ({ outcome }) => <StateMark state={outcome} tone={TONES[outcome]} />,
  },
  {
    key: 'operation',
    header: 'What',
    width: 'minmax(200px, 2.2fr)',
    cell: ({ changes: [first, ...others], ...event }) => (
      <span className="row">
        <strong className="truncate">{whatHappened(event)}</strong>
        {first !== undefined && (
          <span className="dim truncate">
            {first.field}: {shortTextOfChange(first)}
            {others.length > 0 && `, ${others.length} more`}
          </span>
        )}
      </span>
    ),
  },
  {
    key: 'actor',
    header: 'Actor',
    width: 'minmax(110px, 1fr)',
    cell: (event) => {
      const principal = actorOf(event);
      return principal === null ? (
        <span className="dim">{event.actor.type}</span>
      ) : (
        <PrincipalName principal={principal} />
      );
    },
  },
  {
    key: 'target',
    header: 'Target',
    width: 'minmax(150px, 1.6fr)',
    isWideOnly: true,
    cell: (event) => <TargetName event={event} />,
  },
  {
    key: 'reason',
    header: 'Reason',
    width: 'minmax(120px, 1fr)',
    isWideOnly: true,
    cell: ({ reason }) => <span className="dim">{reason?.replaceAll('_', ' ') ?? ''}</span>,
  },
  {
    key: 'count',
    header: 'Times',
    width: '60px',
    isNumber: true,
    isWideOnly: true,
    cell: ({ count }) => formatNumber(count),
  },
  { key: 'tenant', header: 'Tenant', width: 'minmax(120px, 1fr)', isWideOnly: true, cell: placeOf },
];

export function AuditScreen(): ReactNode {
  const [state] = useUrlState();
  const query = useAuditQuery();
  const operations = useOperations();
  const list = usePagedList({
    key: ['audit-events', query],
    read: async (cursor, signal) => {
      const page = { ...query, limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await listAuditEvents({ query: page, signal, throwOnError: true })).data;
    },
  });
  return (
    <Screen
      title="Audit"
      summary={<ChainStatus />}
      request={{ method: 'GET', path: '/v1/audit-events', query }}
      actions={<AuditCsv query={query} />}
      toolbar={
        <>
          <PrincipalFilter name="actor" label="Actor" />
          <SelectFilter name="operation" label="Operation" choices={operations} width={190} listWidth={320} />
          <TextFilter name="target" label="Target id" width={142} />
          <SelectFilter name="decision" label="Decision" choices={DECISION_CHOICES} width={120} listWidth={260} />
          <SelectFilter name="outcome" label="Outcome" choices={['success', 'failure', 'denied']} width={112} />
          <RangeFilter label="Any time" periods={PERIODS} step={MINUTE_MS} />
        </>
      }
    >
      <SplitList
        label="Audit events"
        list={list}
        columns={COLUMNS}
        empty={<Empty title="No event matches">Target ids are compared exactly. Clear a filter to see more.</Empty>}
        shown={list.items.find(({ id }) => id === state['item'])}
        renderPanel={(event, close) => <AuditPanel key={event.id} event={event} close={close} />}
      />
    </Screen>
  );
}
