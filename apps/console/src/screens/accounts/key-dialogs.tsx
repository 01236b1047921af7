import {
  type Credential,
  revokeServiceAccountKey,
  rotateServiceAccountKey,
  type ServiceAccount,
} from '@quartermaster/client';
import { Select } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey } from '../../data/client.ts';
import { useFormHeaders } from '../../data/form-headers.ts';
import { fieldErrorsOf } from '../../data/problem.ts';
import { accountAddress } from './account-address.ts';

type Props = { account: ServiceAccount; credential: Credential; close: () => void };

/** How long the former key keeps working, in seconds. The API allows 7 days at most. */
const OVERLAPS = [
  { value: '0', label: 'It ends at once' },
  { value: '3600', label: '1 hour' },
  { value: '86400', label: '1 day' },
  { value: '259200', label: '3 days' },
  { value: '604800', label: '7 days' },
];

const LABELS = { overlapSeconds: 'The former key works for' };

/** Replaces a key by a new one with the same scopes. Both work until the overlap ends. */
export function RotateDialog(props: Props & { created: (secret: string) => void }): ReactNode {
  const { account, credential, close, created } = props;
  const [overlap, setOverlap] = useState('3600');
  const { path, query } = accountAddress(account);
  const headersOf = useFormHeaders();
  const rotate = useAction({
    run: async () => {
      const body = { overlapSeconds: Number(overlap) };
      const options = { path: { ...path, key_id: credential.id }, query, body, headers: headersOf(body) };
      return (await rotateServiceAccountKey({ ...options, throwOnError: true })).data;
    },
    inForm: true,
    done: () => null,
    onDone: ({ key }) => {
      close();
      created(key);
    },
  });
  return (
    <FormDialog
      title={`Rotate ${nameOf(credential)}`}
      submit="Rotate the key"
      close={close}
      save={rotate}
      labels={LABELS}
    >
      <p>
        The new key has the same name, scopes and lifetime. The gateway sessions and pending invitations that the former
        key made end with it.
      </p>
      <Select
        label={LABELS.overlapSeconds}
        data={OVERLAPS}
        value={overlap}
        allowDeselect={false}
        data-autofocus
        error={fieldErrorsOf(rotate.error)['overlapSeconds']}
        onChange={(value) => setOverlap(value ?? '3600')}
      />
    </FormDialog>
  );
}

export function RevokeDialog({ account, credential, close }: Props): ReactNode {
  const { path, query } = accountAddress(account);
  const revoke = useAction({
    run: () =>
      revokeServiceAccountKey({
        path: { ...path, key_id: credential.id },
        query,
        headers: idempotencyKey(),
        throwOnError: true,
      }),
    done: () => `${nameOf(credential)} is revoked.`,
    onDone: close,
  });
  return (
    <ConfirmDialog
      title={`Revoke ${nameOf(credential)}?`}
      consequence="Every request with it is refused at once. The gateway sessions and pending invitations that it made end, too. Keys that it made keep working."
      confirm="Revoke the key"
      isPending={revoke.isPending}
      onConfirm={() => revoke.mutate()}
      close={close}
    />
  );
}

function nameOf({ name, prefix }: Credential): string {
  return name ?? prefix ?? 'the key';
}
