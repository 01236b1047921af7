import { lookup } from 'node:dns/promises';

/** All addresses of a host. */
export type Resolver = (host: string) => Promise<{ address: string; family: number }[]>;

export const resolveAll: Resolver = (host) => lookup(host, { all: true });
