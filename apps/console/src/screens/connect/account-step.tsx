import { createServiceAccount, createServiceAccountKey, searchServiceAccounts } from '@quartermaster/client';
import { Button, Select, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useTenants } from '../../app/tenant-switcher.tsx';
import { Views } from '../../components/filters.tsx';
import { problemText } from '../../components/form-dialog.tsx';
import { useAction } from '../../components/use-action.ts';
import { useFormHeaders } from '../../data/form-headers.ts';
import { useMissingScope, useOnlyPlace } from '../../data/me.ts';
import { fieldErrorsOf, problemOf } from '../../data/problem.ts';
import { useUrlState } from '../../data/url-state.ts';

export type NewKey = { id: string; secret: string; accountId: string; tenantId: string };

type Props = {
  /** What the key is for, and is called. */
  use?: KeyUse;
  /** Where the account is, if the page says so. Otherwise the user chooses a tenant. */
  place?: { tenantId: string; subTenantId: string | null };
  created: (key: NewKey) => void;
};

type KeyUse = keyof typeof USES;

const USES = {
  telemetry: { scope: 'traces:write', text: 'The key may send telemetry, and nothing else (traces:write).' },
  gateway: {
    scope: 'gateway_sessions:write',
    text: 'The key may open and end gateway sessions, and nothing else (gateway_sessions:write).',
  },
} as const;

const KINDS = [
  { value: 'new', label: 'New account' },
  { value: 'existing', label: 'Existing account' },
];

/** The name of the agent is the id and the name of the account. */
const LABELS = {
  tenantId: 'Tenant',
  tenant_id: 'Tenant',
  id: 'Name of the agent',
  name: 'Name of the agent',
  service_account_id: 'Name of the agent',
};

/** Makes a key with one scope, for a new account or one that exists. */
export function AccountStep({ use = 'telemetry', place: given, created }: Props): ReactNode {
  const [{ account, of, tenant, with: kind }] = useUrlState();
  const isNew = kind !== 'existing';
  const only = useOnlyPlace();
  const tenants = useTenants();
  const [id, setId] = useState(account ?? '');
  const [chosen, setChosen] = useState(given?.tenantId ?? of ?? tenant ?? only?.tenantId ?? null);
  const tenantId = chosen ?? (tenants.length === 1 ? (tenants[0]?.id ?? '') : '');
  const accounts = useAccounts(tenantId, !isNew);
  const headersOf = useFormHeaders();
  const place = given ?? { tenantId, subTenantId: only?.subTenantId || null };
  const missing = useMissingScope('credentials:write', tenantId === '' ? undefined : place);
  const make = useAction({
    run: async () => {
      if (isNew) {
        const body = {
          id,
          name: id,
          tenantId,
          createTenant: 'never' as const,
          ...(place.subTenantId !== null && { subTenantId: place.subTenantId }),
        };
        await createServiceAccount({ body, headers: headersOf(body), throwOnError: true });
      }
      const body = { name: use, scopes: [USES[use].scope] };
      const address = { path: { service_account_id: id }, query: { tenant_id: tenantId } };
      const headers = headersOf({ ...body, id, tenantId });
      return (await createServiceAccountKey({ ...address, body, headers, throwOnError: true })).data;
    },
    inForm: true,
    done: () => null,
    onDone: ({ id: keyId, key }) => created({ id: keyId, secret: key, accountId: id, tenantId }),
  });
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (id !== '' && tenantId !== '' && missing === null && !make.isPending) make.mutate();
  };
  const errors = fieldErrorsOf(make.error);
  return (
    <form className="stack" onSubmit={send}>
      <div>
        <Views name="with" label="Account" views={KINDS} />
      </div>
      <div className="pair">
        {given === undefined && (
          <Select
            label="Tenant"
            required
            error={errors['tenantId'] ?? errors['tenant_id']}
            searchable={tenants.length > 6}
            data={tenants.map((each) => ({ value: each.id, label: each.displayName ?? each.id }))}
            value={tenantId === '' ? null : tenantId}
            onChange={setChosen}
          />
        )}
        {isNew ? (
          <TextInput
            label="Name of the agent"
            description="The id of its account. It cannot be changed later."
            placeholder="support-triage"
            required
            error={errors['id'] ?? errors['name'] ?? errors['service_account_id']}
            value={id}
            onChange={(event) => setId(event.currentTarget.value)}
          />
        ) : (
          <Select
            label="Account"
            description="Of the programs that send already, or were made before."
            required
            error={errors['service_account_id']}
            searchable
            nothingFoundMessage="No account has this id"
            data={accounts.includes(id) || id === '' ? accounts : [id, ...accounts]}
            value={id === '' ? null : id}
            onChange={(next) => setId(next ?? '')}
          />
        )}
      </div>
      {make.error !== null && (
        <p role="alert" className="danger">
          {problemText(problemOf(make.error), LABELS)}
        </p>
      )}
      <div className="row">
        <Button
          type="submit"
          variant={account === undefined ? 'filled' : 'default'}
          loading={make.isPending}
          disabled={id === '' || tenantId === '' || missing !== null}
        >
          {isNew ? 'Create account and key' : 'Create another key'}
        </Button>
        <span className="dim">{missing ?? USES[use].text}</span>
      </div>
    </form>
  );
}

/** The ids of the active accounts of a tenant, the newest hundred. */
function useAccounts(tenantId: string, enabled: boolean): string[] {
  const { data } = useQuery({
    queryKey: ['accounts-to-connect', tenantId],
    queryFn: async ({ signal }) => {
      const body = { tenantId, status: 'active' as const, limit: 100 };
      return (await searchServiceAccounts({ body, signal, throwOnError: true })).data.items.map(({ id }) => id);
    },
    enabled: enabled && tenantId !== '',
  });
  return data ?? [];
}
