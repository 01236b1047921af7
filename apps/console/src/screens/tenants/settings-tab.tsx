import { type Tenant, type TenantSettingsInput, updateTenant, type UpdateTenantInput } from '@quartermaster/client';
import { NumberInput, Switch, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey, ifMatch } from '../../data/client.ts';

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

const NO_CHANGES: UpdateTenantInput = {};

/** Saves the fields that the user changed. The others show what is stored, also after another person changed it. */
export function SettingsTab({ tenant }: { tenant: Tenant }): ReactNode {
  const [changes, setChanges] = useState(NO_CHANGES);
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
  const save = () =>
    mutate(changes, {
      // The tenant has been read again by now. What the user has typed meanwhile stays.
      onSuccess: (_, sent) => setChanges((before) => (before === sent ? NO_CHANGES : before)),
    });
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        save();
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
          min={min}
          max={3650}
          hideControls
          value={settings[name] ?? ''}
          onChange={(value) => set({ [name]: daysOf(value) })}
        />
      ))}
      <div>
        <ActionButton scope="tenants:write" place={{ tenantId: tenant.id }} loading={isPending} onClick={save}>
          Save
        </ActionButton>
      </div>
    </form>
  );
}
