import {
  deleteUser,
  disableUser,
  enableUser,
  grantPlatformAdministrator,
  revokePlatformAdministrator,
  updateMembership,
  type User,
} from '@quartermaster/client';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { CopyId } from '../../components/copy.tsx';
import { StateMark, Tag } from '../../components/marks.tsx';
import { placeName } from '../../components/place.tsx';
import { Facts, Section, SidePanel } from '../../components/side-panel.tsx';
import { Time } from '../../components/time.tsx';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey } from '../../data/client.ts';
import { useMe } from '../../data/me.ts';
import { AccessLink } from '../access/access-link.tsx';
import { IdentitySection } from './identity-section.tsx';

type Action = 'disable' | 'enable' | 'erase' | 'grant' | 'revoke';

const RUNS = {
  disable: disableUser,
  enable: enableUser,
  erase: deleteUser,
  grant: grantPlatformAdministrator,
  revoke: revokePlatformAdministrator,
} as const;

const DONE: Record<Action, string> = {
  disable: 'was disabled',
  enable: 'was enabled',
  erase: 'was deleted',
  grant: 'is a platform administrator',
  revoke: 'is no longer a platform administrator',
};

/** What is asked before an action. */
const QUESTIONS: Record<
  Exclude<Action, 'enable'>,
  { title: (name: string) => string; confirm: string; consequence: string }
> = {
  disable: {
    title: (name) => `Disable ${name}?`,
    confirm: 'Disable the person',
    consequence:
      'Their sessions end at once, and every further call of theirs is refused, in all tenants. API keys that they created keep working: see the access they gave. You can enable them again.',
  },
  erase: {
    title: (name) => `Delete ${name}?`,
    confirm: 'Delete the person',
    consequence:
      'Their memberships and sessions end, and their personal data are erased. API keys that they created keep working: see the access they gave first. This cannot be undone.',
  },
  grant: {
    title: (name) => `Make ${name} a platform administrator?`,
    confirm: 'Give every right',
    consequence:
      'The person gets every right in every tenant, at once. They can also make other people platform administrators.',
  },
  revoke: {
    title: (name) => `Take every right from ${name}?`,
    confirm: 'Take the rights away',
    consequence:
      'Their next request is made without these rights, and their gateway sessions end. They keep their memberships. If the identity provider names them as a platform administrator, they keep the rights until it stops that.',
  },
};

export function UserPanel({ user, close }: { user: User; close: () => void }): ReactNode {
  const [asking, setAsking] = useState<keyof typeof QUESTIONS | null>(null);
  const me = useMe();
  const { id, email, status, memberships, lastSeenAt, createdAt, source } = user;
  const name = user.displayName ?? email ?? id;
  const change = useAction({
    run: (what: Action) => RUNS[what]({ path: { user_id: id }, headers: idempotencyKey(), throwOnError: true }),
    done: (_, what) => `${name} ${DONE[what]}.`,
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
        <div className="row wraps">
          {me.platformAdministrator &&
            (status === 'disabled' ? (
              <ActionButton scope="users:write" variant="default" onClick={() => change.mutate('enable')}>
                Enable
              </ActionButton>
            ) : (
              <ActionButton
                scope="users:write"
                isDanger
                disabledReason={deletedReason}
                onClick={() => setAsking('disable')}
              >
                Disable everywhere
              </ActionButton>
            ))}
          <ActionButton scope="users:write" isDanger disabledReason={deletedReason} onClick={() => setAsking('erase')}>
            Delete
          </ActionButton>
          {me.platformAdministrator && (
            <ActionButton
              scope="*"
              variant="default"
              isDanger={user.platformAdministrator}
              disabledReason={status === 'active' || user.platformAdministrator ? null : 'The person is not active.'}
              onClick={() => setAsking(user.platformAdministrator ? 'revoke' : 'grant')}
            >
              {user.platformAdministrator ? 'Take platform rights' : 'Make platform administrator'}
            </ActionButton>
          )}
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
          {memberships.map((membership) => (
            <MembershipLine
              key={`${membership.tenantId}/${membership.subTenantId ?? ''}`}
              membership={membership}
              userId={id}
              name={name}
            />
          ))}
        </ul>
      </Section>
      {me.platformAdministrator && ['active', 'pending_terms'].includes(status) && (
        <IdentitySection userId={id} name={name} />
      )}
      <Section title="When they leave">
        <p>
          API keys that they created keep working after that, and so do the sessions of these keys.{' '}
          <AccessLink source={`user:${id}`}>See the access they gave, and revoke it</AccessLink>
        </p>
      </Section>
      {asking !== null && (
        <ConfirmDialog
          title={QUESTIONS[asking].title(name)}
          consequence={QUESTIONS[asking].consequence}
          confirm={QUESTIONS[asking].confirm}
          isPending={change.isPending}
          onConfirm={() => change.mutate(asking)}
          close={() => setAsking(null)}
        />
      )}
    </SidePanel>
  );
}

type MembershipLineProps = { membership: User['memberships'][number]; userId: string; name: string };

/** A membership, and its suspension: the person then has no rights in this place alone. */
function MembershipLine({ membership, userId, name }: MembershipLineProps): ReactNode {
  const { tenantId, subTenantId, role, status, suspendedBy } = membership;
  const me = useMe();
  const [isAsking, setIsAsking] = useState(false);
  const place = { tenantId, subTenantId };
  const change = useAction({
    run: (next: 'active' | 'suspended') =>
      updateMembership({
        path: { tenant_id: tenantId, user_id: userId },
        query: { sub_tenant_id: subTenantId },
        body: { status: next },
        headers: idempotencyKey(),
        throwOnError: true,
      }),
    done: (_, next) => `${name} is ${next === 'suspended' ? 'suspended' : 'a member again'} in ${placeName(place)}.`,
    onDone: () => setIsAsking(false),
  });
  return (
    <li className="row">
      <Link to="/tenants/$tenantId" params={{ tenantId }}>
        {placeName(place)}
      </Link>
      <Tag>{role}</Tag>
      {status === 'pending' && <StateMark state="invited" />}
      {status === 'suspended' && (
        <StateMark state={suspendedBy === 'platform' ? 'suspended by the platform' : 'suspended'} />
      )}
      {status !== 'pending' && (
        <ActionButton
          scope="memberships:write"
          place={place}
          variant="subtle"
          color="gray"
          size="compact-xs"
          isDanger={status === 'active'}
          disabledReason={
            suspendedBy === 'platform' && !me.platformAdministrator
              ? 'The platform suspended it, so only a platform administrator ends the suspension.'
              : null
          }
          onClick={() => (status === 'active' ? setIsAsking(true) : change.mutate('active'))}
        >
          {status === 'active' ? 'Suspend' : 'End suspension'}
        </ActionButton>
      )}
      {isAsking && (
        <ConfirmDialog
          title={`Suspend ${name} in ${placeName(place)}?`}
          consequence="They have no rights there until you end the suspension, and their gateway sessions there end at once. Other tenants are not affected."
          confirm="Suspend"
          isPending={change.isPending}
          onConfirm={() => change.mutate('suspended')}
          close={() => setIsAsking(false)}
        />
      )}
    </li>
  );
}
