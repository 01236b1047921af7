import type { Provider, RuntimeObservation } from '@quartermaster/client';
import type { Column } from '../../components/data-table.tsx';
import { formatCompact } from '../../components/format.ts';
import { MeaningShape, RiskMark, StateMark, Tag } from '../../components/marks.tsx';
import { PrincipalName } from '../../components/principal.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { Time } from '../../components/time.tsx';
import { providerLabel } from '../../data/names.ts';
import { Callers } from './callers.tsx';
import { meaningOf } from './meaning.ts';
import { ANY_STATUS } from './query.ts';

type Options = {
  providers: ReadonlyMap<string, Provider>;
  view: string;
  /** A panel takes a part of the width. */
  isNarrow: boolean;
};

/** What is left out beside an open panel, which also says it. */
const WIDE_ONLY = new Set(['callers', 'first', 'decided-by', 'decided', 'calls']);

const FIRST_SEEN_COLUMN: Column<RuntimeObservation> = {
  key: 'first',
  isWideOnly: true,
  header: 'First seen',
  width: '96px',
  cell: ({ firstSeenAt }) => <Time at={firstSeenAt} />,
};

const STATUS_COLUMN: Column<RuntimeObservation> = {
  key: 'status',
  header: 'Status',
  width: '96px',
  cell: ({ status }) => <StateMark state={status} tone={status === 'open' ? 'live' : 'quiet'} />,
};

const DECISION_COLUMNS: Column<RuntimeObservation>[] = [
  {
    key: 'decided-by',
    header: 'Decided by',
    width: 'minmax(100px, 1fr)',
    cell: ({ review }) => review !== null && <PrincipalName principal={review.reviewedBy} />,
  },
  {
    key: 'decided',
    isWideOnly: true,
    header: 'Decided',
    width: '96px',
    cell: ({ review }) => review !== null && <Time at={review.reviewedAt} />,
  },
];

/** The views whose rows have a decision. */
const DECIDED_VIEWS = new Set(['all', 'seen_again', 'blocked', 'denied']);

export function observationColumns({ providers, view, isNarrow }: Options): Column<RuntimeObservation>[] {
  // Beside a name the status would cut the name off.
  const withStatus = ANY_STATUS.has(view);
  const columns: Column<RuntimeObservation>[] = [
    { key: 'risk', header: 'Risk', width: '78px', cell: ({ risk }) => <RiskMark level={risk.level} /> },
    {
      key: 'what',
      header: 'What',
      width: 'minmax(180px, 2.2fr)',
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
    ...(withStatus ? [STATUS_COLUMN] : []),
    ...(DECIDED_VIEWS.has(view) ? DECISION_COLUMNS : []),
    {
      key: 'provider',
      header: 'At provider',
      width: 'minmax(90px, 1fr)',
      cell: ({ providerId }) => (
        <RowLink path={`/providers/${providerId}`}>{providerLabel(providers.get(providerId), providerId)}</RowLink>
      ),
    },
    {
      key: 'callers',
      header: 'Called by',
      isWideOnly: true,
      width: 'minmax(110px, 1.2fr)',
      cell: Callers,
    },
    ...(withStatus ? [] : [FIRST_SEEN_COLUMN]),
    {
      key: 'last',
      isWideOnly: isNarrow,
      header: 'Last seen',
      width: '96px',
      cell: ({ lastSeenAt }) => <Time at={lastSeenAt} />,
    },
    {
      key: 'calls',
      header: 'Calls',
      isWideOnly: true,
      width: '60px',
      isNumber: true,
      cell: ({ occurrences }) => formatCompact(occurrences),
    },
  ];
  return isNarrow ? columns.filter(({ key }) => !WIDE_ONLY.has(key)) : columns;
}
