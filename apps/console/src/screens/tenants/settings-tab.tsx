import { type Tenant, type TenantSettingsInput, updateTenant } from '@quartermaster/client';
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

export function SettingsTab({ tenant }: { tenant: Tenant }): ReactNode {
  const [displayName, setDisplayName] = useState(tenant.displayName ?? '');
  const [settings, setSettings] = useState<TenantSettingsInput>(tenant.settings);
  const set = (changes: TenantSettingsInput) => setSettings((before) => ({ ...before, ...changes }));
  const save = useAction({
    run: () =>
      updateTenant({
        path: { tenant_id: tenant.id },
        body: { displayName: displayName || null, settings },
        headers: { ...idempotencyKey(), ...ifMatch(`/v1/tenants/${tenant.id}`) },
        throwOnError: true,
      }),
    done: () => 'The settings were saved.',
  });
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <TextInput label="Name" value={displayName} onChange={(event) => setDisplayName(event.currentTarget.value)} />
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
        <ActionButton
          scope="tenants:write"
          place={{ tenantId: tenant.id }}
          loading={save.isPending}
          onClick={() => save.mutate()}
        >
          Save
        </ActionButton>
      </div>
    </form>
  );
}
