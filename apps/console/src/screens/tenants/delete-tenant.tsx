import { deleteTenant, type Tenant } from '@quartermaster/client';
import { TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey } from '../../data/client.ts';

/** Deletes a tenant, once the user has typed its id. For platform administrators. */
export function DeleteTenant({ tenant }: { tenant: Tenant }): ReactNode {
  const [isAsking, setAsking] = useState(false);
  return (
    <div>
      <ActionButton scope="tenants:write" place={{ tenantId: tenant.id }} isDanger onClick={() => setAsking(true)}>
        Delete the tenant
      </ActionButton>
      {isAsking && <DeleteForm id={tenant.id} close={() => setAsking(false)} />}
    </div>
  );
}

function DeleteForm({ id, close }: { id: string; close: () => void }): ReactNode {
  const [typed, setTyped] = useState('');
  const navigate = useNavigate();
  const remove = useAction({
    run: () => deleteTenant({ path: { tenant_id: id }, headers: idempotencyKey(), throwOnError: true }),
    inForm: true,
    done: () => `${id} was deleted.`,
    // The tenant of the screen no longer exists, and neither does the filter by it.
    onDone: () => navigate({ to: '/tenants', search: { tenant: undefined }, replace: true }),
  });
  return (
    <FormDialog
      title={`Delete ${id}?`}
      submit="Delete the tenant"
      isDanger
      close={close}
      save={remove}
      incomplete={typed !== id}
    >
      <p>
        All access to the tenant ends at once: its accounts with their keys, its members and its gateway sessions. What
        it stored is erased within hours, except for its audit events. This cannot be undone.
      </p>
      <TextInput
        label={`Type ${id} to confirm`}
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
