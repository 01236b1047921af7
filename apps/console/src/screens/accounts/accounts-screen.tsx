import { searchServiceAccounts, type SearchServiceAccountsInput, type ServiceAccount } from '@quartermaster/client';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { SelectFilter, TextFilter, Views } from '../../components/filters.tsx';
import { StateMark, Tag } from '../../components/marks.tsx';
import { placeOf } from '../../components/place.tsx';
import { Screen } from '../../components/screen.tsx';
import { ConnectLink } from '../connect/connect-link.tsx';
import { Empty, MissingScope } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useMe } from '../../data/me.ts';
import { holdsWithin } from '../../data/rights.ts';
import { isGeneratedAccountId } from '../../data/names.ts';
import { usePagedList } from '../../data/pages.ts';
import { type UrlState, useUrlState } from '../../data/url-state.ts';
import { AccountForm } from './account-form.tsx';
import { AccountLink } from './account-link.tsx';
import { KeysCsv } from './keys-csv.tsx';
import { EXPIRING_DAYS, keySearch, KeysTable, UNUSED_DAYS } from './keys-table.tsx';

const KEY_STATUSES = ['active', 'expiring', 'expired', 'revoked'];

const UNUSED_CHOICES = ['7', '30', '90', '180'].map((days) => ({ value: days, label: `For ${days} days` }));

const EXPIRING_CHOICES = [
  ...['1', '14', '30', '90'].map((days) => ({
    value: days,
    label: days === '1' ? 'Within a day' : `Within ${days} days`,
  })),
  { value: 'any', label: 'At any time' },
];

const keyOf = ({ tenantId, id }: ServiceAccount) => `${tenantId}/${id}`;

const COLUMNS: Column<ServiceAccount>[] = [
  {
    key: 'name',
    header: 'Service account',
    width: 'minmax(200px, 2fr)',
    cell: ({ id, tenantId, name, displayName, platformAdministrator }) => (
      <span className="row">
        <AccountLink id={id} tenantId={tenantId}>
          <strong>{displayName ?? name}</strong>
        </AccountLink>
        {id !== (displayName ?? name) && !isGeneratedAccountId(id) && <code className="dim truncate">{id}</code>}
        {platformAdministrator && <Tag>platform administrator</Tag>}
      </span>
    ),
  },
  {
    key: 'status',
    header: 'Status',
    width: '100px',
    cell: ({ status }) => <StateMark state={status} tone={status === 'active' ? 'live' : 'quiet'} />,
  },
  { key: 'place', header: 'Tenant', width: 'minmax(140px, 1fr)', cell: placeOf },
  { key: 'keys', header: 'Working keys', width: '100px', isNumber: true, cell: ({ activeKeyCount }) => activeKeyCount },
  {
    key: 'expiry',
    header: 'Next key expires',
    width: '130px',
    cell: ({ soonestKeyExpiryAt, activeKeyCount }) => (
      <Time at={soonestKeyExpiryAt} fallback={activeKeyCount === 0 ? 'no key' : 'never'} />
    ),
  },
  {
    key: 'used',
    isWideOnly: true,
    header: 'Last used',
    width: '120px',
    cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />,
  },
  {
    key: 'telemetry',
    isWideOnly: true,
    header: 'Telemetry',
    width: '130px',
    cell: ({ telemetry }) => <Time at={telemetry?.lastReceivedAt} fallback="none" />,
  },
];

/** Accounts of programs, and the keys of all of them by what is wrong with them. */
export function AccountsScreen(): ReactNode {
  const [state, setState] = useUrlState();
  const { view = 'accounts' } = state;
  const mayReadKeys = holdsWithin(useMe(), 'credentials:read', state['tenant']);
  return (
    <Screen
      title="Accounts and keys"
      summary="Accounts for programs. Each key holds scopes, and nothing more."
      request={
        view === 'accounts'
          ? { method: 'POST', path: '/v1/service-accounts/search', body: accountSearch(state) }
          : { method: 'POST', path: '/v1/credentials/search', body: keySearch(state) }
      }
      actions={
        <>
          {view !== 'accounts' && <KeysCsv search={keySearch(state)} />}
          <ActionButton scope="service_accounts:write" onClick={() => setState({ new: '1' })}>
            Create a service account
          </ActionButton>
        </>
      }
      toolbar={
        <>
          <Views
            label="View"
            views={[
              { value: 'accounts', label: 'Accounts' },
              { value: 'expiring', label: 'Keys that expire' },
              { value: 'unused', label: 'Unused keys' },
              { value: 'keys', label: 'All keys' },
            ]}
          />
          <span className="grow" />
          {view === 'accounts' && (
            <SelectFilter name="status" label="Status" choices={['active', 'disabled', 'deleted']} width={120} />
          )}
          {view === 'keys' && <SelectFilter name="key_status" label="Status" choices={KEY_STATUSES} width={120} />}
          {view === 'expiring' && (
            <SelectFilter name="within" label={`Within ${EXPIRING_DAYS} days`} choices={EXPIRING_CHOICES} width={150} />
          )}
          {view === 'unused' && (
            <SelectFilter name="days" label={`For ${UNUSED_DAYS} days`} choices={UNUSED_CHOICES} width={130} />
          )}
          <TextFilter name="q" label={view === 'accounts' ? 'Search accounts' : 'Search keys'} width={150} />
        </>
      }
    >
      {view === 'accounts' && <AccountList />}
      {view !== 'accounts' && (mayReadKeys ? <KeysTable /> : <MissingScope scope="credentials:read" />)}
      {state['new'] !== undefined && <AccountForm close={() => setState({ new: undefined })} />}
    </Screen>
  );
}

function AccountList(): ReactNode {
  const [state, setState] = useUrlState();
  const navigate = useNavigate();
  const body = accountSearch(state);
  const list = usePagedList({
    key: ['accounts', body],
    read: async (cursor, signal) => {
      const page = { ...body, limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await searchServiceAccounts({ body: page, signal, throwOnError: true })).data;
    },
  });
  return (
    <DataTable
      label="Service accounts"
      list={list}
      columns={COLUMNS}
      keyOf={keyOf}
      active={state['row']}
      onActive={(key) => setState({ row: key })}
      onOpen={({ id, tenantId }) =>
        void navigate({ to: '/accounts/$accountId', params: { accountId: id }, search: { of: tenantId } })
      }
      empty={
        state['q'] === undefined && state['status'] === undefined ? (
          <Empty title="No service account">
            Create one for each program that calls the API or sends spans. <ConnectLink />
          </Empty>
        ) : (
          <Empty title="No account matches">Clear the search or the status to see more.</Empty>
        )
      }
    />
  );
}

function accountSearch({ tenant, q, status }: UrlState): SearchServiceAccountsInput {
  return {
    ...(tenant !== undefined && { tenantId: tenant }),
    ...(q !== undefined && { query: q }),
    ...(status !== undefined && { status: status as ServiceAccount['status'] }),
  };
}
