import { createServiceAccountKey, type Scope, type ServiceAccount } from '@quartermaster/client';
import { SCOPE_MEANINGS } from '@quartermaster/client/scopes.gen.ts';
import { Checkbox, Select, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { words } from '../../components/format.ts';
import { useAction } from '../../components/use-action.ts';
import { useFormHeaders } from '../../data/form-headers.ts';
import { useMe } from '../../data/me.ts';
import { holds } from '../../data/rights.ts';
import { fieldErrorsOf } from '../../data/problem.ts';
import classes from './accounts.module.css';

const DAY_MS = 24 * 60 * 60 * 1000;

const LIFETIMES = [
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: '1 year' },
  { value: '', label: 'It does not expire' },
];

/** All scopes but `*`, which is for platform administrators. */
const SCOPES = (Object.keys(SCOPE_MEANINGS) as Scope[]).filter((scope) => scope !== '*');

/** What most keys are for. */
const PRESETS: readonly { label: string; scopes: readonly Scope[] }[] = [
  { label: 'Send telemetry', scopes: ['traces:write'] },
  { label: 'Open gateway sessions', scopes: ['gateways:read', 'gateway_sessions:read', 'gateway_sessions:write'] },
  { label: 'Check session tokens', scopes: ['gateway_sessions:introspect'] },
  { label: 'Publish manifests', scopes: ['manifests:read', 'manifests:write'] },
  { label: 'Read everything', scopes: SCOPES.filter((scope) => scope.endsWith(':read')) },
];

const GROUPS = Map.groupBy(SCOPES, (scope) => scope.split(':')[0] ?? '');

const LABELS = { name: 'Name', expiresAt: 'Valid for' };

type Props = { account: ServiceAccount; close: () => void; created: (secret: string) => void };

/** A new key with scopes as checkboxes. One can give only what one holds. */
export function KeyForm({ account, close, created }: Props): ReactNode {
  const me = useMe();
  const [name, setName] = useState('');
  // A time in advance, because a repeated request has to have the same body.
  const [{ days, expiresAt }, setLifetime] = useState(() => lifetimeOf('90'));
  const [scopes, setScopes] = useState<ReadonlySet<Scope>>(new Set());
  const headersOf = useFormHeaders();
  const save = useAction({
    run: async () => {
      const body = { name: name || null, scopes: [...scopes], expiresAt };
      const path = { service_account_id: account.id };
      const query = { tenant_id: account.tenantId };
      return (await createServiceAccountKey({ path, query, body, headers: headersOf(body), throwOnError: true })).data;
    },
    inForm: true,
    done: () => null,
    onDone: ({ key }) => {
      close();
      created(key);
    },
  });
  const toggle = (scope: Scope) =>
    setScopes((before) => {
      const next = new Set(before);
      if (!next.delete(scope)) next.add(scope);
      return next;
    });
  const errors = fieldErrorsOf(save.error);
  return (
    <FormDialog
      title={`Create a key for ${account.displayName ?? account.name}`}
      submit="Create the key"
      size={760}
      close={close}
      save={save}
      labels={LABELS}
      incomplete={scopes.size === 0}
    >
      <div className={classes.columns}>
        <TextInput
          label="Name"
          data-autofocus
          error={errors['name']}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Select
          label="Valid for"
          error={errors['expiresAt']}
          data={LIFETIMES}
          value={days}
          allowDeselect={false}
          onChange={(value) => setLifetime(lifetimeOf(value ?? ''))}
        />
      </div>
      <fieldset className={classes.scopes}>
        <legend>What it may do</legend>
        <div className={classes.presets}>
          <span className="dim">Choose for</span>
          {PRESETS.map(({ label, scopes: chosen }) => {
            const lacking = chosen.filter((scope) => !holds(me, scope, account));
            return (
              <ActionButton
                key={label}
                scope={null}
                size="compact-xs"
                variant="default"
                disabledReason={lacking.length === 0 ? null : `You do not hold ${lacking.join(', ')} yourself.`}
                onClick={() => setScopes(new Set(chosen))}
              >
                {label}
              </ActionButton>
            );
          })}
        </div>
        {[...GROUPS].map(([resource, own]) => (
          <div key={resource} role="group" aria-label={words(resource)} className={classes.resource}>
            <span>{words(resource)}</span>
            <span className={classes.actions}>
              {own.map((scope) => {
                const mayGive = holds(me, scope, account);
                const meaning = SCOPE_MEANINGS[scope].replaceAll('`', '');
                return (
                  <Checkbox
                    key={scope}
                    size="xs"
                    label={
                      <>
                        {scope.split(':')[1]} <span className="dim">{meaning}</span>
                      </>
                    }
                    aria-label={`${scope} ${meaning}`}
                    title={mayGive ? scope : `You do not hold ${scope} yourself.`}
                    disabled={!mayGive}
                    checked={scopes.has(scope)}
                    onChange={() => toggle(scope)}
                  />
                );
              })}
            </span>
          </div>
        ))}
      </fieldset>
    </FormDialog>
  );
}

/** A choice of the list. Its time counts from now. */
function lifetimeOf(days: string) {
  return { days, expiresAt: days === '' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString() };
}
