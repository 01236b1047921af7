import {
  type Credential,
  deleteProviderSecretHeader,
  type Provider,
  putProviderSecretHeader,
} from '@quartermaster/client';
import { PasswordInput, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { DangerButton } from '../../components/danger-button.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Section } from '../../components/side-panel.tsx';
import { Time } from '../../components/time.tsx';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey } from '../../data/client.ts';
import { fieldErrorsOf } from '../../data/problem.ts';

type Props = { provider: Provider; headers: readonly Credential[] };

/** The names of the secret headers of a provider. Their values are never shown. */
export function SecretHeaders({ provider, headers }: Props): ReactNode {
  const [isSetting, setSetting] = useState(false);
  return (
    <Section title="Secret headers">
      <p className="dim">
        What a sync sends beside the credential. Headers that are no secrets are part of the provider.
      </p>
      {headers.map((credential) => (
        <SecretHeader key={credential.id} provider={provider} credential={credential} />
      ))}
      <div>
        <ActionButton
          scope="credentials:write"
          place={provider}
          size="compact-xs"
          variant="default"
          onClick={() => setSetting(true)}
        >
          Set a secret header
        </ActionButton>
      </div>
      {isSetting && <HeaderForm provider={provider} close={() => setSetting(false)} />}
    </Section>
  );
}

function SecretHeader({ provider, credential }: { provider: Provider; credential: Credential }): ReactNode {
  const { createdAt, lastUsedAt } = credential;
  const header = credential.header ?? '';
  const remove = useAction({
    run: () =>
      deleteProviderSecretHeader({
        path: { provider_id: provider.id, header_name: header },
        headers: idempotencyKey(),
        throwOnError: true,
      }),
    done: () => `The header ${header} was removed.`,
  });
  return (
    <div className="row">
      <strong className="truncate">{header}</strong>
      <span className="dim">
        set <Time at={createdAt} />, last used <Time at={lastUsedAt} />
      </span>
      <DangerButton
        scope="credentials:write"
        place={provider}
        size="compact-xs"
        title={`Remove the header ${header}?`}
        consequence="Its value is erased. Syncs go on without it, so the provider may refuse them."
        confirm="Remove the header"
        action={remove}
      >
        {`Remove ${header}`}
      </DangerButton>
    </div>
  );
}
const LABELS = { header_name: 'Header' };

function HeaderForm({ provider, close }: { provider: Provider; close: () => void }): ReactNode {
  const [name, setName] = useState('');
  const [secret, setSecret] = useState('');
  const save = useAction({
    run: () =>
      putProviderSecretHeader({
        path: { provider_id: provider.id, header_name: name },
        body: { secret },
        headers: idempotencyKey(),
        throwOnError: true,
      }),
    inForm: true,
    done: () => `The header ${name} was stored.`,
    onDone: close,
  });
  const errors = fieldErrorsOf(save.error);
  return (
    <FormDialog
      title="Set a secret header"
      submit="Store"
      close={close}
      save={save}
      labels={LABELS}
      incomplete={name === '' || secret === ''}
    >
      <TextInput
        label="Header"
        description="A header of the same name is replaced."
        required
        data-autofocus
        error={errors['header_name']}
        value={name}
        onChange={(event) => setName(event.currentTarget.value.trim())}
      />
      <PasswordInput
        label="Value"
        description={`It is stored encrypted, never shown again, and sent to ${provider.baseUrl ?? 'the provider'} alone.`}
        size="xs"
        required
        autoComplete="off"
        visibilityToggleButtonProps={{ 'aria-label': 'Show the value' }}
        value={secret}
        onChange={(event) => setSecret(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
