import {
  deleteMembership,
  listMemberships,
  type Membership,
  type Role,
  type Tenant,
  updateMembership,
} from '@quartermaster/client';
import { Select } from '@mantine/core';
import { type ReactNode, useMemo, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { StateMark } from '../../components/marks.tsx';
import { Empty } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { showToast } from '../../components/toasts.tsx';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey } from '../../data/client.ts';
import { useMissingScope } from '../../data/me.ts';
import { usePagedList } from '../../data/pages.ts';
import { useUrlState } from '../../data/url-state.ts';
import { CopyInvitationLink, InviteForm } from './invite-form.tsx';
import { ROLE_MEANINGS, ROLES } from './roles.ts';

type RoleChange = { member: Membership; role: Role };

/** `ROLES` begins with the one that has the most rights. */
function givesRights({ member, role }: RoleChange): boolean {
  return ROLES.indexOf(role) < ROLES.indexOf(member.role);
}

const keyOf = ({ userId, subTenantId }: Membership) => `${userId}/${subTenantId ?? ''}`;

const placeQuery = ({ subTenantId }: Membership) => (subTenantId === null ? {} : { sub_tenant_id: subTenantId });

export function MembersTab({ tenant }: { tenant: Tenant }): ReactNode {
  const [state, setState] = useUrlState();
  const [removed, setRemoved] = useState<Membership | null>(null);
  const [asked, setAsked] = useState<RoleChange | null>(null);
  const { role, status, q } = state;
  const filter = {
    ...(role !== undefined && { role: role as Role }),
    ...(status !== undefined && { status: status as Membership['status'] }),
    ...(q !== undefined && { text: q }),
  };
  const list = usePagedList({
    key: ['members', tenant.id, filter],
    read: async (cursor, signal) => {
      const query = { ...filter, limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await listMemberships({ path: { tenant_id: tenant.id }, query, signal, throwOnError: true })).data;
    },
  });
  const pathOf = (member: Membership) => ({ tenant_id: tenant.id, user_id: member.userId });
  const change = useAction({
    run: ({ member, role: next }: RoleChange) =>
      updateMembership({
        path: pathOf(member),
        query: placeQuery(member),
        body: { role: next },
        headers: idempotencyKey(),
        throwOnError: true,
      }),
    done: () => null,
    onDone: (_, { member, role: next }) => {
      setAsked(null);
      const former = { member: { ...member, role: next }, role: member.role };
      showToast({
        text: `${member.email} is ${next} now.`,
        action: { label: 'Undo', run: () => change.mutate(former) },
      });
    },
  });
  const remove = useAction({
    run: (member: Membership) =>
      deleteMembership({
        path: pathOf(member),
        query: placeQuery(member),
        headers: idempotencyKey(),
        throwOnError: true,
      }),
    done: (_, member) => `${member.email} was removed.`,
    onDone: () => setRemoved(null),
  });
  const { mutate } = change;
  const columns = useMemo(() => {
    const changeRole = (wanted: RoleChange) => (givesRights(wanted) ? setAsked(wanted) : mutate(wanted));
    return memberColumns({ tenant, change: changeRole, remove: setRemoved });
  }, [tenant, mutate]);
  return (
    <>
      <DataTable
        label="Members"
        list={list}
        columns={columns}
        keyOf={keyOf}
        active={state['row']}
        onActive={(row) => setState({ row })}
        empty={
          role === undefined && status === undefined && q === undefined ? (
            <Empty title="No members">Invite the owner by email.</Empty>
          ) : (
            <Empty title="No member matches">Clear a filter to see the others.</Empty>
          )
        }
      />
      {state['new'] !== undefined && <InviteForm tenant={tenant} close={() => setState({ new: undefined })} />}
      {asked !== null && (
        <ConfirmDialog
          title={`Make ${asked.member.email} ${asked.role}?`}
          consequence={`${asked.member.role} → ${asked.role}: ${ROLE_MEANINGS[asked.role]}`}
          confirm={`Make them ${asked.role}`}
          isPending={change.isPending}
          onConfirm={() => mutate(asked)}
          close={() => setAsked(null)}
        />
      )}
      {removed !== null && (
        <ConfirmDialog
          title={`Remove ${removed.email}?`}
          consequence={
            removed.status === 'pending'
              ? 'The invitation is withdrawn.'
              : 'They lose their rights here at once, and their gateway sessions here end. API keys that they created keep working.'
          }
          confirm="Remove the member"
          isPending={remove.isPending}
          onConfirm={() => remove.mutate(removed)}
          close={() => setRemoved(null)}
        />
      )}
    </>
  );
}

type MemberActions = {
  tenant: Tenant;
  change: (input: RoleChange) => void;
  remove: (member: Membership) => void;
};

function memberColumns({ tenant, change, remove }: MemberActions): Column<Membership>[] {
  return [
    { key: 'email', header: 'Member', width: 'minmax(180px, 2fr)', cell: ({ email }) => <strong>{email}</strong> },
    {
      key: 'role',
      header: 'Role',
      width: '116px',
      cell: (member) => <RoleChoice member={member} change={change} />,
    },
    {
      key: 'part',
      header: 'Where',
      width: 'minmax(96px, 1fr)',
      cell: ({ subTenantId }) => subTenantId ?? <span className="dim">whole tenant</span>,
    },
    {
      key: 'status',
      header: 'Status',
      width: '90px',
      cell: ({ status }) => (
        <StateMark state={status === 'pending' ? 'invited' : status} tone={status === 'active' ? 'live' : 'quiet'} />
      ),
    },
    {
      key: 'accepted',
      header: 'Since',
      width: '124px',
      cell: ({ email, acceptedAt, expiresAt }) =>
        acceptedAt === null ? (
          <span className="row dim">
            <span>
              ends <Time at={expiresAt} />
            </span>
            <CopyInvitationLink email={email} />
          </span>
        ) : (
          <Time at={acceptedAt} />
        ),
    },
    {
      key: 'actions',
      header: '',
      width: '80px',
      cell: (member) => (
        <ActionButton
          scope="memberships:write"
          place={{ tenantId: tenant.id, subTenantId: member.subTenantId }}
          size="compact-xs"
          isDanger
          onClick={() => remove(member)}
        >
          Remove
        </ActionButton>
      ),
    },
  ];
}

function RoleChoice({ member, change }: { member: Membership } & Pick<MemberActions, 'change'>): ReactNode {
  const missing = useMissingScope('memberships:write', member);
  return (
    <Select
      size="xs"
      aria-label={`Role of ${member.email}`}
      data={ROLES}
      value={member.role}
      allowDeselect={false}
      disabled={missing !== null}
      title={missing ?? undefined}
      onChange={(role) => role !== null && role !== member.role && change({ member, role })}
    />
  );
}
