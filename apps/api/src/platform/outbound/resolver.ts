import { lookup } from 'node:dns/promises';

export type Addresses = { address: string; family: number }[];

/** All addresses of a host. */
export type Resolver = (host: string) => Promise<Addresses>;

/** The same on behalf of a tenant. */
export type FairResolver = (host: string, tenantId: string) => Promise<Addresses>;

/** `getaddrinfo`, because it also reads /etc/hosts and the search domains. */
export const resolveAll: Resolver = (host) => lookup(host, { all: true });
