import { createServiceAccount, type ServiceAccount, updateServiceAccount } from '@quartermaster/client';
import { Textarea, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { FormDialog } from '../../components/form-dialog.tsx';
import { PLACE_LABELS, placeBody, PlaceFields } from '../../components/place-fields.tsx';
import { useAction } from '../../components/use-action.ts';
import { useFormHeaders } from '../../data/form-headers.ts';
import { useOnlyPlace } from '../../data/me.ts';
import { fieldErrorsOf } from '../../data/problem.ts';
import { useUrlState } from '../../data/url-state.ts';
import { accountAddress } from './account-address.ts';

const LABELS = { ...PLACE_LABELS, id: 'Id', displayName: 'Display name', description: 'Description' };

/** Creates a service account, or changes one. */
export function AccountForm({ account, close }: { account?: ServiceAccount; close: () => void }): ReactNode {
  const [{ tenant = '' }] = useUrlState();
  const navigate = useNavigate();
  const only = useOnlyPlace();
  const [place, setPlace] = useState(only ?? { tenantId: tenant, subTenantId: '' });
  const [values, setValues] = useState({
    id: '',
    displayName: account?.displayName ?? '',
    description: account?.description ?? '',
  });
  const set = (changes: Partial<typeof values>) => setValues((before) => ({ ...before, ...changes }));
  const body = { displayName: values.displayName || null, description: values.description || null };
  const headersOf = useFormHeaders(account && `/v1/service-accounts/${account.id}`);
  const save = useAction({
    run: async (): Promise<ServiceAccount> => {
      if (account !== undefined) {
        const headers = headersOf(body);
        return (await updateServiceAccount({ ...accountAddress(account), body, headers, throwOnError: true })).data;
      }
      const input = {
        ...body,
        ...placeBody(place),
        id: values.id,
        name: values.id,
        // A mistyped tenant must not become a new one.
        createTenant: place.subTenantId === '' ? ('never' as const) : ('if_missing' as const),
      };
      return (await createServiceAccount({ body: input, headers: headersOf(input), throwOnError: true })).data;
    },
    inForm: true,
    done: ({ id }) => `${id} was saved.`,
    onDone: ({ id, tenantId }) => {
      close();
      if (account !== undefined) return;
      const search = { of: tenantId ?? undefined };
      void navigate({ to: '/accounts/$accountId', params: { accountId: id }, search });
    },
  });
  const isNew = account === undefined;
  const errors = fieldErrorsOf(save.error);
  return (
    <FormDialog
      title={isNew ? 'Create a service account' : `Change ${account.displayName ?? account.name}`}
      submit={isNew ? 'Create' : 'Save'}
      close={close}
      save={save}
      labels={LABELS}
      incomplete={isNew && (values.id === '' || place.tenantId === '')}
    >
      {isNew && (
        <TextInput
          label="Id"
          description="Traces, audit events and sessions name the account by it. It cannot be changed later."
          placeholder="support-triage"
          required
          data-autofocus
          error={errors['id']}
          value={values.id}
          onChange={(event) => set({ id: event.currentTarget.value })}
        />
      )}
      <TextInput
        label="Display name"
        data-autofocus={!isNew}
        error={errors['displayName']}
        value={values.displayName}
        onChange={(event) => set({ displayName: event.currentTarget.value })}
      />
      <Textarea
        label="Description"
        description="What it does, and who looks after it."
        autosize
        minRows={2}
        error={errors['description']}
        value={values.description}
        onChange={(event) => set({ description: event.currentTarget.value })}
      />
      {isNew && <PlaceFields place={place} change={setPlace} errors={errors} />}
    </FormDialog>
  );
}
