import {
  type Credential,
  deleteProviderCredential,
  type Provider,
  putProviderCredential,
  searchCredentials,
} from '@quartermaster/client';
import { PasswordInput, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { DangerButton } from '../../components/danger-button.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { StateMark } from '../../components/marks.tsx';
import { Facts, Section } from '../../components/side-panel.tsx';
import { Failed, Loading } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey } from '../../data/client.ts';
import { providerLabel } from '../../data/names.ts';
import { fieldErrorsOf, problemOf } from '../../data/problem.ts';
import { vendorAt } from './known-vendors.ts';
import classes from './provider.module.css';
import { SecretHeaders } from './secret-headers.tsx';

/** Credentials that are shown, the newest ones: former ones are kept. */
const SHOWN = 20;

/** The secret that a sync sends. It is never shown, and it is sent to the provider's address alone. */
export function CredentialTab({ provider }: { provider: Provider }): ReactNode {
  const [isSetting, setSetting] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: ['credentials-of-provider', provider.id],
    queryFn: async ({ signal }) => {
      const body = { providerId: provider.id, kind: 'provider_secret' as const, limit: 100 };
      return (await searchCredentials({ body, signal, throwOnError: true })).data.items;
    },
  });
  const remove = useAction({
    run: () =>
      deleteProviderCredential({ path: { provider_id: provider.id }, headers: idempotencyKey(), throwOnError: true }),
    done: () => 'The credential was removed.',
  });
  if (error !== null) return <Failed problem={problemOf(error)} retry={() => void refetch()} />;
  if (data === undefined) return <Loading rows={3} />;
  const headers = data.filter(({ slot }) => slot === 'header');
  const credentials = data.filter(({ slot }) => slot !== 'header').slice(0, SHOWN);
  return (
    <div className={classes.page}>
      <p className="dim">
        Quartermaster sends this secret when it asks the provider what it offers. Agents do not get it.
      </p>
      <div className="row">
        {credentials.length > 0 && (
          <DangerButton
            scope="credentials:write"
            place={provider}
            title={`Remove the credential of ${providerLabel(provider, provider.id)}?`}
            consequence="The secret is erased, also one that stands by. Syncs go on without a credential."
            confirm="Remove the credential"
            action={remove}
          >
            Remove it
          </DangerButton>
        )}
        <ActionButton scope="credentials:write" place={provider} onClick={() => setSetting(true)}>
          {credentials.length === 0 ? 'Set a credential' : 'Replace the credential'}
        </ActionButton>
      </div>
      {credentials.map((credential) => (
        <CredentialFacts key={credential.id} credential={credential} />
      ))}
      <SecretHeaders provider={provider} headers={headers} />
      {isSetting && <CredentialForm provider={provider} close={() => setSetting(false)} />}
    </div>
  );
}

function CredentialFacts({ credential }: { credential: Credential }): ReactNode {
  return (
    <Section title={credential.name ?? credential.slot ?? 'Credential'}>
      <Facts
        facts={[
          ['Status', <StateMark key="status" state={credential.status} />],
          ['Slot', credential.slot],
          ['Header', credential.header],
          ['Expires', <Time key="expires" at={credential.expiresAt} />],
          ['Set', <Time key="set" at={credential.createdAt} />],
          ['Last used', <Time key="used" at={credential.lastUsedAt} />],
        ]}
      />
    </Section>
  );
}

const LABELS = { secret: 'Secret', header: 'Header', scheme: 'Scheme' };

function CredentialForm({ provider, close }: { provider: Provider; close: () => void }): ReactNode {
  const [secret, setSecret] = useState('');
  const ofVendor = vendorAt(provider.baseUrl)?.credentialHeader;
  const [header, setHeader] = useState(ofVendor ?? 'Authorization');
  const [scheme, setScheme] = useState(ofVendor === undefined ? 'Bearer' : '');
  const save = useAction({
    run: () =>
      putProviderCredential({
        path: { provider_id: provider.id },
        body: { secret, header, scheme: scheme || null },
        headers: idempotencyKey(),
        throwOnError: true,
      }),
    inForm: true,
    done: () => 'The credential was stored.',
    onDone: close,
  });
  const errors = fieldErrorsOf(save.error);
  return (
    <FormDialog
      title="Set the credential"
      submit="Store"
      close={close}
      save={save}
      labels={LABELS}
      incomplete={secret === ''}
    >
      <PasswordInput
        label="Secret"
        description={`It is stored encrypted, never shown again, and sent to ${provider.baseUrl ?? 'the provider'} alone.`}
        size="xs"
        required
        autoComplete="off"
        data-autofocus
        error={errors['secret']}
        visibilityToggleButtonProps={{ 'aria-label': 'Show the secret' }}
        value={secret}
        onChange={(event) => setSecret(event.currentTarget.value)}
      />
      <TextInput
        label="Header"
        error={errors['header']}
        value={header}
        onChange={(event) => setHeader(event.currentTarget.value)}
      />
      <TextInput
        label="Scheme"
        description="What stands before the secret in the header, such as Bearer."
        error={errors['scheme']}
        value={scheme}
        onChange={(event) => setScheme(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
