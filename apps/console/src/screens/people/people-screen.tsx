import { listUsers, type User } from '@quartermaster/client';
import { getUserOptions } from '@quartermaster/client/@tanstack/react-query.gen.ts';
import type { ReactNode } from 'react';
import type { Column } from '../../components/data-table.tsx';
import { SelectFilter, TextFilter } from '../../components/filters.tsx';
import { StateMark, Tag } from '../../components/marks.tsx';
import { placeName } from '../../components/place.tsx';
import { Screen } from '../../components/screen.tsx';
import { SplitList } from '../../components/split-list.tsx';
import { Empty } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useShownRecord } from '../../data/linked-record.ts';
import { usePagedList } from '../../data/pages.ts';
import { useTenantFilter } from '../../data/tenant.ts';
import { useUrlState } from '../../data/url-state.ts';
import { UserPanel } from './user-panel.tsx';

const STATUSES: User['status'][] = ['pending_terms', 'pending_identity', 'active', 'disabled', 'deleted'];

const COLUMNS: Column<User>[] = [
  {
    key: 'name',
    header: 'Person',
    width: 'minmax(160px, 1.5fr)',
    cell: ({ id, displayName, email, platformAdministrator }) => (
      <span className="row">
        <strong className="truncate">{displayName ?? email ?? id}</strong>
        {platformAdministrator && <Tag>platform administrator</Tag>}
      </span>
    ),
  },
  { key: 'email', header: 'Email', isWideOnly: true, width: 'minmax(160px, 1.5fr)', cell: ({ email }) => email ?? '' },
  {
    key: 'status',
    header: 'Status',
    width: '118px',
    cell: ({ status }) => <StateMark state={status} tone={status === 'active' ? 'live' : 'quiet'} />,
  },
  {
    key: 'tenants',
    header: 'Member of',
    isWideOnly: true,
    width: 'minmax(160px, 2fr)',
    cell: ({ memberships }) => {
      const places = memberships.map((membership) => `${placeName(membership)} (${membership.role})`).join(', ');
      return <span title={places}>{places}</span>;
    },
  },
  {
    key: 'seen',
    header: 'Last seen',
    isWideOnly: true,
    width: '110px',
    cell: ({ lastSeenAt }) => <Time at={lastSeenAt} />,
  },
];

/** Everybody in the caller's reach, and what an offboarding needs. */
export function PeopleScreen(): ReactNode {
  const [state] = useUrlState();
  const filter = useTenantFilter();
  const { status, q } = state;
  const query = {
    ...filter,
    ...(status !== undefined && { status: status as User['status'] }),
    ...(q !== undefined && { text: q }),
  };
  const list = usePagedList({
    key: ['users', query],
    read: async (cursor, signal) => {
      const page = { ...query, limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await listUsers({ query: page, signal, throwOnError: true })).data;
    },
  });
  const item = state['item'];
  const { shown, problem } = useShownRecord(list, item, getUserOptions({ path: { user_id: item ?? '' } }));
  const hasFilter = status !== undefined || q !== undefined;
  return (
    <Screen
      title="People"
      summary="Everyone who accepted an invitation. Pending invitations are listed with their tenant."
      request={{ method: 'GET', path: '/v1/users', query }}
      toolbar={
        <>
          <TextFilter name="q" label="Search names and emails" />
          <SelectFilter name="status" label="Status" choices={STATUSES} />
        </>
      }
    >
      <SplitList
        label="People"
        list={list}
        columns={COLUMNS}
        empty={
          hasFilter ? (
            <Empty title="No person matches">
              Clear a filter to see more. Deleted people have no name and no email.
            </Empty>
          ) : (
            <Empty title="No person has accepted an invitation yet">Open a tenant and invite a person by email.</Empty>
          )
        }
        shown={shown}
        problem={problem}
        panelLabel="Person"
        renderPanel={(user, close) => <UserPanel key={user.id} user={user} close={close} />}
      />
    </Screen>
  );
}
