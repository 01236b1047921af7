import { setImmediate as breathe } from 'node:timers/promises';
import { DuplicateKeyError, SerializationFailureError } from '@quartermaster/db/errors.ts';
import {
  appendLinks,
  findChainEnd,
  findHeadTenant,
  findLinkHash,
  findUnsealedTenant,
  type Head,
  listNewestHeads,
  listUnsealedEvents,
  removeUnsealed,
  replaceHeadToken,
  type UnsealedEvent,
} from '@quartermaster/db/repositories/audit-chain.ts';
import type { Services } from '../services.ts';
import { currentSigner, opensSigningKey } from '../signing-keys/service.ts';
import { emptyChain, linked } from './chain.ts';
import { isOf, readHead, signHead } from './head.ts';
import { macKeyOf } from './mac.ts';

export type Sealer = {
  /** Seals all that waits. Passes of one process follow one another; those of several do no harm to each other. */
  pass(): Promise<void>;
  /** What this process remembers of a chain. Asked before the chain is read: it is never shorter than that. */
  remembered(tenantId: string): RememberedHead | undefined;
  /** Lets the batch at hand be finished, and begins no other. */
  stop(): Promise<void>;
};

/** The longest that a chain was seen. `token`: the head that was verified; null where it was seen alone. */
export type RememberedHead = Pick<Head, 'size' | 'hash'> & { token: string | null };

type SealServices = Pick<Services, 'db' | 'log' | 'metrics' | 'now' | 'secrets' | 'publicUrl'>;

/** Events sealed at once, of one tenant: what is computed without a pause, and written in one transaction. */
const OF_BATCH = 100;

/** Forged events whose ids are logged, of one batch. */
const MOST_LOGGED = 10;

/** Chains whose newest head is looked at in one pass. Twice a second: 1,000 tenants take two and a half seconds. */
const OF_LOOK = 200;

/** Chains whose newest head this process remembers: less than a KiB each. */
const MOST_REMEMBERED = 50_000;

/** A chain does not end as it was signed. To sign it on would vouch for whatever was done to it. */
class ChainBrokenError extends Error {}

/** @param most chains that are remembered; beyond it those are forgotten that grew the longest ago */
export function sealer(services: SealServices, most = MOST_REMEMBERED): Sealer {
  const { db, log, metrics, now, publicUrl, secrets } = services;
  /** Those that grew the longest ago first. Nothing in the database makes it forget one. */
  const remembered = new Map<string, RememberedHead>();
  /** The tenant whose head was looked at last; null at the beginning of a round. */
  let lookedAt: string | null = null;
  /** Whether all heads were looked at once. */
  let acquainted = false;
  /** Chains that are not sealed any further. */
  const halted = new Set<string>();
  const stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();

  async function sealAll(): Promise<void> {
    // Before anything is sealed: whoever knows nothing of a chain takes one that was removed for one that never began.
    do await look();
    while (!acquainted && remembered.size < most && !stopping.signal.aborted);
    // One batch of each tenant in turn, so that the many events of one do not hold up the others.
    for (let more = true; more && !stopping.signal.aborted; ) {
      more = false;
      let tenantId = await findUnsealedTenant(db, null);
      while (tenantId !== undefined && !stopping.signal.aborted) {
        more = (await sealOrTell(tenantId)) || more;
        await breathe();
        tenantId = await findUnsealedTenant(db, tenantId);
      }
    }
  }

  /**
   * Looks at some heads in turn, and remembers what other processes have sealed. Neither times nor what was sealed since
   * are asked for: the clocks of processes differ, and rows can be given any time.
   */
  async function look(): Promise<void> {
    const { heads, last } = await listNewestHeads(db, { after: lookedAt, limit: OF_LOOK });
    for (const { tenantId, size, hash } of heads) {
      const known = remembered.get(tenantId);
      if (known === undefined) {
        // What grows is remembered in the place of another; what is only there is not.
        if (remembered.size < most) remembered.set(tenantId, { size, hash, token: null });
      } else if (known.size !== size || known.hash !== hash || halted.has(tenantId)) {
        await orTell(tenantId, () => soundEnd(tenantId));
      }
    }
    lookedAt = last;
    acquainted ||= last === null;
    await breathe();
  }

  /** Whether there may be more to seal of the tenant. */
  async function sealOrTell(tenantId: string): Promise<boolean> {
    const taken = (await orTell(tenantId, () => sealBatch(tenantId))) ?? 0;
    return taken === OF_BATCH;
  }

  /** Does what a sound chain needs. Where it is not sound, says so once, and answers null. */
  async function orTell<T>(tenantId: string, work: () => Promise<T>): Promise<T | null> {
    try {
      const done = await work();
      halted.delete(tenantId);
      return done;
    } catch (error) {
      // Another process has sealed: what is left is found at the next pass.
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

  /** @returns how many events wait no more */
  async function sealBatch(tenantId: string): Promise<number> {
    // Where the chain ends is read before what waits: an event that is sealed in between is then refused as a duplicate.
    const before = await soundEnd(tenantId);
    const waiting = await listUnsealedEvents(db, tenantId, { after: null, limit: OF_BATCH });
    const forged = waiting.filter(isForged);
    const refused = forged.length === 0 ? 0 : await refuse(tenantId, forged);
    const end = { position: before?.size ?? 0, hash: before?.hash ?? emptyChain(tenantId) };
    const links = linked(
      end,
      waiting.filter((event) => !forged.includes(event)),
    );
    const last = links.at(-1);
    if (last === undefined) return refused;
    const sealedAt = now().toISOString();
    const signed = { size: last.position, hash: last.hash, sealedAt };
    const head = { ...signed, token: await signHead(await currentSigner(services), publicUrl, tenantId, signed) };
    const firstOfDay = before === null || dayOf(before) !== dayOf(head);
    const replaced = firstOfDay ? null : before.size;
    // Not serializable, as others are: nothing that it reads decides anything, since no position is given twice. What it
    // takes from those that wait stands beside what is written now, whose transactions would be undone for that.
    await db.transaction().execute((trx) => appendLinks(trx, tenantId, { links, head, replaced }));
    remember(tenantId, head);
    // Logs go elsewhere: with them a head that whoever writes to the database cannot change.
    if (firstOfDay) log.info({ tenantId: tenantId || null, head: head.token }, 'audit head');
    metrics.auditSealed.inc(links.length);
    return links.length + refused;
  }

  /** Whether the service did not write an event as it is. A missing one is sealed as missing, which verification tells. */
  function isForged(unsealed: UnsealedEvent): boolean {
    return unsealed.event !== 'missing' && macKeyOf(secrets, unsealed) === null;
  }

  /**
   * Takes forged events from those that wait, so that they do not hold up the others. They stay where they are, and
   * verification names them.
   *
   * @returns how many
   */
  async function refuse(tenantId: string, forged: readonly UnsealedEvent[]): Promise<number> {
    // While QM_SECRET_KEY is changed, another process may write with a key that this one does not have.
    if (!(await opensSigningKey(services))) return 0;
    const ids = forged.map(({ id }) => id);
    await removeUnsealed(db, tenantId, ids);
    metrics.auditForged.inc(ids.length);
    const said = { tenantId: tenantId || null, count: ids.length, eventIds: ids.slice(0, MOST_LOGGED) };
    log.error(said, 'audit events are not sealed: the service did not write them as they are');
    return ids.length;
  }

  /**
   * The head at the end of a chain; null where it has not begun.
   *
   * @throws ChainBrokenError where the chain does not end with a head that was signed here
   */
  async function soundEnd(tenantId: string): Promise<Head | null> {
    const { end, head } = await findChainEnd(db, tenantId);
    const known = remembered.get(tenantId);
    if (known && (head === null || head.size < known.size)) throw new ChainBrokenError('its end was removed');
    if (head === null && end === null) return null;
    if (head === null) throw new ChainBrokenError('it has no signed head');
    if (end?.position !== head.size || end.hash !== head.hash) throw new ChainBrokenError('it does not end as signed');
    if (known?.token === head.token && known.size === head.size && known.hash === head.hash) return head;
    const hash = known && known.size < head.size ? await findLinkHash(db, tenantId, known.size) : head.hash;
    if (known && known.hash !== hash) throw new ChainBrokenError('it was computed anew');
    const read = await readHead(services, head.token);
    if (read.is !== 'genuine' || !isOf(read.claims, tenantId, head)) {
      throw new ChainBrokenError(read.is === 'unverifiable' ? 'its head cannot be verified' : 'its head is forged');
    }
    remember(tenantId, head);
    return head;
  }

  function remember(tenantId: string, { size, hash, token }: Head): void {
    remembered.delete(tenantId);
    if (remembered.size >= most) forgetOne();
    remembered.set(tenantId, { size, hash, token });
  }

  function forgetOne(): void {
    for (const tenantId of remembered.keys()) {
      // What keeps a changed chain from being sealed is not forgotten.
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
 * Signs anew the newest head of each chain whose key is lost with QM_SECRET_KEY. For whoever says that it is lost: it
 * vouches for the chains as they are now.
 */
export async function signLostHeads(
  services: Pick<SealServices, 'db' | 'now' | 'secrets' | 'publicUrl'>,
): Promise<void> {
  const { db, now, publicUrl } = services;
  for (let tenantId = await findHeadTenant(db, null); tenantId !== undefined; ) {
    const { end, head } = await findChainEnd(db, tenantId);
    const read = head === null ? null : await readHead(services, head.token);
    const ends = head !== null && end?.position === head.size && end.hash === head.hash;
    if (ends && read?.is === 'unverifiable' && isOf(read.claims, tenantId, head)) {
      const signed = { size: head.size, hash: head.hash, sealedAt: now().toISOString() };
      const token = await signHead(await currentSigner(services), publicUrl, tenantId, signed);
      await replaceHeadToken(db, tenantId, { ...signed, token });
    }
    tenantId = await findHeadTenant(db, tenantId);
  }
}

function dayOf({ sealedAt }: Pick<Head, 'sealedAt'>): string {
  return sealedAt.slice(0, 10);
}
