import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import {
  appendLinks,
  findChainEnd,
  findNextTenantWithHead,
  findNextUnsealedTenant,
  type Head,
  listUnsealedEvents,
  removeUnsealed,
  replaceHeadToken,
  type UnsealedEvent,
} from '@quartermaster/db/repositories/audit-chain.ts';
import { emptyChainHash, linksFor } from '../../platform/audit/chain.ts';
import { macKeyOf } from '../../platform/audit/mac.ts';
import type { Sealer } from '../../platform/audit/sealer.ts';
import type { Services } from '../../platform/services.ts';
import { currentSigner, opensSigningKey } from '../signing-keys/service.ts';
import { isOf, readHead, signHead } from './head.ts';
import { KnownChains } from './known-chains.ts';

type SealServices = Pick<Services, 'db' | 'log' | 'metrics' | 'now' | 'secrets' | 'publicUrl'>;

/** Events of one tenant that are sealed without yielding to the event loop, and written in one transaction. */
const BATCH_SIZE = 100;

/** Forged events of a batch whose ids are logged. */
const MAX_LOGGED = 10;

/** Chains whose newest head this process remembers: less than a KiB each. */
const MAX_REMEMBERED = 50_000;

/** @param maxRemembered chains to remember; beyond it the sealer forgets the chains that grew the longest ago */
export function sealer(services: SealServices, maxRemembered = MAX_REMEMBERED): Sealer {
  const chains = new KnownChains(services, maxRemembered);
  const stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();
  return {
    remembered: (tenantId) => chains.get(tenantId),
    pass() {
      const pass = running.then(() => sealAll(services, chains, stopping.signal));
      running = pass.catch(() => {});
      return pass;
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

async function sealAll(services: SealServices, chains: KnownChains, stopping: AbortSignal): Promise<void> {
  // First learn all chains: without knowing a chain, the sealer would take a deleted one for one that never began.
  do await chains.readHeads();
  while (!chains.isComplete && !stopping.aborted);
  // One batch of each tenant in turn, so that the many events of one do not hold up the others.
  for (let more = true; more && !stopping.aborted; ) {
    more = false;
    let tenantId = await findNextUnsealedTenant(services.db, null);
    while (tenantId !== undefined && !stopping.aborted) {
      more = (await sealUnlessBroken(services, chains, tenantId)) || more;
      await yieldToEventLoop();
      tenantId = await findNextUnsealedTenant(services.db, tenantId);
    }
  }
}

/** Seals a batch of a tenant. Returns whether there may be more to seal. */
async function sealUnlessBroken(services: SealServices, chains: KnownChains, tenantId: string): Promise<boolean> {
  const taken = await chains.unlessBroken(tenantId, () => sealBatch(services, chains, tenantId));
  return taken === BATCH_SIZE;
}

/** @returns how many events no longer wait: sealed ones and forged ones */
async function sealBatch(services: SealServices, chains: KnownChains, tenantId: string): Promise<number> {
  const { db, log, metrics, now, publicUrl, secrets } = services;
  // Read the end of the chain before the waiting events: an event that is sealed in between then fails as a duplicate.
  const before = await chains.findVerifiedHead(tenantId);
  const waiting = await listUnsealedEvents(db, tenantId, { after: null, limit: BATCH_SIZE });
  const forged = waiting.filter((event) => isForged(secrets, event));
  const rejected = forged.length === 0 ? 0 : await rejectForged(services, tenantId, forged);
  const end = { position: before?.size ?? 0, hash: before?.hash ?? emptyChainHash(tenantId) };
  const links = linksFor(
    end,
    waiting.filter((event) => !forged.includes(event)),
  );
  const last = links.at(-1);
  if (last === undefined) return rejected;
  const sealedAt = now().toISOString();
  const signed = { size: last.position, hash: last.hash, sealedAt };
  const head = { ...signed, token: signHead(await currentSigner(services), publicUrl, tenantId, signed) };
  const firstOfDay = before === null || dayOf(before) !== dayOf(head);
  const replaced = firstOfDay ? null : before.size;
  // Unlike other writes, not serializable: nothing that it reads decides anything, since positions are unique. It deletes
  // waiting rows next to those that requests insert, and serializable requests would have to be repeated for that.
  await db.transaction().execute((trx) => appendLinks(trx, tenantId, { links, head, replaced }));
  chains.remember(tenantId, head);
  // Logs leave the machine, so an attacker with write access to the database cannot change this head.
  if (firstOfDay) log.info({ tenantId: tenantId || null, head: head.token }, 'audit head');
  metrics.auditSealed.inc(links.length);
  return links.length + rejected;
}

/** Whether an event has no valid MAC. A missing event is sealed as missing, and verification reports it. */
function isForged(secrets: SealServices['secrets'], unsealed: UnsealedEvent): boolean {
  return unsealed.event !== 'missing' && macKeyOf(secrets, unsealed) === null;
}

/**
 * Takes forged events out of the queue, so that they do not block the others. Their rows stay, and verification reports
 * them.
 *
 * @returns how many
 */
async function rejectForged(
  services: SealServices,
  tenantId: string,
  forged: readonly UnsealedEvent[],
): Promise<number> {
  const { db, log, metrics } = services;
  // While QM_SECRET_KEY is being changed, another process may write MACs with a key that this process does not have.
  if (!(await opensSigningKey(services))) return 0;
  const ids = forged.map(({ id }) => id);
  await removeUnsealed(db, tenantId, ids);
  metrics.auditForged.inc(ids.length);
  const details = { tenantId: tenantId || null, count: ids.length, eventIds: ids.slice(0, MAX_LOGGED) };
  log.error(details, 'audit events are not sealed: the service did not write them as they are');
  return ids.length;
}

/**
 * Signs the newest head of each chain again if the key that signed it was lost with QM_SECRET_KEY. Only for an operator who
 * declared the key lost: the new signature confirms the chains as they are now.
 */
export async function signLostHeads(
  services: Pick<SealServices, 'db' | 'now' | 'secrets' | 'publicUrl'>,
): Promise<void> {
  const { db, now, publicUrl } = services;
  for (let tenantId = await findNextTenantWithHead(db, null); tenantId !== undefined; ) {
    const { end, head } = await findChainEnd(db, tenantId);
    const read = head === null ? null : await readHead(services, head.token);
    const ends = head !== null && end?.position === head.size && end.hash === head.hash;
    if (ends && read?.is === 'unverifiable' && isOf(read.claims, tenantId, head)) {
      const signed = { size: head.size, hash: head.hash, sealedAt: now().toISOString() };
      const token = signHead(await currentSigner(services), publicUrl, tenantId, signed);
      await replaceHeadToken(db, tenantId, { ...signed, token });
    }
    tenantId = await findNextTenantWithHead(db, tenantId);
  }
}

function dayOf({ sealedAt }: Pick<Head, 'sealedAt'>): string {
  return sealedAt.slice(0, 10);
}
