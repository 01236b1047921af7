import { type Credential, searchCredentials, type SearchCredentialsInput } from '@quartermaster/client';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Tag } from '../../components/marks.tsx';
import { Empty } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { usePagedList } from '../../data/pages.ts';
import { type UrlState, useUrlState, wholeNumber } from '../../data/url-state.ts';
import { placeOf } from '../../components/place.tsx';
import { AccountLink } from './account-link.tsx';
import { Expiry } from './expiry.tsx';
import { KeyStatus } from './key-status.tsx';

const DAY_MS = 24 * 60 * 60 * 1000;
const HOUR_MS = 60 * 60 * 1000;

/** After how many days a key counts as unused, unless the address says another number. */
export const UNUSED_DAYS = '30';

/** Within how many days a key expires, unless the address says another number. */
export const EXPIRING_DAYS = '7';

const keyOf = ({ id }: Credential) => id;

const COLUMNS: Column<Credential>[] = [
  {
    key: 'key',
    header: 'Key',
    width: 'minmax(200px, 1.6fr)',
    cell: ({ name, prefix }) => (
      <span className="row">
        <strong className="truncate">{name ?? 'without a name'}</strong>
        <code className="dim truncate">{prefix}</code>
      </span>
    ),
  },
  {
    key: 'owner',
    header: 'Of account',
    width: 'minmax(140px, 1fr)',
    cell: ({ ownerId, tenantId }) =>
      ownerId === null ? null : (
        <AccountLink id={ownerId} tenantId={tenantId}>
          {ownerId}
        </AccountLink>
      ),
  },
  { key: 'place', isWideOnly: true, header: 'Tenant', width: 'minmax(120px, 1fr)', cell: placeOf },
  { key: 'status', header: 'Status', width: '100px', cell: ({ status }) => <KeyStatus status={status} /> },
  {
    key: 'expires',
    header: 'Expires',
    width: '110px',
    cell: ({ expiresAt, status }) => <Expiry at={expiresAt} isSoon={status === 'expiring'} />,
  },
  {
    key: 'used',
    isWideOnly: true,
    header: 'Last used',
    width: '110px',
    cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />,
  },
  {
    key: 'scopes',
    header: 'Scopes',
    width: 'minmax(160px, 1.6fr)',
    cell: ({ scopes }) => (
      <span className="row" title={scopes.join(', ')}>
        {scopes.slice(0, 2).map((scope) => (
          <Tag key={scope}>{scope === '*' ? 'everything' : scope}</Tag>
        ))}
        {scopes.length > 2 && <span className="dim">and {scopes.length - 2} more</span>}
      </span>
    ),
  },
];

/** Those of keys that expire, in the order in which they do. */
const EXPIRING_COLUMNS = COLUMNS.map((column) =>
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
      columns={state['view'] === 'expiring' ? EXPIRING_COLUMNS : COLUMNS}
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
