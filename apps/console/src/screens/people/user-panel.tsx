import { deleteUser, disableUser, enableUser, type User } from '@quartermaster/client';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { CopyId } from '../../components/copy.tsx';
import { StateMark, Tag } from '../../components/marks.tsx';
import { Facts, Section, SidePanel } from '../../components/side-panel.tsx';
import { Time } from '../../components/time.tsx';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey } from '../../data/client.ts';
import { AccessLink } from '../access/access-link.tsx';

const SENTENCES = {
  disable: {
    button: 'Disable the person',
    consequence:
      'Their sessions end at once, and every further call of theirs is refused. API keys that they created keep working: see the access they gave. You can enable them again.',
  },
  erase: {
    button: 'Delete the person',
    consequence:
      'Their memberships and sessions end, and their personal data are erased. API keys that they created keep working: see the access they gave first. This cannot be undone.',
  },
} as const;

export function UserPanel({ user, close }: { user: User; close: () => void }): ReactNode {
  const [asking, setAsking] = useState<keyof typeof SENTENCES | null>(null);
  const { id, email, status, memberships, lastSeenAt, createdAt, source } = user;
  const name = user.displayName ?? email ?? id;
  const options = () => ({ path: { user_id: id }, headers: idempotencyKey(), throwOnError: true as const });
  const change = useAction({
    run: (what: 'disable' | 'enable' | 'erase') => {
      if (what === 'enable') return enableUser(options());
      return what === 'disable' ? disableUser(options()) : deleteUser(options());
    },
    done: (_, what) => `${name} was ${{ disable: 'disabled', enable: 'enabled', erase: 'deleted' }[what]}.`,
    onDone: () => setAsking(null),
  });
  const isDeleted = status === 'deleted';
  const deletedReason = isDeleted ? 'The person was deleted.' : null;
  return (
    <SidePanel
      label={`Person ${name}`}
      close={close}
      heading={
        <>
          <h2>{name}</h2>
          <div className="row">
            <StateMark state={status} tone={status === 'active' ? 'live' : 'quiet'} />
            {user.platformAdministrator && <Tag>platform administrator</Tag>}
          </div>
        </>
      }
      footer={
        <div className="row">
          {status === 'disabled' ? (
            <ActionButton scope="users:write" variant="default" onClick={() => change.mutate('enable')}>
              Enable
            </ActionButton>
          ) : (
            <ActionButton
              scope="users:write"
              variant="default"
              disabledReason={deletedReason}
              onClick={() => setAsking('disable')}
            >
              Disable
            </ActionButton>
          )}
          <ActionButton
            scope="users:write"
            variant="default"
            disabledReason={deletedReason}
            onClick={() => setAsking('erase')}
          >
            Delete
          </ActionButton>
        </div>
      }
    >
      <Section title="Person">
        <Facts
          facts={[
            ['Email', email],
            ['Last seen', <Time key="seen" at={lastSeenAt} />],
            ['Since', <Time key="since" at={createdAt} />],
            ['Came by', source],
            ['Id', <CopyId key="id" id={id} />],
          ]}
        />
      </Section>
      <Section title="Member of">
        {memberships.length === 0 && <p className="dim">No tenant in your reach.</p>}
        <ul>
          {memberships.map(({ tenantId, subTenantId, role, status: state }) => (
            <li key={`${tenantId}/${subTenantId ?? ''}`} className="row">
              <Link to="/tenants/$tenantId" params={{ tenantId }}>
                {[tenantId, subTenantId].filter((part) => part !== null).join(' / ')}
              </Link>
              <Tag>{role}</Tag>
              {state === 'pending' && <StateMark state="invited" />}
            </li>
          ))}
        </ul>
      </Section>
      <Section title="When they leave">
        <p>
          What a person gave to others outlives them: API keys, open sessions and invitations.{' '}
          <AccessLink source={`user:${id}`}>See the access they gave, and revoke it</AccessLink>
        </p>
      </Section>
      {asking !== null && (
        <ConfirmDialog
          title={`${asking === 'disable' ? 'Disable' : 'Delete'} ${name}?`}
          consequence={SENTENCES[asking].consequence}
          confirm={SENTENCES[asking].button}
          isPending={change.isPending}
          onConfirm={() => change.mutate(asking)}
          close={() => setAsking(null)}
        />
      )}
    </SidePanel>
  );
}
