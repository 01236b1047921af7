import { type Credential, searchCredentials, type SearchCredentialsInput } from '@quartermaster/client';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { DataTable } from '../../components/data-table.tsx';
import { Empty } from '../../components/states.tsx';
import { usePagedList } from '../../data/pages.ts';
import { type UrlState, useUrlState, wholeNumber } from '../../data/url-state.ts';
import { KEY_COLUMNS } from './key-columns.tsx';

const DAY_MS = 24 * 60 * 60 * 1000;
const HOUR_MS = 60 * 60 * 1000;

/** After how many days a key counts as unused, unless the address says another number. */
export const UNUSED_DAYS = '30';

/** Within how many days a key expires, unless the address says another number. */
export const EXPIRING_DAYS = '7';

const keyOf = ({ id }: Credential) => id;

/** Those of keys that expire, in the order in which they do. */
const EXPIRING_COLUMNS = KEY_COLUMNS.map((column) =>
  column.key === 'expires' ? { ...column, sorted: 'ascending' as const } : column,
);

/** What each view of the keys asks for. */
export function keySearch({ tenant, view, q, days, within, key_status: status }: UrlState): SearchCredentialsInput {
  const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  return {
    kind: 'api_key',
    ...(tenant !== undefined && { tenantId: tenant }),
    ...(q !== undefined && { query: q }),
    ...(view === 'keys' && status !== undefined && { status: status as Credential['status'] }),
    ...(view === 'expiring' && {
      sort: 'expires_at',
      ...(within !== 'any' && {
        expiresBefore: new Date(hour + (wholeNumber(within) ?? Number(EXPIRING_DAYS)) * DAY_MS).toISOString(),
      }),
    }),
    // Keys that end soon are in the other view, and keys that have ended need no care.
    ...(view === 'unused' && {
      status: 'active',
      unusedSince: new Date(hour - (wholeNumber(days) ?? Number(UNUSED_DAYS)) * DAY_MS).toISOString(),
    }),
  };
}

/** The keys of all accounts, by what one should do about them. */
export function KeysTable(): ReactNode {
  const [state, setState] = useUrlState();
  const navigate = useNavigate();
  const body = keySearch(state);
  const list = usePagedList({
    key: ['keys', body],
    read: async (cursor, signal) => {
      const page = { ...body, limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await searchCredentials({ body: page, signal, throwOnError: true })).data;
    },
  });
  return (
    <DataTable
      label="Keys"
      list={list}
      columns={state['view'] === 'expiring' ? EXPIRING_COLUMNS : KEY_COLUMNS}
      keyOf={keyOf}
      active={state['row']}
      onActive={(row) => setState({ row })}
      onOpen={({ id, ownerId, tenantId }) => {
        if (ownerId === null) return;
        const search = { of: tenantId ?? undefined, item: id };
        void navigate({ to: '/accounts/$accountId', params: { accountId: ownerId }, search });
      }}
      empty={<NoKeys {...state} />}
    />
  );
}

function NoKeys({ view, within = EXPIRING_DAYS }: UrlState): ReactNode {
  if (view === 'expiring') {
    const when = { any: 'at any time', '1': 'within a day' }[within] ?? `within ${within} days`;
    return <Empty title={`No key expires ${when}`}>The view All keys has the others.</Empty>;
  }
  if (view === 'unused') return <Empty title="Every key has been used lately">Choose fewer days to see more.</Empty>;
  return <Empty title="No key matches">Create a key on the page of an account.</Empty>;
}
