import {
  listAgents,
  listInventoryItems,
  listRuntimeObservations,
  listUsers,
  type Scope,
  searchCredentials,
  searchServiceAccounts,
} from '@quartermaster/client';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useMemo, useState } from 'react';
import { TYPING_MS, withoutSecretOfKey } from '../components/filters.tsx';
import { useMe } from '../data/me.ts';
import { holdsWithin } from '../data/rights.ts';
import { useUrlParameter } from '../data/url-state.ts';

/** Where a record is shown: a path of the console, and what its address has beside the tenant. */
export type Target = { path: string; search?: Record<string, string | undefined> };

export type Found = {
  id: string;
  group: string;
  label: string;
  hint?: string;
  target: Target;
  /** Of what is used and of what is declared: the same for both. */
  subject?: string;
};

/** Of each kind of record. A longer list is what the screens are for. */
const MAX_OF_KIND = 5;

/** Fewer letters would find almost everything. */
const MIN_LETTERS = 2;

const STALE_MS = 30_000;

type Search = { text: string; tenant: string | undefined; signal: AbortSignal };

type Kind = { scope: Scope; find: (search: Search) => Promise<Found[]> };

const inQuery = ({ text, tenant }: Search) => ({
  text,
  limit: MAX_OF_KIND,
  ...(tenant !== undefined && { tenant_id: tenant }),
});

const inBody = ({ text, tenant }: Search) => ({
  query: text,
  limit: MAX_OF_KIND,
  ...(tenant !== undefined && { tenantId: tenant }),
});

const used = (kind: 'model' | 'tool', group: string): Kind => ({
  scope: 'runtime_observations:read',
  find: async (search) => {
    const query = { ...inQuery(search), kind };
    const { data } = await listRuntimeObservations({ query, signal: search.signal, throwOnError: true });
    return data.items.map(({ id, providerId, name, status, tenantId }) => ({
      id,
      group,
      label: name,
      hint: `${group}, ${status}, ${tenantId}`,
      target: { path: '/inbox', search: { view: 'all', item: id } },
      subject: JSON.stringify([providerId, kind, name]),
    }));
  },
});

const declared = (kind: 'model' | 'tool', group: string): Kind => ({
  scope: 'providers:read',
  find: async (search) => {
    const query = { ...inQuery(search), kind };
    const { data } = await listInventoryItems({ query, signal: search.signal, throwOnError: true });
    return data.items.map(({ id, providerId, name, status, tenantId }) => ({
      id,
      group,
      label: name,
      hint: `${group}, declared as ${status}, ${tenantId}`,
      target: { path: `/providers/${providerId}`, search: { view: 'inventory', item: id } },
      subject: JSON.stringify([providerId, kind, name]),
    }));
  },
});

/** What agents use is shown where it is decided about, and not where it is declared, too. */
function withoutRepeated(found: readonly Found[]): Found[] {
  return found.filter(
    ({ subject }, index) => subject === undefined || found.findIndex((other) => other.subject === subject) === index,
  );
}

const KINDS: Readonly<Record<string, Kind>> = {
  agents: {
    scope: 'runtime_observations:read',
    find: async (search) => {
      const { data } = await listAgents({ query: inQuery(search), signal: search.signal, throwOnError: true });
      return data.items.map(({ id, name, tenantId }) => ({
        id: `agent-${id}`,
        group: 'Agent',
        label: name,
        hint: `Agent, ${tenantId}`,
        target: { path: `/agents/${encodeURIComponent(id)}` },
      }));
    },
  },
  models: used('model', 'Model'),
  tools: used('tool', 'Tool'),
  declaredModels: declared('model', 'Model'),
  declaredTools: declared('tool', 'Tool'),
  people: {
    scope: 'users:read',
    find: async (search) => {
      const { data } = await listUsers({ query: inQuery(search), signal: search.signal, throwOnError: true });
      return data.items.map(({ id, displayName, email }) => ({
        id,
        group: 'Person',
        label: displayName ?? email ?? id,
        hint: `Person, ${email ?? 'deleted'}`,
        target: { path: '/people', search: { item: id } },
      }));
    },
  },
  keys: {
    scope: 'credentials:read',
    find: async (search) => {
      const body = { ...inBody(search), kind: 'api_key' as const };
      const { data } = await searchCredentials({ body, signal: search.signal, throwOnError: true });
      return data.items.map(({ id, name, ownerId, tenantId, status }) => ({
        id,
        group: 'Key',
        label: name ?? id,
        hint: `Key of ${ownerId ?? ''}, ${status}`,
        target: {
          path: `/accounts/${encodeURIComponent(ownerId ?? '')}`,
          search: { of: tenantId ?? undefined, item: id },
        },
      }));
    },
  },
  accounts: {
    scope: 'service_accounts:read',
    find: async (search) => {
      const { data } = await searchServiceAccounts({ body: inBody(search), signal: search.signal, throwOnError: true });
      return data.items.flatMap(({ id, name, displayName, tenantId }) => {
        const path = `/accounts/${encodeURIComponent(id)}`;
        const shown = displayName ?? name;
        const key = `account-${tenantId}-${id}`;
        return [
          { id: key, group: 'Service account', label: shown, target: { path, search: { of: tenantId } } },
          {
            id: `key-for-${key}`,
            group: 'Action',
            label: `Create a key for ${shown}`,
            target: { path, search: { of: tenantId, new: '1' } },
          },
        ];
      });
    },
  },
};

/** Records that are opened by their id alone. Whether they exist, their screens say. */
const IDS: readonly { form: RegExp; scope: Scope; group: string; targetOf: (id: string) => Target }[] = [
  {
    form: /^[0-9a-f]{32}$/i,
    scope: 'traces:read',
    group: 'Trace',
    targetOf: (id) => ({ path: `/traces/${id.toLowerCase()}` }),
  },
  {
    form: /^obs_\w+$/,
    scope: 'runtime_observations:read',
    group: 'Observation',
    targetOf: (id) => ({ path: '/inbox', search: { view: 'all', item: id } }),
  },
  {
    form: /^usr_\w+$/,
    scope: 'users:read',
    group: 'Person',
    targetOf: (id) => ({ path: '/people', search: { item: id } }),
  },
];

/** The records whose name or id fits what was typed. They are searched when the user pauses. */
export function useFound(typed: string): { found: Found[]; isSearching: boolean; hasFailed: boolean } {
  const me = useMe();
  const tenant = useUrlParameter('tenant');
  const text = withoutSecretOfKey(typed.trim());
  const paused = usePaused(text);
  const isLong = text.length >= MIN_LETTERS;
  const { data, isFetching } = useQuery({
    queryKey: ['palette', paused, tenant],
    queryFn: async ({ signal }) => {
      const kinds = Object.values(KINDS).filter(({ scope }) => holdsWithin(me, scope, tenant));
      const results = await Promise.allSettled(kinds.map(({ find }) => find({ text: paused, tenant, signal })));
      return {
        found: withoutRepeated(results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))),
        hasFailed: results.some(({ status }) => status === 'rejected'),
      };
    },
    enabled: isLong && paused.length >= MIN_LETTERS,
    staleTime: STALE_MS,
    retry: false,
  });
  const byId = useMemo(
    () =>
      IDS.filter(({ form, scope }) => form.test(text) && holdsWithin(me, scope, tenant)).map(({ group, targetOf }) => ({
        id: `by-id-${text}`,
        group,
        label: text,
        target: targetOf(text),
      })),
    [text, me, tenant],
  );
  const isCurrent = isLong && paused === text;
  return {
    found: isCurrent && data !== undefined ? [...byId, ...data.found] : byId,
    isSearching: isLong && (!isCurrent || isFetching),
    hasFailed: isCurrent && data?.hasFailed === true,
  };
}

/** What was typed, as of the last pause. */
function usePaused(text: string): string {
  const [paused, setPaused] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return paused;
}

/** What opens a record. */
export function useOpen(): (target: Target) => void {
  const navigate = useNavigate();
  return ({ path, search }) => void navigate({ to: path, ...(search !== undefined && { search }) });
}
