import { listProviders, listUsers, type Provider, searchServiceAccounts, type User } from '@quartermaster/client';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useMe } from './me.ts';
import { holds } from './rights.ts';
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
  return provider === undefined ? unnamed('provider', id) : (provider.displayName ?? provider.name);
}

/** A record whose name the caller may not read. The end of its id tells it apart from others. */
function unnamed(what: string, id: string): string {
  return `${what} …${id.slice(-4)}`;
}

/** A user, as far as the caller may read users. */
export function useUser(id: string | null): User | undefined {
  const mayRead = holds(useMe(), 'users:read');
  // The list, because a single user may be out of reach, and browsers write every 404 to the console as an error.
  const { data } = useQuery({
    queryKey: ['users-for-names'],
    queryFn: ({ signal }) =>
      readAll(async (cursor) => {
        const query = { limit: 100, ...(cursor !== undefined && { cursor }) };
        return (await listUsers({ query, signal, throwOnError: true })).data;
      }, MAX_USERS),
    select: ({ items }) => items.find((user) => user.id === id),
    enabled: mayRead && id !== null,
    staleTime: STALE_MS,
    retry: false,
  });
  return data;
}

const ACCOUNT = /^service_account:([^/]*)\/(.+)$/;

/** Whether the service made the id of an account. An id that a person chose is a name itself. */
export function isGeneratedAccountId(id: string): boolean {
  return /^sa_[0-9a-z]{26}$/.test(id);
}

/** What people call an account: its id, or its name if the service made the id. */
export function useAccountName(tenantId: string, id: string): string {
  const isGenerated = isGeneratedAccountId(id);
  const mayRead = holds(useMe(), 'service_accounts:read');
  const { data } = useQuery({
    queryKey: ['account-for-name', tenantId, id],
    queryFn: async ({ signal }) => {
      const { data: page } = await searchServiceAccounts({ body: { tenantId, ids: [id] }, signal, throwOnError: true });
      return page.items[0] ?? null;
    },
    enabled: isGenerated && mayRead,
    staleTime: STALE_MS,
    retry: false,
  });
  if (!isGenerated) return id;
  return data == null ? unnamed('account', id) : (data.displayName ?? data.name);
}

/** The name of `user:<id>` or `service_account:<tenant>/<id>`, as far as the caller may read it; else what tells it apart. */
export function usePrincipalName(principal: string | null): string {
  const me = useMe();
  const userId = principal?.startsWith('user:') ? principal.slice('user:'.length) : null;
  const isMe = principal !== null && principal === me.principal;
  const user = useUser(isMe ? null : userId);
  const [, tenantId = '', accountId = ''] = ACCOUNT.exec(principal ?? '') ?? [];
  const account = useAccountName(tenantId, accountId);
  if (principal === null) return 'none';
  if (isMe) return me.displayName ?? me.email ?? 'you';
  if (userId !== null) return user?.displayName ?? user?.email ?? unnamed('person', userId);
  return account === '' ? principal : `${tenantId}/${account}`;
}
