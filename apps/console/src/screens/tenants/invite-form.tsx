import { createMembership, type Role, type Tenant } from '@quartermaster/client';
import { ActionIcon, Button, Modal, Select, TextInput } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { type ReactNode, useId, useState } from 'react';
import { CopyBlock } from '../../components/copy.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Icon } from '../../components/icons.tsx';
import { useAction } from '../../components/use-action.ts';
import { useReturnFocus } from '../../components/use-return-focus.ts';
import { BASE_PATH } from '../../data/base-path.ts';
import { useFormHeaders } from '../../data/form-headers.ts';
import { fieldErrorsOf } from '../../data/problem.ts';
import { ROLE_MEANINGS, ROLES } from './roles.ts';
import classes from './invite-form.module.css';

const LABELS = { email: 'Email' };

/** Invites a person, and then shows the link to send to them, because the service sends no email. */
export function InviteForm({ tenant, close }: { tenant: Tenant; close: () => void }): ReactNode {
  const [email, setEmail] = useState('');
  // More rights are a choice, and never an oversight.
  const [role, setRole] = useState<Role>('viewer');
  const [subTenantId, setSubTenantId] = useState<string | null>(null);
  const [isInvited, setInvited] = useState(false);
  const headersOf = useFormHeaders();
  const invite = useAction({
    run: () => {
      const path = { tenant_id: tenant.id };
      const body = { email, role, ...(subTenantId !== null && { subTenantId }) };
      return createMembership({ path, body, headers: headersOf(body), throwOnError: true });
    },
    inForm: true,
    done: () => null,
    onDone: () => setInvited(true),
  });
  if (isInvited) return <InvitedDialog email={email} close={close} />;
  const errors = fieldErrorsOf(invite.error);
  return (
    <FormDialog
      title={`Invite a person to ${tenant.displayName ?? tenant.id}`}
      submit="Invite"
      close={close}
      save={invite}
      labels={LABELS}
      incomplete={!email.includes('@')}
    >
      <TextInput
        label="Email"
        type="email"
        required
        data-autofocus
        error={errors['email']}
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
      />
      <fieldset className={classes.roles}>
        <legend>Role</legend>
        {ROLES.toReversed().map((each) => (
          <RoleOption key={each} role={each} isChosen={each === role} choose={() => setRole(each)} />
        ))}
      </fieldset>
      {tenant.subTenantIds.length > 0 && (
        <Select
          label="Sub-tenant"
          placeholder="the whole tenant"
          clearable
          data={tenant.subTenantIds}
          value={subTenantId}
          onChange={setSubTenantId}
        />
      )}
    </FormDialog>
  );
}

type RoleOptionProps = { role: Role; isChosen: boolean; choose: () => void };

function RoleOption({ role, isChosen, choose }: RoleOptionProps): ReactNode {
  const id = useId();
  return (
    <label className={classes.role}>
      <input type="radio" name="role" aria-label={role} aria-describedby={id} checked={isChosen} onChange={choose} />
      <span>
        <strong>{role}</strong>{' '}
        <span id={id} className="dim">
          {ROLE_MEANINGS[role]}
        </span>
      </span>
    </label>
  );
}

function InvitedDialog({ email, close }: { email: string; close: () => void }): ReactNode {
  useReturnFocus();
  return (
    <Modal opened onClose={close} title={`${email} is invited`} size={460}>
      <div className="stack">
        <p>Send them this link. It leads to the sign-in, and then to the invitation. Only {email} can accept it.</p>
        <CopyBlock label="Link" text={invitationsUrl()} />
        <div>
          <Button onClick={close}>Done</Button>
        </div>
      </div>
    </Modal>
  );
}

/** Copies the link for a person who was invited before. */
export function CopyInvitationLink({ email }: { email: string }): ReactNode {
  const clipboard = useClipboard();
  return (
    <ActionIcon
      size={20}
      aria-label={`Copy the link for ${email}`}
      title="Copy the link to send"
      onClick={() => clipboard.copy(invitationsUrl())}
    >
      <Icon name={clipboard.copied ? 'check' : 'copy'} size={13} />
    </ActionIcon>
  );
}

/** Where people accept invitations. Those who are not signed in are asked to sign in first. */
function invitationsUrl(): string {
  return `${window.location.origin}${BASE_PATH}/console/profile?view=memberships`;
}
