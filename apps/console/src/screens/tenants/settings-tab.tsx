import {
  getTenantUsage,
  type Tenant,
  type TenantSettingsInput,
  updateTenant,
  type UpdateTenantInput,
} from '@quartermaster/client';
import { NumberInput, Switch, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { formatNumber, plural } from '../../components/format.ts';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey, ifMatch } from '../../data/client.ts';
import { problemOf } from '../../data/problem.ts';

/** The API counts traces up to this number. */
const MAX_COUNTED = 100_000;

/** The longest retention, in days. */
const MAX_DAYS = 3650;

const RETENTIONS = [
  {
    name: 'spanRetentionDays',
    label: 'Days that traces are kept',
    description: 'A trace is removed after that many days without a new span. Empty: forever.',
    min: 1,
  },
  {
    name: 'recordRetentionDays',
    label: 'Days that closed records are kept',
    description:
      'Ended sessions, finished tasks and closed recommendations. From 30. Empty: forever. Audit events are kept.',
    min: 30,
  },
  {
    name: 'usageRetentionDays',
    label: 'Days that usage is kept',
    description: 'Tokens and calls over time. Empty: the default of 400.',
    min: 1,
  },
] as const;

/** An empty field means that nothing is deleted by age. */
const daysOf = (value: string | number) => (value === '' ? null : Number(value));

/** Why a number of days is refused; null if it is not. */
function faultOf(days: number | null, min: number): string | null {
  if (days === null || (Number.isInteger(days) && days >= min && days <= MAX_DAYS)) return null;
  return `Enter a whole number of days from ${min} to ${formatNumber(MAX_DAYS)}, or leave it empty.`;
}

/** The retentions that the changes shorten: what is older goes. */
function shortened(tenant: Tenant, { settings = {} }: UpdateTenantInput) {
  return RETENTIONS.filter(({ name }) => {
    const days = settings[name];
    return typeof days === 'number' && days < (tenant.settings[name] ?? Number.POSITIVE_INFINITY);
  });
}

const NO_CHANGES: UpdateTenantInput = {};

/** Saves the fields that the user changed. The others show what is stored, also after another person changed it. */
export function SettingsTab({ tenant }: { tenant: Tenant }): ReactNode {
  const [changes, setChanges] = useState(NO_CHANGES);
  const [isAsking, setAsking] = useState(false);
  const { displayName, settings } = { ...tenant, ...changes, settings: { ...tenant.settings, ...changes.settings } };
  const set = (changed: TenantSettingsInput) =>
    setChanges((before) => ({ ...before, settings: { ...before.settings, ...changed } }));
  const { mutate, isPending } = useAction({
    run: (body: UpdateTenantInput) =>
      updateTenant({
        path: { tenant_id: tenant.id },
        body,
        headers: { ...idempotencyKey(), ...ifMatch(`/v1/tenants/${tenant.id}`) },
        throwOnError: true,
      }),
    done: () => 'The settings were saved.',
  });
  const isFaulty = RETENTIONS.some(({ name, min }) => faultOf(settings[name], min) !== null);
  const shorter = shortened(tenant, changes);
  const save = () => {
    setAsking(false);
    mutate(changes, {
      // The tenant has been read again by now. What the user has typed meanwhile stays.
      onSuccess: (_, sent) => setChanges((before) => (before === sent ? NO_CHANGES : before)),
    });
  };
  const ask = () => {
    if (isFaulty) return;
    if (shorter.length === 0) save();
    else setAsking(true);
  };
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        ask();
      }}
    >
      <TextInput
        label="Name"
        value={displayName ?? ''}
        onChange={(event) => {
          const { value } = event.currentTarget;
          setChanges((before) => ({ ...before, displayName: value || null }));
        }}
      />
      <Switch
        label="Store the content of prompts, completions and tool calls"
        checked={settings.captureContent}
        onChange={(event) => set({ captureContent: event.currentTarget.checked })}
      />
      <Switch
        label="Audit who reads traces, spans and the metadata of credentials"
        checked={settings.auditReads}
        onChange={(event) => set({ auditReads: event.currentTarget.checked })}
      />
      {RETENTIONS.map(({ name, label, description, min }) => (
        <NumberInput
          key={name}
          label={label}
          description={description}
          size="xs"
          hideControls
          allowDecimal={false}
          // A value outside the range stays as it was typed, with the reason why it is refused.
          clampBehavior="none"
          error={faultOf(settings[name], min)}
          value={settings[name] ?? ''}
          onChange={(value) => set({ [name]: daysOf(value) })}
        />
      ))}
      <div>
        <ActionButton
          scope="tenants:write"
          place={{ tenantId: tenant.id }}
          loading={isPending}
          disabledReason={isFaulty ? 'A field has a value that is refused.' : null}
          onClick={ask}
        >
          Save
        </ActionButton>
      </div>
      {isAsking && (
        <ConfirmDialog
          title="Keep less?"
          consequence={<Removed tenant={tenant} changes={changes} />}
          confirm="Save and remove it"
          isPending={isPending}
          onConfirm={save}
          close={() => setAsking(false)}
        />
      )}
    </form>
  );
}

/** What goes when the changes are saved. Traces are counted. */
function Removed({ tenant, changes }: { tenant: Tenant; changes: UpdateTenantInput }): ReactNode {
  const days = shortened(tenant, changes).some(({ name }) => name === 'spanRetentionDays')
    ? (changes.settings?.spanRetentionDays ?? null)
    : null;
  const { data, error } = useQuery({
    queryKey: ['traces-to-remove', tenant.id, days],
    queryFn: async ({ signal }) => {
      const query = { span_retention_days: days };
      return (await getTenantUsage({ path: { tenant_id: tenant.id }, query, signal, throwOnError: true })).data;
    },
    enabled: days !== null,
  });
  const count = data?.tracesToRemove ?? null;
  return (
    <div className="stack">
      <ul>
        {shortened(tenant, changes).map(({ name, label }) => (
          <li key={name}>
            {label}: {tenant.settings[name] ?? 'forever'} → {changes.settings?.[name]}
          </li>
        ))}
      </ul>
      {days !== null && (
        <p role="status">
          {count === null && (error === null ? 'Counting the traces that go.' : problemOf(error).message)}
          {count !== null && `${plural(count, 'trace')}${count >= MAX_COUNTED ? ' or more' : ''} will be removed.`}
        </p>
      )}
      <p>What is older is removed soon after, and cannot be brought back.</p>
    </div>
  );
}
