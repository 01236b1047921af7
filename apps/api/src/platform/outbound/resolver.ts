import { lookup } from 'node:dns/promises';

export type Addresses = { address: string; family: number }[];

/** Finds all addresses of a host. */
export type Resolver = (host: string) => Promise<Addresses>;

/** Finds all addresses of a host on behalf of a tenant. */
export type FairResolver = (host: string, tenantId: string) => Promise<Addresses>;

/** `getaddrinfo`, because it also reads /etc/hosts and the search domains. */
export const resolveAll: Resolver = (host) => lookup(host, { all: true });
