import { FairSemaphore } from './fair-semaphore.ts';
import { OutboundFailure } from './outbound/failure.ts';
import type { Addresses, FairResolver, Resolver } from './outbound/resolver.ts';

/**
 * Concurrent look-ups of providers in one process. libuv has 8 threads (see scripts/server.sh) and uses at most 4 of them for
 * look-ups. The fourth is left for the identity provider and PostgreSQL.
 */
const MAX_LOOKUPS = 3;

/** How long a look-up waits for others, in milliseconds. */
const MAX_WAIT_MS = 3000;

/**
 * Runs one look-up of each tenant at a time. A look-up cannot be cancelled. If the DNS server of a name does not answer, the
 * look-up holds its thread for 10 s or longer, even after the sync has ended. So look-ups of the same name by one tenant share
 * one result. Otherwise the second attempt of a sync would hold a thread for as long again, and the tenant's other syncs would
 * fail.
 */
export function fairResolver(resolver: Resolver): FairResolver {
  const lookups = new FairSemaphore({
    total: MAX_LOOKUPS,
    perTenant: 1,
    tooBusy: () => new OutboundFailure('other look-ups of names take too long', { transient: true }),
  });
  const running = new Map<string, Promise<Addresses>>();
  const lookUp = async (host: string, tenantId: string) => {
    const permit = await lookups.acquire(tenantId, 1, performance.now() + MAX_WAIT_MS);
    try {
      return await resolver(host);
    } finally {
      permit.release();
    }
  };
  return (host, tenantId) => {
    const key = JSON.stringify([tenantId, host]);
    const lookup = running.get(key) ?? lookUp(host, tenantId).finally(() => running.delete(key));
    running.set(key, lookup);
    return lookup;
  };
}
