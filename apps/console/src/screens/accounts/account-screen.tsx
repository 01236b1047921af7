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
import { DangerButton } from '../../components/danger-button.tsx';
import { CopyId } from '../../components/copy.tsx';
import { StateMark } from '../../components/marks.tsx';
import { placeOf } from '../../components/place.tsx';
import { Screen } from '../../components/screen.tsx';
import { SplitList } from '../../components/split-list.tsx';
import { Empty, Failed, Loading, MissingScope } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useAction } from '../../components/use-action.ts';
import { UsedBy } from '../../components/used-by.tsx';
import { idempotencyKey, ifMatch } from '../../data/client.ts';
import { useMe } from '../../data/me.ts';
import { holds } from '../../data/rights.ts';
import { usePagedList } from '../../data/pages.ts';
import { problemOf } from '../../data/problem.ts';
import { useTenantFilter } from '../../data/tenant.ts';
import { useUrlState } from '../../data/url-state.ts';
import { apiPath } from '../../data/curl.ts';
import { accountAddress } from './account-address.ts';
import { AccessLink } from '../access/access-link.tsx';
import { AccountCost } from './account-cost.tsx';
import { AccountForm } from './account-form.tsx';
import { AccountTelemetry } from './account-telemetry.tsx';
import { KEY_COLUMNS } from './key-columns.tsx';
import { RevokeDialog, RotateDialog } from './key-dialogs.tsx';
import { KeyForm } from './key-form.tsx';
import { KeyPanel } from './key-panel.tsx';
import classes from './accounts.module.css';
import { SecretDialog } from './secret-dialog.tsx';

/** Without the columns that are the same for all keys of one account. */
const COLUMNS = KEY_COLUMNS.filter(({ key }) => key !== 'owner' && key !== 'place');

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
  const { id, name, displayName } = account;
  const mayReadKeys = holds(useMe(), 'credentials:read', account);
  return (
    <Screen
      title={displayName ?? name}
      above={<Link to="/accounts">Accounts and keys</Link>}
      summary={<Summary account={account} />}
      request={{ method: 'GET', path: apiPath`/v1/service-accounts/${id}/keys`, query: accountAddress(account).query }}
      actions={<Actions account={account} />}
    >
      {mayReadKeys ? (
        <div className="split-list">
          <div className={classes.telemetry}>
            <AccountTelemetry account={account} />
          </div>
          <Keys account={account} created={setSecret} />
        </div>
      ) : (
        <MissingScope scope="credentials:read" />
      )}
      {state['new'] !== undefined && (
        <KeyForm account={account} close={() => setState({ new: undefined })} created={setSecret} />
      )}
      {secret !== null && <SecretDialog secret={secret} close={() => setSecret(null)} />}
      {state['edit'] !== undefined && <AccountForm account={account} close={() => setState({ edit: undefined })} />}
    </Screen>
  );
}

function Summary({ account }: { account: ServiceAccount }): ReactNode {
  const { id, description, status } = account;
  return (
    <div className="row">
      <StateMark state={status} tone={status === 'active' ? 'live' : 'quiet'} />
      {placeOf(account)}
      <CopyId id={id} />
      <span>
        last used <Time at={account.lastUsedAt} />
      </span>
      <AccessLink source={`service_account:${account.tenantId}/${id}`}>access it gave</AccessLink>
      <AccountCost account={account} />
      {description !== null && <span>{description}</span>}
    </div>
  );
}

function Actions({ account }: { account: ServiceAccount }): ReactNode {
  const [, setState] = useUrlState();
  const navigate = useNavigate();
  const { id, name, displayName, status } = account;
  const { path, query } = accountAddress(account);
  const headers = () => ({ ...idempotencyKey(), ...ifMatch(`/v1/service-accounts/${id}`) });
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
  return (
    <>
      <DangerButton
        scope="service_accounts:write"
        place={account}
        title={`Delete ${displayName ?? name}?`}
        consequence={
          <>
            <p>Its keys and gateway sessions end at once. Its id is never used again in this tenant. It is used by:</p>
            <UsedBy used={{ account: `service_account:${account.tenantId}/${id}` }} />
          </>
        }
        confirm="Delete the account"
        action={remove}
      >
        Delete
      </DangerButton>
      <DangerButton
        scope="service_accounts:write"
        place={account}
        title={`Disable ${displayName ?? name}?`}
        consequence={
          <>
            <p>
              Every request with its keys is refused at once, and its gateway sessions end. Enabling it again lets its
              keys work again, but does not bring the sessions back. It is used by:
            </p>
            <UsedBy used={{ account: `service_account:${account.tenantId}/${id}` }} />
          </>
        }
        confirm="Disable the account"
        action={toggle}
        opposite={status === 'active' ? null : { label: 'Enable', action: toggle }}
      >
        Disable
      </DangerButton>
      <ActionButton
        scope="service_accounts:write"
        place={account}
        variant="default"
        onClick={() => setState({ edit: '1' })}
      >
        Change
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
  );
}

type KeysProps = {
  account: ServiceAccount;
  /** Called with the text of a new key. */
  created: (secret: string) => void;
};

function Keys({ account, created }: KeysProps): ReactNode {
  const [{ item }] = useUrlState();
  const [rotated, setRotated] = useState<Credential | null>(null);
  const [revoked, setRevoked] = useState<Credential | null>(null);
  const { path, query } = accountAddress(account);
  const list = usePagedList({
    key: ['keys-of-account', account.id, account.tenantId],
    read: async (cursor, signal) => {
      const page = { ...query, limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await listServiceAccountKeys({ path, query: page, signal, throwOnError: true })).data;
    },
  });
  return (
    <>
      <SplitList
        label="Keys"
        list={list}
        columns={COLUMNS}
        empty={<Empty title="It has no key">Create one with the scopes that the program needs, and no others.</Empty>}
        shown={list.items.find(({ id }) => id === item)}
        renderPanel={(credential, close) => (
          <KeyPanel
            account={account}
            credential={credential}
            rotate={() => setRotated(credential)}
            revoke={() => setRevoked(credential)}
            close={close}
          />
        )}
      />
      {rotated !== null && (
        <RotateDialog account={account} credential={rotated} close={() => setRotated(null)} created={created} />
      )}
      {revoked !== null && <RevokeDialog account={account} credential={revoked} close={() => setRevoked(null)} />}
    </>
  );
}
