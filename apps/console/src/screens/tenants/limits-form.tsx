import { type Tenant, type TenantLimitsInput, type TenantUsage, updateTenantLimits } from '@quartermaster/client';
import { TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { FormDialog } from '../../components/form-dialog.tsx';
import { formatNumber } from '../../components/format.ts';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey } from '../../data/client.ts';
import { fieldErrorsOf } from '../../data/problem.ts';

export type LimitName = Exclude<keyof TenantUsage, 'tenantId' | 'largestAccounts' | 'tracesToRemove'>;

/** Where a limit reads differently from its use. */
const FORM_LABELS: Partial<Record<LimitName, string>> = {
  requestsPerMinute: 'Requests per minute',
  storedBytes: 'Stored, in bytes',
};

type Props = { tenant: Tenant; usage: TenantUsage; labels: Record<LimitName, string>; close: () => void };

/** Sets the limits of a tenant. An empty field restores the default. */
export function LimitsForm({ tenant, usage, labels, close }: Props): ReactNode {
  const names = Object.keys(labels) as LimitName[];
  const [initial] = useState(() =>
    Object.fromEntries(names.map((name) => [name, usage[name].isDefault ? '' : String(usage[name].limit)])),
  );
  const [values, setValues] = useState(initial);
  const valueOf = (name: LimitName) => (values[name] ?? '').trim();
  const faulty = names.filter((name) => !/^\d*$/.test(valueOf(name)));
  const save = useAction({
    run: () => {
      // Another person may have set the others since the form opened.
      const changed = names.filter((name) => valueOf(name) !== initial[name]);
      const body: TenantLimitsInput = Object.fromEntries(
        changed.map((name) => [name, valueOf(name) === '' ? null : Number(valueOf(name))]),
      );
      const path = { tenant_id: tenant.id };
      return updateTenantLimits({ path, body, headers: idempotencyKey(), throwOnError: true });
    },
    inForm: true,
    done: () => 'The limits were set. Other processes follow within 5 seconds.',
    onDone: close,
  });
  const errors = fieldErrorsOf(save.error);
  return (
    <FormDialog
      title={`Limits of ${tenant.displayName ?? tenant.id}`}
      submit="Set the limits"
      size={560}
      close={close}
      save={save}
      labels={labels}
      incomplete={faulty.length > 0}
    >
      <p className="dim">
        Leave a field empty for the default. A limit below the current use removes nothing, but refuses additions.
      </p>
      <div className="pair">
        {names.map((name) => (
          <TextInput
            key={name}
            label={FORM_LABELS[name] ?? labels[name]}
            data-autofocus={name === names[0]}
            inputMode="numeric"
            placeholder={usage[name].isDefault ? `${formatNumber(usage[name].limit)} by default` : 'the default'}
            error={faulty.includes(name) ? 'Enter a whole number.' : errors[name]}
            value={values[name] ?? ''}
            onChange={(event) => {
              const { value } = event.currentTarget;
              setValues((before) => ({ ...before, [name]: value }));
            }}
          />
        ))}
      </div>
    </FormDialog>
  );
}
