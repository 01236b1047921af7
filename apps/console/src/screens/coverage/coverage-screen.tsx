import { type Coverage, type CoverageState, listCoverage } from '@quartermaster/client';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Views } from '../../components/filters.tsx';
import { formatNumber, words } from '../../components/format.ts';
import { StateMark } from '../../components/marks.tsx';
import { PrincipalName } from '../../components/principal.tsx';
import { Screen } from '../../components/screen.tsx';
import { Empty } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { usePagedList } from '../../data/pages.ts';
import { useTenantFilter } from '../../data/tenant.ts';
import { useUrlState } from '../../data/url-state.ts';
import { ConnectLink } from '../connect/connect-link.tsx';
import { STATES } from './states.ts';

const keyOf = ({ tenantId, subTenantId, account, providerId }: Coverage) =>
  [tenantId, subTenantId, account, providerId].join(' ');

const RANKS = Object.keys(STATES);

/** What needs attention first, and of that the most calls that nobody asked about. */
function byAttention(a: Coverage, b: Coverage): number {
  return RANKS.indexOf(a.state) - RANKS.indexOf(b.state) || b.unasked - a.unasked;
}

const COLUMNS: Column<Coverage>[] = [
  {
    key: 'state',
    header: 'State',
    width: 'minmax(120px, 1.2fr)',
    cell: ({ state }) => <StateMark state={STATES[state].label} tone={STATES[state].tone} />,
  },
  {
    key: 'account',
    header: 'Account',
    width: 'minmax(120px, 1.5fr)',
    cell: ({ account }) => <PrincipalName principal={account} />,
  },
  {
    key: 'provider',
    header: 'At provider',
    width: 'minmax(110px, 1.3fr)',
    cell: ({ provider, providerId }) =>
      provider === null ? (
        <span className="dim">not listed</span>
      ) : (
        <Link to="/providers/$providerId" params={{ providerId }} className="truncate">
          {provider}
        </Link>
      ),
  },
  {
    key: 'agents',
    header: 'Agents',
    isWideOnly: true,
    width: 'minmax(110px, 1.2fr)',
    cell: ({ agents }) => <span className="truncate">{agents.join(', ')}</span>,
  },
  {
    key: 'unasked',
    header: 'Not asked about',
    width: '104px',
    isNumber: true,
    cell: ({ unasked }) => formatNumber(unasked),
  },
  {
    key: 'calls',
    header: 'Calls',
    isWideOnly: true,
    width: '76px',
    isNumber: true,
    cell: ({ calls }) => formatNumber(calls),
  },
  {
    key: 'decisions',
    header: 'Decisions',
    isWideOnly: true,
    width: '84px',
    isNumber: true,
    cell: ({ decisions }) => formatNumber(decisions),
  },
  {
    key: 'denied',
    header: 'Denied',
    isWideOnly: true,
    width: '76px',
    isNumber: true,
    cell: ({ denied }) => formatNumber(denied),
  },
  {
    key: 'points',
    header: 'Asked by',
    isWideOnly: true,
    width: 'minmax(90px, 1fr)',
    cell: ({ points }) => <span className="truncate">{points.map((point) => words(point)).join(', ')}</span>,
  },
  {
    key: 'last',
    header: 'Last decision',
    isWideOnly: true,
    width: '104px',
    cell: ({ lastDecisionAt }) => (lastDecisionAt === null ? '' : <Time at={lastDecisionAt} />),
  },
  {
    key: 'lastCall',
    header: 'Last call',
    isWideOnly: true,
    width: '104px',
    cell: ({ lastCallAt }) => (lastCallAt === null ? '' : <Time at={lastCallAt} />),
  },
];

/** Whose calls gateways decide about, and whose calls nobody asks about. */
export function CoverageScreen(): ReactNode {
  const [{ view = 'all', days = '7', row }, setState] = useUrlState();
  const filter = useTenantFilter();
  const query = { ...filter, days: Number(days) || 7, ...(view !== 'all' && { state: view as CoverageState }) };
  const list = usePagedList({
    key: ['coverage', query],
    read: async (cursor, signal) => {
      const page = { ...query, limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await listCoverage({ query: page, signal, throwOnError: true })).data;
    },
  });
  const items = useMemo(() => list.items.toSorted(byAttention), [list.items]);
  return (
    <Screen
      title="Coverage"
      summary="Whose calls gateways decide about, and whose calls nobody asks about."
      request={{ method: 'GET', path: '/v1/coverage', query }}
      toolbar={
        <>
          <Views
            label="State"
            views={[
              { value: 'all', label: 'All' },
              { value: 'bypassed', label: 'Bypassed' },
              { value: 'silent', label: 'Stopped asking' },
              { value: 'ungoverned', label: 'No gateway' },
              { value: 'observed_only', label: 'Only observed' },
              { value: 'enforced', label: 'Enforced' },
            ]}
          />
          <span className="grow" />
          <Views
            name="days"
            label="Period"
            views={[
              { value: '7', label: '7 days' },
              { value: '1', label: '1 day' },
              { value: '30', label: '30 days' },
            ]}
          />
        </>
      }
    >
      <DataTable
        label="Coverage"
        list={{ ...list, items }}
        columns={COLUMNS}
        keyOf={keyOf}
        active={row}
        onActive={(key) => setState({ row: key })}
        empty={
          <Empty title="Nothing to compare">
            <p>
              Reported calls and decisions appear here. <Link to="/gateways">Create a gateway</Link>, and let agents ask
              it. No agent yet? <ConnectLink />.
            </p>
          </Empty>
        }
      />
    </Screen>
  );
}
