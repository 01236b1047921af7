import type { Provider, RuntimeObservation } from '@quartermaster/client';
import type { Column } from '../../components/data-table.tsx';
import { formatCompact } from '../../components/format.ts';
import { MeaningShape, RiskMark, StateMark, Tag } from '../../components/marks.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { Time } from '../../components/time.tsx';
import { providerLabel } from '../../data/names.ts';
import { meaningOf } from './meaning.ts';

type Options = {
  providers: ReadonlyMap<string, Provider>;
  withStatus: boolean /** A panel takes a part of the width. */;
  isNarrow: boolean;
};

/** What is left out beside an open panel, which also says it. */
const WIDE_ONLY = new Set(['callers', 'first']);

export function observationColumns({ providers, withStatus, isNarrow }: Options): Column<RuntimeObservation>[] {
  const columns: Column<RuntimeObservation>[] = [
    { key: 'risk', header: 'Risk', width: '78px', cell: ({ risk }) => <RiskMark level={risk.level} /> },
    {
      key: 'what',
      header: 'What',
      width: 'minmax(190px, 2.2fr)',
      cell: (row) => (
        <span className="row">
          <MeaningShape meaning={meaningOf(row)} />
          <span className="visually-hidden">{meaningOf(row)}</span>
          <strong className="truncate" title={row.name}>
            {row.name}
          </strong>
          <Tag>{row.kind}</Tag>
          {row.status !== 'open' && !withStatus && <StateMark state={row.status} />}
        </span>
      ),
    },
    {
      key: 'provider',
      header: 'At provider',
      width: 'minmax(110px, 1fr)',
      cell: ({ providerId }) => (
        <RowLink path={`/providers/${providerId}`}>{providerLabel(providers.get(providerId), providerId)}</RowLink>
      ),
    },
    {
      key: 'callers',
      header: 'Called by',
      width: 'minmax(110px, 1.2fr)',
      cell: ({ evidence }) => <span title={evidence.serviceNames.join(', ')}>{evidence.serviceNames.join(', ')}</span>,
    },
    { key: 'first', header: 'First seen', width: '96px', cell: ({ firstSeenAt }) => <Time at={firstSeenAt} /> },
    { key: 'last', header: 'Last seen', width: '96px', cell: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
    {
      key: 'calls',
      header: 'Calls',
      width: '60px',
      isNumber: true,
      cell: ({ occurrences }) => formatCompact(occurrences),
    },
    ...(withStatus
      ? [
          {
            key: 'status',
            header: 'Status',
            width: '96px',
            cell: ({ status }: RuntimeObservation) => (
              <StateMark state={status} tone={status === 'open' ? 'live' : 'quiet'} />
            ),
          },
        ]
      : []),
  ];
  return isNarrow ? columns.filter(({ key }) => !WIDE_ONLY.has(key)) : columns;
}
