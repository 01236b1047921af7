import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { DuplicateKeyError, SerializationFailureError } from '@quartermaster/db/errors.ts';
import { findChainEnd, findLinkHash, type Head, listNewestHeads } from '@quartermaster/db/repositories/audit-chain.ts';
import type { RememberedHead } from '../../platform/audit/sealer.ts';
import type { Services } from '../../platform/services.ts';
import { isOf, readHead } from './head.ts';

/** Newest heads that are read at once. There are two passes a second, so 1,000 tenants take two and a half seconds. */
const HEADS_PER_PASS = 200;

/** A chain does not end as it was signed. Signing it again would confirm the tampering. */
class ChainBrokenError extends Error {}

/** The ends of the hash chains that this process has seen, and the chains that turned out to be broken. */
export class KnownChains {
  readonly #services: Pick<Services, 'db' | 'log' | 'metrics' | 'secrets'>;
  readonly #maxRemembered: number;
  /** The chain that grew the longest ago comes first. A change of the database never removes a chain from this map. */
  readonly #remembered = new Map<string, RememberedHead>();
  /** The tenant whose head was read last; null at the beginning of a round. */
  #lastRead: string | null = null;
  /** Whether one full round of all heads is done. */
  #hasReadAllHeads = false;
  /** Tenants whose chain is broken, and not sealed any further. */
  readonly #halted = new Set<string>();

  /** @param maxRemembered chains to remember; beyond it those that grew the longest ago are forgotten */
  constructor(services: Pick<Services, 'db' | 'log' | 'metrics' | 'secrets'>, maxRemembered: number) {
    this.#services = services;
    this.#maxRemembered = maxRemembered;
  }

  /** Whether all chains are known, or as many as this process remembers. */
  get isComplete(): boolean {
    return this.#hasReadAllHeads || this.#remembered.size >= this.#maxRemembered;
  }

  get(tenantId: string): RememberedHead | undefined {
    return this.#remembered.get(tenantId);
  }

  remember(tenantId: string, { size, hash, token }: Head): void {
    this.#remembered.delete(tenantId);
    if (this.#remembered.size >= this.#maxRemembered) this.#forgetOne();
    this.#remembered.set(tenantId, { size, hash, token });
  }

  #forgetOne(): void {
    for (const tenantId of this.#remembered.keys()) {
      // Keep the heads of broken chains: without them a changed chain would look sound, and would be sealed.
      if (this.#halted.has(tenantId)) continue;
      this.#remembered.delete(tenantId);
      return;
    }
  }

  /**
   * Reads the next heads of the round, and remembers what other processes have sealed. It reads all heads instead of those
   * sealed since a time: clocks of processes differ, and an attacker can write any time into a row.
   */
  async readHeads(): Promise<void> {
    const { db } = this.#services;
    const { heads, last } = await listNewestHeads(db, { after: this.#lastRead, limit: HEADS_PER_PASS });
    for (const { tenantId, size, hash } of heads) {
      const known = this.#remembered.get(tenantId);
      if (known === undefined) {
        // Once the map is full, only a chain that grows takes the place of another.
        if (this.#remembered.size < this.#maxRemembered) this.#remembered.set(tenantId, { size, hash, token: null });
      } else if (known.size !== size || known.hash !== hash || this.#halted.has(tenantId)) {
        await this.unlessBroken(tenantId, () => this.findVerifiedHead(tenantId));
      }
    }
    this.#lastRead = last;
    this.#hasReadAllHeads ||= last === null;
    await yieldToEventLoop();
  }

  /** Runs `work`. If the chain turns out to be broken, halts it, logs that once, and returns null. */
  async unlessBroken<T>(tenantId: string, work: () => Promise<T>): Promise<T | null> {
    const { log, metrics } = this.#services;
    try {
      const done = await work();
      this.#halted.delete(tenantId);
      return done;
    } catch (error) {
      // Another process sealed at the same time. The next pass seals the remaining events.
      if (error instanceof DuplicateKeyError || error instanceof SerializationFailureError) return null;
      if (!(error instanceof ChainBrokenError)) throw error;
      if (!this.#halted.has(tenantId)) {
        log.error({ err: error, tenantId }, 'the audit of a tenant is not sealed any further: its chain was changed');
      }
      this.#halted.add(tenantId);
      return null;
    } finally {
      metrics.auditChainsHalted.set(this.#halted.size);
    }
  }

  /**
   * The head at the end of a chain; null if the chain has not begun.
   *
   * @throws ChainBrokenError if the chain does not end with a head that this service signed
   */
  async findVerifiedHead(tenantId: string): Promise<Head | null> {
    const { db } = this.#services;
    const { end, head } = await findChainEnd(db, tenantId);
    const known = this.#remembered.get(tenantId);
    if (known && (head === null || head.size < known.size)) throw new ChainBrokenError('its end was removed');
    if (head === null && end === null) return null;
    if (head === null) throw new ChainBrokenError('it has no signed head');
    if (end?.position !== head.size || end.hash !== head.hash) throw new ChainBrokenError('it does not end as signed');
    if (known?.token === head.token && known.size === head.size && known.hash === head.hash) return head;
    const hash = known && known.size < head.size ? await findLinkHash(db, tenantId, known.size) : head.hash;
    if (known && known.hash !== hash) throw new ChainBrokenError('it was computed again');
    const read = await readHead(this.#services, head.token);
    if (read.is !== 'genuine' || !isOf(read.claims, tenantId, head)) {
      throw new ChainBrokenError(read.is === 'unverifiable' ? 'its head cannot be verified' : 'its head is forged');
    }
    this.remember(tenantId, head);
    return head;
  }
}
