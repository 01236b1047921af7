import { listUsers, searchServiceAccounts } from '@quartermaster/client';
import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { useMe } from '../data/me.ts';
import { holdsWithin } from '../data/rights.ts';
import { usePrincipalName } from '../data/names.ts';
import { useTenantFilter } from '../data/tenant.ts';
import { useSetUrlState, useUrlParameter } from '../data/url-state.ts';
import { TYPING_MS, withoutSecretOfKey } from './filters.tsx';

/** Of people and of accounts. A longer name finds fewer. */
const MAX_OF_KIND = 20;

const STALE_MS = 60_000;

type Found = { id: string; principal: string; label: string };

type Props = {
  name: string;
  label: string;
  width?: number;
  /** The address has `user:<id>`, `service_account:<tenant>/<id>` or `api_key:<id>`, instead of the id alone. */
  hasKind?: boolean;
};

/**
 * A person or account as a filter: found by a part of the name, email or id, and shown by name. With `hasKind` an API key is
 * found by its id.
 */
export function PrincipalFilter({ name, label, width = 160, hasKind = false }: Props): ReactNode {
  const chosen = useUrlParameter(name);
  const setState = useSetUrlState();
  const [typed, setTyped] = useState('');
  const shown = usePrincipalName(chosen === undefined ? null : principalOf(chosen));
  const found = usePrincipals(typed).map(({ id, principal, label: text }) => ({
    value: hasKind ? principal : id,
    label: text,
  }));
  const current = chosen === undefined ? [] : [{ value: chosen, label: shown }];
  const key = hasKind ? KEY.exec(typed)?.[0] : undefined;
  const ofKey = key === undefined ? [] : [{ value: `api_key:${key}`, label: key }];
  // An id is unique only in its tenant, so two accounts can have one value.
  const choices = [...new Map([...found, ...ofKey, ...current].map((one) => [one.value, one])).values()];
  return (
    <Select
      aria-label={label}
      placeholder={label}
      w={width}
      data={choices}
      value={chosen ?? null}
      onChange={(value) => setState({ [name]: value ?? undefined })}
      searchable
      onSearchChange={(text) => setTyped(withoutSecretOfKey(text))}
      // The API has searched already, in emails and ids, too.
      filter={({ options }) => options}
      clearable
      clearButtonProps={{ 'aria-label': `Clear ${label}`, tabIndex: -1 }}
      nothingFoundMessage="Nobody has this name"
      comboboxProps={{ width: 320, position: 'bottom-start' }}
    />
  );
}

const KEY = /key_[0-9a-z]{26}/;

/** Ids of users have a form of their own; people choose those of accounts. */
function principalOf(id: string): string {
  return id.startsWith('usr_') ? `user:${id}` : id;
}

/** The people and accounts that fit what was typed, read when the user pauses. */
function usePrincipals(typed: string): readonly Found[] {
  const me = useMe();
  const { tenant_id: tenant } = useTenantFilter();
  const [text, setText] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setText(typed.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const { data } = useQuery({
    queryKey: ['principals', text, tenant],
    queryFn: async ({ signal }) => {
      const [people, accounts] = await Promise.all([
        holdsWithin(me, 'users:read', tenant) ? readPeople(text, tenant, signal) : [],
        holdsWithin(me, 'service_accounts:read', tenant) ? readAccounts(text, tenant, signal) : [],
      ]);
      return [...people, ...accounts];
    },
    placeholderData: (former) => former,
    staleTime: STALE_MS,
    retry: false,
  });
  return data ?? [];
}

async function readPeople(text: string, tenant: string | undefined, signal: AbortSignal): Promise<Found[]> {
  const query = {
    limit: MAX_OF_KIND,
    ...(text !== '' && { text }),
    ...(tenant !== undefined && { tenant_id: tenant }),
  };
  const { data } = await listUsers({ query, signal, throwOnError: true });
  return data.items.map(({ id, displayName, email }) => ({
    id,
    principal: `user:${id}`,
    label: [displayName, email].filter(Boolean).join(', ') || id,
  }));
}

async function readAccounts(text: string, tenant: string | undefined, signal: AbortSignal): Promise<Found[]> {
  const body = {
    limit: MAX_OF_KIND,
    ...(text !== '' && { query: text }),
    ...(tenant !== undefined && { tenantId: tenant }),
  };
  const { data } = await searchServiceAccounts({ body, signal, throwOnError: true });
  return data.items.map(({ id, tenantId, name, displayName }) => {
    const shown = displayName ?? name;
    return { id, principal: `service_account:${tenantId}/${id}`, label: shown === id ? id : `${shown}, ${id}` };
  });
}
