import { type DeniedUse, listGatewayDenials } from '@quartermaster/client';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { formatNumber, words } from '../../components/format.ts';
import { Tag } from '../../components/marks.tsx';
import { PrincipalName } from '../../components/principal.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { Empty } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { usePagedList } from '../../data/pages.ts';
import { useUrlState } from '../../data/url-state.ts';

const keyOf = ({ observationId, account }: DeniedUse) => `${observationId} ${account}`;

const inboxOf = ({ observationId }: DeniedUse) => ({ view: 'denied', item: observationId });

const COLUMNS: Column<DeniedUse>[] = [
  {
    key: 'name',
    header: 'Name',
    width: 'minmax(130px, 1.6fr)',
    cell: (use) => (
      <span className="row">
        <RowLink path="/inbox" search={inboxOf(use)}>
          {use.name}
        </RowLink>{' '}
        <Tag>{use.kind}</Tag>
      </span>
    ),
  },
  {
    key: 'account',
    header: 'Account',
    width: 'minmax(120px, 1.4fr)',
    cell: ({ account }) => <PrincipalName principal={account} />,
  },
  { key: 'reason', header: 'Because', width: 'minmax(100px, 1fr)', cell: ({ reason }) => words(reason) },
  { key: 'denials', header: 'Times', width: '64px', isNumber: true, cell: ({ denials }) => formatNumber(denials) },
  { key: 'last', header: 'Last', width: '92px', cell: ({ lastDeniedAt }) => <Time at={lastDeniedAt} /> },
];

/** What a gateway denied in the last 7 days, or would have denied in the mode `enforce`. */
export function DeniedUses({ gatewayId }: { gatewayId: string }): ReactNode {
  const [{ row }, setState] = useUrlState();
  const navigate = useNavigate();
  const list = usePagedList({
    key: ['denials', gatewayId],
    read: async (cursor, signal) => {
      const query = { limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await listGatewayDenials({ path: { gateway_id: gatewayId }, query, signal, throwOnError: true })).data;
    },
  });
  return (
    <DataTable
      label="Denied uses"
      list={list}
      columns={COLUMNS}
      keyOf={keyOf}
      active={row}
      onActive={(key) => setState({ row: key })}
      onOpen={(use) => void navigate({ to: '/inbox', search: inboxOf(use) })}
      empty={
        <Empty title="Nothing was denied in the last 7 days">Everything that sessions asked for is permitted.</Empty>
      }
    />
  );
}
