import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { DuplicateKeyError, SerializationFailureError } from '@quartermaster/db/errors.ts';
import {
  appendLinks,
  findChainEnd,
  findLinkHash,
  findNextTenantWithHead,
  findNextUnsealedTenant,
  type Head,
  listNewestHeads,
  listUnsealedEvents,
  removeUnsealed,
  replaceHeadToken,
  type UnsealedEvent,
} from '@quartermaster/db/repositories/audit-chain.ts';
import type { Services } from '../../platform/services.ts';
import { currentSigner, opensSigningKey } from '../signing-keys/service.ts';
import { emptyChainHash, linksFor } from '../../platform/audit/chain.ts';
import { isOf, readHead, signHead } from './head.ts';
import { macKeyOf } from '../../platform/audit/mac.ts';
import type { RememberedHead, Sealer } from '../../platform/audit/sealer.ts';

type SealServices = Pick<Services, 'db' | 'log' | 'metrics' | 'now' | 'secrets' | 'publicUrl'>;

/** Events of one tenant that are sealed without yielding to the event loop, and written in one transaction. */
const BATCH_SIZE = 100;

/** Forged events of a batch whose ids are logged. */
const MAX_LOGGED = 10;

/** Newest heads that one pass reads. There are two passes a second, so 1,000 tenants take two and a half seconds. */
const HEADS_PER_PASS = 200;

/** Chains whose newest head this process remembers: less than a KiB each. */
const MAX_REMEMBERED = 50_000;

/** A chain does not end as it was signed. Signing it again would confirm the tampering. */
class ChainBrokenError extends Error {}

/** @param maxRemembered chains to remember; beyond it the sealer forgets the chains that grew the longest ago */
export function sealer(services: SealServices, maxRemembered = MAX_REMEMBERED): Sealer {
  const { db, log, metrics, now, publicUrl, secrets } = services;
  /** The chain that grew the longest ago comes first. A change of the database never removes a chain from this map. */
  const remembered = new Map<string, RememberedHead>();
  /** The tenant whose head was read last; null at the beginning of a round. */
  let lastRead: string | null = null;
  /** Whether one full round of all heads is done. */
  let hasReadAllHeads = false;
  /** Tenants whose chain is broken, and not sealed any further. */
  const halted = new Set<string>();
  const stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();

  async function sealAll(): Promise<void> {
    // First learn all chains: without knowing a chain, the sealer would take a deleted one for one that never began.
    do await readHeads();
    while (!hasReadAllHeads && remembered.size < maxRemembered && !stopping.signal.aborted);
    // One batch of each tenant in turn, so that the many events of one do not hold up the others.
    for (let more = true; more && !stopping.signal.aborted; ) {
      more = false;
      let tenantId = await findNextUnsealedTenant(db, null);
      while (tenantId !== undefined && !stopping.signal.aborted) {
        more = (await sealUnlessBroken(tenantId)) || more;
        await yieldToEventLoop();
        tenantId = await findNextUnsealedTenant(db, tenantId);
      }
    }
  }

  /**
   * Reads the next heads of the round, and remembers what other processes have sealed. It reads all heads instead of those
   * sealed since a time: clocks of processes differ, and an attacker can write any time into a row.
   */
  async function readHeads(): Promise<void> {
    const { heads, last } = await listNewestHeads(db, { after: lastRead, limit: HEADS_PER_PASS });
    for (const { tenantId, size, hash } of heads) {
      const known = remembered.get(tenantId);
      if (known === undefined) {
        // Once the map is full, only a chain that grows takes the place of another.
        if (remembered.size < maxRemembered) remembered.set(tenantId, { size, hash, token: null });
      } else if (known.size !== size || known.hash !== hash || halted.has(tenantId)) {
        await unlessBroken(tenantId, () => findVerifiedHead(tenantId));
      }
    }
    lastRead = last;
    hasReadAllHeads ||= last === null;
    await yieldToEventLoop();
  }

  /** Seals a batch of a tenant. Returns whether there may be more to seal. */
  async function sealUnlessBroken(tenantId: string): Promise<boolean> {
    const taken = (await unlessBroken(tenantId, () => sealBatch(tenantId))) ?? 0;
    return taken === BATCH_SIZE;
  }

  /** Runs `work`. If the chain turns out to be broken, halts it, logs that once, and returns null. */
  async function unlessBroken<T>(tenantId: string, work: () => Promise<T>): Promise<T | null> {
    try {
      const done = await work();
      halted.delete(tenantId);
      return done;
    } catch (error) {
      // Another process sealed at the same time. The next pass seals the remaining events.
      if (error instanceof DuplicateKeyError || error instanceof SerializationFailureError) return null;
      if (!(error instanceof ChainBrokenError)) throw error;
      if (!halted.has(tenantId)) {
        log.error({ err: error, tenantId }, 'the audit of a tenant is not sealed any further: its chain was changed');
      }
      halted.add(tenantId);
      return null;
    } finally {
      metrics.auditChainsHalted.set(halted.size);
    }
  }

  /** @returns how many events no longer wait: sealed ones and forged ones */
  async function sealBatch(tenantId: string): Promise<number> {
    // Read the end of the chain before the waiting events: an event that is sealed in between then fails as a duplicate.
    const before = await findVerifiedHead(tenantId);
    const waiting = await listUnsealedEvents(db, tenantId, { after: null, limit: BATCH_SIZE });
    const forged = waiting.filter(isForged);
    const rejected = forged.length === 0 ? 0 : await rejectForged(tenantId, forged);
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
    remember(tenantId, head);
    // Logs leave the machine, so an attacker with write access to the database cannot change this head.
    if (firstOfDay) log.info({ tenantId: tenantId || null, head: head.token }, 'audit head');
    metrics.auditSealed.inc(links.length);
    return links.length + rejected;
  }

  /** Whether an event has no valid MAC. A missing event is sealed as missing, and verification reports it. */
  function isForged(unsealed: UnsealedEvent): boolean {
    return unsealed.event !== 'missing' && macKeyOf(secrets, unsealed) === null;
  }

  /**
   * Takes forged events out of the queue, so that they do not block the others. Their rows stay, and verification reports
   * them.
   *
   * @returns how many
   */
  async function rejectForged(tenantId: string, forged: readonly UnsealedEvent[]): Promise<number> {
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
   * The head at the end of a chain; null if the chain has not begun.
   *
   * @throws ChainBrokenError if the chain does not end with a head that this service signed
   */
  async function findVerifiedHead(tenantId: string): Promise<Head | null> {
    const { end, head } = await findChainEnd(db, tenantId);
    const known = remembered.get(tenantId);
    if (known && (head === null || head.size < known.size)) throw new ChainBrokenError('its end was removed');
    if (head === null && end === null) return null;
    if (head === null) throw new ChainBrokenError('it has no signed head');
    if (end?.position !== head.size || end.hash !== head.hash) throw new ChainBrokenError('it does not end as signed');
    if (known?.token === head.token && known.size === head.size && known.hash === head.hash) return head;
    const hash = known && known.size < head.size ? await findLinkHash(db, tenantId, known.size) : head.hash;
    if (known && known.hash !== hash) throw new ChainBrokenError('it was computed again');
    const read = await readHead(services, head.token);
    if (read.is !== 'genuine' || !isOf(read.claims, tenantId, head)) {
      throw new ChainBrokenError(read.is === 'unverifiable' ? 'its head cannot be verified' : 'its head is forged');
    }
    remember(tenantId, head);
    return head;
  }

  function remember(tenantId: string, { size, hash, token }: Head): void {
    remembered.delete(tenantId);
    if (remembered.size >= maxRemembered) forgetOne();
    remembered.set(tenantId, { size, hash, token });
  }

  function forgetOne(): void {
    for (const tenantId of remembered.keys()) {
      // Keep the heads of broken chains: without them a changed chain would look sound, and would be sealed.
      if (halted.has(tenantId)) continue;
      remembered.delete(tenantId);
      return;
    }
  }

  return {
    remembered: (tenantId) => remembered.get(tenantId),
    pass() {
      const pass = running.then(sealAll);
      running = pass.catch(() => {});
      return pass;
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
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
