import {
  type Credential,
  deleteServiceAccount,
  disableServiceAccount,
  enableServiceAccount,
  listServiceAccountKeys,
  type ServiceAccount,
} from '@quartermaster/client';
import { getServiceAccountOptions } from '@quartermaster/client/@tanstack/react-query.gen.ts';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { CopyId } from '../../components/copy.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { formatNumber } from '../../components/format.ts';
import { useKeys } from '../../components/hotkeys.ts';
import { StateMark } from '../../components/marks.tsx';
import { placeOf } from '../../components/place.tsx';
import { Screen } from '../../components/screen.tsx';
import { Empty, Failed, Loading, MissingScope } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey, ifMatch } from '../../data/client.ts';
import { holds, useMe } from '../../data/me.ts';
import { usePagedList } from '../../data/pages.ts';
import { problemOf } from '../../data/problem.ts';
import { useTenantFilter } from '../../data/tenant.ts';
import { useUrlState } from '../../data/url-state.ts';
import { accountAddress } from './account-address.ts';
import { AccessLink } from '../access/access-link.tsx';
import { AccountForm } from './account-form.tsx';
import { Expiry } from './expiry.tsx';
import { RevokeDialog, RotateDialog } from './key-dialogs.tsx';
import { KeyForm } from './key-form.tsx';
import { KeyPanel } from './key-panel.tsx';
import { KeyStatus } from './key-status.tsx';
import { SecretDialog } from './secret-dialog.tsx';

const keyOf = ({ id }: Credential) => id;

const COLUMNS: Column<Credential>[] = [
  {
    key: 'name',
    header: 'Key',
    width: 'minmax(210px, 1.4fr)',
    cell: ({ name, prefix }) => (
      <span className="row">
        <strong className="truncate">{name ?? 'without a name'}</strong>
        <code className="dim truncate">{prefix}</code>
      </span>
    ),
  },
  { key: 'status', header: 'Status', width: '90px', cell: ({ status }) => <KeyStatus status={status} /> },
  {
    key: 'scopes',
    header: 'Scopes',
    isWideOnly: true,
    width: 'minmax(100px, 1.8fr)',
    cell: ({ scopes }) => <span title={scopes.join(', ')}>{scopes.join(', ')}</span>,
  },
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
    width: '100px',
    cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />,
  },
  {
    key: 'created',
    isWideOnly: true,
    header: 'Created',
    width: '100px',
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
];

export function AccountScreen(): ReactNode {
  const { accountId } = useParams({ from: '/accounts/$accountId' });
  const tenant = useTenantFilter();
  const [{ of }] = useUrlState();
  const query = of === undefined ? tenant : { tenant_id: of };
  const { data, error, refetch } = useQuery(
    getServiceAccountOptions({ path: { service_account_id: accountId }, query }),
  );
  if (data === undefined) {
    return (
      <Screen title="Service account" above={<Link to="/accounts">Accounts and keys</Link>}>
        {error === null ? <Loading /> : <Failed problem={problemOf(error)} retry={() => void refetch()} />}
      </Screen>
    );
  }
  return <Loaded key={`${data.tenantId}/${data.id}`} account={data} />;
}

function Loaded({ account }: { account: ServiceAccount }): ReactNode {
  const [state, setState] = useUrlState();
  const [secret, setSecret] = useState<string | null>(null);
  const [rotated, setRotated] = useState<Credential | null>(null);
  const [revoked, setRevoked] = useState<Credential | null>(null);
  const [isDeleting, setDeleting] = useState(false);
  const navigate = useNavigate();
  const { id, name, displayName, description, status, telemetry } = account;
  const { path, query } = accountAddress(account);
  const headers = () => ({ ...idempotencyKey(), ...ifMatch(`/v1/service-accounts/${id}`) });
  const mayReadKeys = holds(useMe(), 'credentials:read', account);
  const list = usePagedList({
    key: ['keys-of-account', id, account.tenantId],
    read: async (cursor, signal) => {
      const page = { ...query, limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await listServiceAccountKeys({ path, query: page, signal, throwOnError: true })).data;
    },
    enabled: mayReadKeys,
  });
  const toggle = useAction({
    run: () => {
      const options = { path, query, headers: headers(), throwOnError: true as const };
      return status === 'active' ? disableServiceAccount(options) : enableServiceAccount(options);
    },
    done: () => (status === 'active' ? `${name} is disabled. Its keys are refused.` : `${name} is enabled.`),
  });
  const remove = useAction({
    run: () => deleteServiceAccount({ path, query, headers: headers(), throwOnError: true }),
    done: () => `${name} was deleted.`,
    onDone: () => navigate({ to: '/accounts', replace: true }),
  });
  const shown = list.items.find((each) => each.id === state['item']);
  useKeys({ Escape: () => setState({ item: undefined }) });
  return (
    <Screen
      title={displayName ?? name}
      above={<Link to="/accounts">Accounts and keys</Link>}
      summary={
        <div className="row">
          <StateMark state={status} tone={status === 'active' ? 'live' : 'quiet'} />
          {placeOf(account)}
          <CopyId id={id} />
          <span>
            last used <Time at={account.lastUsedAt} />
          </span>
          <AccessLink source={`service_account:${account.tenantId}/${id}`}>access it gave</AccessLink>
          {description !== null && <span>{description}</span>}
          {telemetry !== null && (
            <span>
              {formatNumber(telemetry.spans)} spans, the last <Time at={telemetry.lastReceivedAt} />
            </span>
          )}
          {(telemetry?.unread.length ?? 0) > 0 && (
            <span className="danger">not understood: {telemetry?.unread.map(({ scope }) => scope).join(', ')}</span>
          )}
        </div>
      }
      request={{ method: 'GET', path: `/v1/service-accounts/${id}/keys`, query }}
      actions={
        <>
          <ActionButton
            scope="service_accounts:write"
            place={account}
            variant="default"
            onClick={() => setState({ edit: '1' })}
          >
            Change
          </ActionButton>
          <ActionButton
            scope="service_accounts:write"
            place={account}
            variant="default"
            onClick={() => setDeleting(true)}
          >
            Delete
          </ActionButton>
          <ActionButton
            scope="service_accounts:write"
            place={account}
            variant="default"
            loading={toggle.isPending}
            onClick={() => toggle.mutate()}
          >
            {status === 'active' ? 'Disable' : 'Enable'}
          </ActionButton>
          <ActionButton
            scope="credentials:write"
            place={account}
            disabledReason={status === 'active' ? null : 'The account is not active.'}
            onClick={() => setState({ new: '1' })}
          >
            Create a key
          </ActionButton>
        </>
      }
    >
      <div className="split">
        {mayReadKeys ? (
          <DataTable
            label="Keys"
            list={list}
            columns={COLUMNS}
            keyOf={keyOf}
            active={state['item']}
            onActive={(item) => setState({ item })}
            onOpen={(credential) => setState({ item: credential.id })}
            empty={
              <Empty title="It has no key">Create one with the scopes that the program needs, and no others.</Empty>
            }
          />
        ) : (
          <MissingScope scope="credentials:read" />
        )}
        {shown !== undefined && (
          <KeyPanel
            account={account}
            credential={shown}
            rotate={() => setRotated(shown)}
            revoke={() => setRevoked(shown)}
            close={() => setState({ item: undefined })}
          />
        )}
      </div>
      {state['new'] !== undefined && (
        <KeyForm account={account} close={() => setState({ new: undefined })} created={setSecret} />
      )}
      {secret !== null && <SecretDialog secret={secret} close={() => setSecret(null)} />}
      {state['edit'] !== undefined && <AccountForm account={account} close={() => setState({ edit: undefined })} />}
      {rotated !== null && (
        <RotateDialog account={account} credential={rotated} close={() => setRotated(null)} created={setSecret} />
      )}
      {revoked !== null && <RevokeDialog account={account} credential={revoked} close={() => setRevoked(null)} />}
      {isDeleting && (
        <ConfirmDialog
          title={`Delete ${displayName ?? name}?`}
          consequence="Its keys and gateway sessions end at once. Its id is never used again in this tenant."
          confirm="Delete the account"
          isPending={remove.isPending}
          onConfirm={() => remove.mutate()}
          close={() => setDeleting(false)}
        />
      )}
    </Screen>
  );
}
