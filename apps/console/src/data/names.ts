import { listProviders, listUsers, type Provider } from '@quartermaster/client';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { holds, useMe } from './me.ts';
import { readAll } from './pages.ts';
import { useTenantFilter } from './tenant.ts';

const MAX_PROVIDERS = 1000;
const MAX_USERS = 1000;
const STALE_MS = 60_000;

export type Providers = { byId: ReadonlyMap<string, Provider>; list: readonly Provider[]; isLoading: boolean };

/** The providers in reach, for names and pickers. */
export function useProviders(): Providers {
  const filter = useTenantFilter();
  const { data, isLoading } = useQuery({
    queryKey: ['providers-for-names', filter],
    queryFn: ({ signal }) =>
      readAll(async (cursor) => {
        const query = { ...filter, limit: 100, ...(cursor !== undefined && { cursor }) };
        return (await listProviders({ query, signal, throwOnError: true })).data;
      }, MAX_PROVIDERS),
    staleTime: STALE_MS,
  });
  return useMemo(() => {
    const list = data?.items ?? [];
    return { list, byId: new Map(list.map((provider) => [provider.id, provider])), isLoading };
  }, [data, isLoading]);
}

/** What people call a provider. */
export function providerLabel(provider: Provider | undefined, id: string): string {
  return provider === undefined ? id : (provider.displayName ?? provider.name);
}

/** The name of `user:<id>`, as far as the caller may read users; else the text itself, shortened. */
export function usePrincipalName(principal: string | null): string {
  const me = useMe();
  const userId = principal?.startsWith('user:') ? principal.slice('user:'.length) : null;
  const isMe = principal !== null && principal === me.principal;
  const mayRead = userId !== null && !isMe && holds(me, 'users:read');
  // The list, because a single user may be out of reach, and browsers write every 404 to the console as an error.
  const { data: user } = useQuery({
    queryKey: ['users-for-names'],
    queryFn: ({ signal }) =>
      readAll(async (cursor) => {
        const query = { limit: 100, ...(cursor !== undefined && { cursor }) };
        return (await listUsers({ query, signal, throwOnError: true })).data;
      }, MAX_USERS),
    select: ({ items }) => items.find(({ id }) => id === userId),
    enabled: mayRead,
    staleTime: STALE_MS,
    retry: false,
  });
  if (principal === null) return 'none';
  if (isMe) return me.displayName ?? me.email ?? 'you';
  if (user !== undefined) return user.displayName ?? user.email ?? user.id;
  return principal.startsWith('service_account:') ? principal.slice('service_account:'.length) : principal;
}
