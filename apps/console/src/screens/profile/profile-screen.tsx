import {
  type ConsoleSession,
  listMySessions,
  type Me,
  revokeMySession,
  acceptMembership,
  updateMyProfile,
} from '@quartermaster/client';
import { Select, TextInput } from '@mantine/core';
import { parse } from 'bowser';
import { type ReactNode, useMemo, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { CopyId } from '../../components/copy.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Views } from '../../components/filters.tsx';
import { plural } from '../../components/format.ts';
import { StateMark, Tag } from '../../components/marks.tsx';
import { Screen } from '../../components/screen.tsx';
import { Facts } from '../../components/side-panel.tsx';
import { Empty } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSignOut } from '../../components/use-sign-out.ts';
import { idempotencyKey } from '../../data/client.ts';
import { invitationsOf, useMe } from '../../data/me.ts';
import { usePagedList } from '../../data/pages.ts';
import { BROWSER_TIME_ZONE } from '../../data/time-zone.ts';
import { useUrlState } from '../../data/url-state.ts';
import classes from '../providers/provider.module.css';

export function ProfileScreen(): ReactNode {
  const me = useMe();
  const [{ view = 'profile' }] = useUrlState();
  const isUser = me.kind === 'user';
  const signOut = useSignOut();
  return (
    <Screen
      title="Profile and sessions"
      summary={`Signed in as ${[me.displayName, me.email ?? me.principal].filter((part) => part !== null).join(', ')}.`}
      request={{ method: 'GET', path: '/v1/me' }}
      actions={
        me.authentication.scheme === 'session' ? (
          <ActionButton scope={null} variant="default" onClick={signOut}>
            Sign out
          </ActionButton>
        ) : undefined
      }
      toolbar={
        <Views
          label="Part"
          views={[
            { value: 'profile', label: 'Profile' },
            { value: 'memberships', label: 'Memberships' },
            ...(isUser ? [{ value: 'sessions', label: 'Sessions' }] : []),
          ]}
        />
      }
    >
      {view === 'profile' && <Profile me={me} />}
      {view === 'memberships' && <Memberships me={me} />}
      {view === 'sessions' && isUser && <Sessions />}
    </Screen>
  );
}

function Profile({ me }: { me: Me }): ReactNode {
  const [displayName, setDisplayName] = useState(me.displayName ?? '');
  const [timeZone, setTimeZone] = useState(me.timeZone);
  const save = useAction({
    run: () => {
      const body = { displayName: displayName || null, timeZone };
      return updateMyProfile({ body, headers: idempotencyKey(), throwOnError: true });
    },
    done: () => 'Your profile was saved.',
  });
  return (
    <div className={classes.page}>
      <Facts
        facts={[
          ['Email', me.email],
          ['Id', <CopyId key="id" id={me.id} />],
          ['Rights', me.platformAdministrator ? 'Platform administrator: everything in every tenant.' : null],
          ['Signed in by', me.authentication.scheme.replaceAll('_', ' ')],
          [
            'Until',
            me.authentication.expiresAt === null ? null : <Time key="until" at={me.authentication.expiresAt} />,
          ],
        ]}
      />
      {me.kind === 'user' && (
        <>
          <TextInput
            label="Name"
            w={320}
            value={displayName}
            onChange={(event) => setDisplayName(event.currentTarget.value)}
          />
          <Select
            label="Time zone"
            description="Of every time that you see."
            placeholder={`As this browser: ${BROWSER_TIME_ZONE}`}
            w={320}
            searchable
            allowDeselect={false}
            clearable
            clearButtonProps={{ 'aria-label': 'Use the zone of the browser', tabIndex: -1 }}
            limit={100}
            data={zonesWith(me.timeZone)}
            value={timeZone}
            onChange={setTimeZone}
          />
          <div>
            <ActionButton scope={null} loading={save.isPending} onClick={() => save.mutate()}>
              Save
            </ActionButton>
          </div>
        </>
      )}
      <h2 className="qm-subtitle">What you may do, by tenant</h2>
      {me.places.length === 0 && (
        <p className="dim">
          {invitationsOf(me).length === 0
            ? 'No tenant lists you as a member.'
            : 'You may do nothing until you accept an invitation, under Memberships.'}
        </p>
      )}
      {me.places.map(({ tenantId, subTenantId, tenantDisplayName, scopes }) => (
        <details key={`${tenantId}/${subTenantId ?? ''}`}>
          <summary>
            {tenantDisplayName ?? tenantId}
            {subTenantId !== null && ` / ${subTenantId}`} <span className="dim">{plural(scopes.length, 'scope')}</span>
          </summary>
          <p className="mono">{scopes.join(', ')}</p>
        </details>
      ))}
    </div>
  );
}

/** All zones that the browser knows. The API may have stored another name of one. */
function zonesWith(chosen: string | null): string[] {
  return [...new Set(['UTC', ...(chosen === null ? [] : [chosen]), ...Intl.supportedValuesOf('timeZone')])];
}

function Memberships({ me }: { me: Me }): ReactNode {
  const accept = useAction({
    run: ({ tenantId, subTenantId }: Me['memberships'][number]) =>
      acceptMembership({
        path: { tenant_id: tenantId },
        ...(subTenantId !== null && { query: { sub_tenant_id: subTenantId } }),
        headers: idempotencyKey(),
        throwOnError: true,
      }),
    done: (_, { tenantId }) => `You are a member of ${tenantId}.`,
  });
  if (me.memberships.length === 0)
    return <Empty title="No membership">An administrator of a tenant can invite you by your email.</Empty>;
  return (
    <ul className={classes.page}>
      {me.memberships.map((membership) => (
        <li key={`${membership.tenantId}/${membership.subTenantId ?? ''}`} className="row">
          <strong>{membership.tenantDisplayName ?? membership.tenantId}</strong>
          {membership.subTenantId !== null && <span className="dim">{membership.subTenantId}</span>}
          <Tag>{membership.role}</Tag>
          <StateMark state={membership.status === 'pending' ? 'invited' : 'member'} />
          {membership.status === 'pending' && (
            <>
              <span className="dim">
                until <Time at={membership.expiresAt} />
              </span>
              <ActionButton scope={null} size="compact-xs" onClick={() => accept.mutate(membership)}>
                Accept
              </ActionButton>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

const keyOf = ({ id }: ConsoleSession) => id;

function Sessions(): ReactNode {
  const list = usePagedList({
    key: ['my-sessions'],
    read: async (cursor, signal) => {
      const query = { limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await listMySessions({ query, signal, throwOnError: true })).data;
    },
  });
  const revoke = useAction({
    run: ({ id }: ConsoleSession) =>
      revokeMySession({ path: { session_id: id }, headers: idempotencyKey(), throwOnError: true }),
    done: () => 'That browser is signed out.',
  });
  const { mutate } = revoke;
  const columns = useMemo(() => sessionColumns(mutate), [mutate]);
  return (
    <DataTable label="Sessions" list={list} columns={columns} keyOf={keyOf} empty={<Empty title="No session" />} />
  );
}

/** `Firefox 145 on Windows`, or what the browser said if that is not understood. */
function browserName(userAgent: string | null): string {
  if (userAgent === null) return 'unknown';
  const { browser, os } = parse(userAgent);
  if (browser.name === undefined || os.name === undefined) return userAgent;
  return `${browser.name} ${browser.version?.split('.')[0] ?? ''} on ${os.name}`;
}

function sessionColumns(revoke: (session: ConsoleSession) => void): Column<ConsoleSession>[] {
  return [
    {
      key: 'browser',
      header: 'Browser',
      width: 'minmax(260px, 3fr)',
      cell: ({ userAgent, current }) => (
        <span className="row">
          {current && <Tag>this one</Tag>}
          <span className="truncate" title={userAgent ?? undefined}>
            {browserName(userAgent)}
          </span>
        </span>
      ),
    },
    { key: 'since', header: 'Signed in', width: '104px', cell: ({ createdAt }) => <Time at={createdAt} /> },
    { key: 'used', header: 'Last used', width: '104px', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
    { key: 'until', header: 'Ends', width: '104px', cell: ({ expiresAt }) => <Time at={expiresAt} /> },
    {
      key: 'actions',
      header: '',
      width: '90px',
      cell: (session) => (
        <ActionButton
          scope={null}
          size="compact-xs"
          variant="default"
          isDanger={!session.current}
          onClick={() => revoke(session)}
        >
          {session.current ? 'Sign out' : 'Revoke'}
        </ActionButton>
      ),
    },
  ];
}
