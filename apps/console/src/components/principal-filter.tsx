import { listUsers, searchServiceAccounts } from '@quartermaster/client';
import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { TYPING_MS } from '../../components/filters.tsx';
import { holdsWithin, useMe } from '../../data/me.ts';
import { usePrincipalName } from '../../data/names.ts';
import { useTenantFilter } from '../../data/tenant.ts';
import { useSetUrlState, useUrlParameter } from '../../data/url-state.ts';

/** Of people and of accounts. A longer name finds fewer. */
const MAX_OF_KIND = 20;

const STALE_MS = 60_000;

type Choice = { value: string; label: string };

/** The actor of events. People and accounts are found by a part of their name, email or id. */
export function ActorFilter(): ReactNode {
  const chosen = useUrlParameter('actor');
  const setState = useSetUrlState();
  const [typed, setTyped] = useState('');
  const name = usePrincipalName(chosen === undefined ? null : principalOf(chosen));
  const found = useActors(typed);
  const current = chosen === undefined ? [] : [{ value: chosen, label: name }];
  const choices = [...current, ...found.filter(({ value }) => value !== chosen)];
  return (
    <Select
      aria-label="Actor"
      placeholder="Actor"
      w={160}
      data={choices}
      value={chosen ?? null}
      onChange={(actor) => setState({ actor: actor ?? undefined })}
      searchable
      onSearchChange={setTyped}
      // The API has searched already, in emails and ids, too.
      filter={({ options }) => options}
      clearable
      clearButtonProps={{ 'aria-label': 'Clear Actor', tabIndex: -1 }}
      nothingFoundMessage="Nobody has this name"
      comboboxProps={{ width: 320, position: 'bottom-start' }}
    />
  );
}

/** Ids of users have a form of their own; people choose those of accounts. */
function principalOf(id: string): string {
  return id.startsWith('usr_') ? `user:${id}` : id;
}

/** The people and accounts that fit what was typed, read when the user pauses. */
function useActors(typed: string): readonly Choice[] {
  const me = useMe();
  const { tenant_id: tenant } = useTenantFilter();
  const [text, setText] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setText(typed.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const { data } = useQuery({
    queryKey: ['actors', text, tenant],
    queryFn: async ({ signal }) => {
      const [people, accounts] = await Promise.all([
        holdsWithin(me, 'users:read', tenant) ? readPeople(text, tenant, signal) : [],
        holdsWithin(me, 'service_accounts:read', tenant) ? readAccounts(text, tenant, signal) : [],
      ]);
      // An id is unique only in its tenant, and the filter takes no tenant beside it.
      return [...new Map([...people, ...accounts].map((one) => [one.value, one])).values()];
    },
    placeholderData: (former) => former,
    staleTime: STALE_MS,
    retry: false,
  });
  return data ?? [];
}

async function readPeople(text: string, tenant: string | undefined, signal: AbortSignal): Promise<Choice[]> {
  const query = {
    limit: MAX_OF_KIND,
    ...(text !== '' && { text }),
    ...(tenant !== undefined && { tenant_id: tenant }),
  };
  const { data } = await listUsers({ query, signal, throwOnError: true });
  return data.items.map(({ id, displayName, email }) => ({
    value: id,
    label: [displayName, email].filter(Boolean).join(', ') || id,
  }));
}

async function readAccounts(text: string, tenant: string | undefined, signal: AbortSignal): Promise<Choice[]> {
  const body = {
    limit: MAX_OF_KIND,
    ...(text !== '' && { query: text }),
    ...(tenant !== undefined && { tenantId: tenant }),
  };
  const { data } = await searchServiceAccounts({ body, signal, throwOnError: true });
  return data.items.map(({ id, name, displayName }) => {
    const shown = displayName ?? name;
    return { value: id, label: shown === id ? id : `${shown}, ${id}` };
  });
}
