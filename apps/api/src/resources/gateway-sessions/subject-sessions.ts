import type { Gateway } from '@quartermaster/contracts/gateways.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { countOpenSessions } from '@quartermaster/db/repositories/gateway-sessions.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { CachedCounts } from '../../platform/cached-counts.ts';
import { ApiError } from '../../platform/errors.ts';

/** The limit of open sessions of one subject at one gateway. A few more may be open, see {@link CachedCounts}. */
export class SubjectSessions {
  readonly #db: Database;
  readonly #now: () => Date;
  readonly #limit: number;
  readonly #counts: CachedCounts;

  /**
   * @param db outside of the transaction that adds the session: inside it, concurrent sessions of one subject would make each
   *   other's transactions repeat on PostgreSQL
   */
  constructor({ db, now, limit }: { db: Database; now: () => Date; limit: number }) {
    this.#db = db;
    this.#now = now;
    this.#limit = limit;
    this.#counts = new CachedCounts(now);
  }

  /**
   * Counts a session that is about to be opened.
   *
   * @throws 409 `session_limit_reached`
   */
  async add(gateway: Gateway, subject: string): Promise<void> {
    const limit = this.#limit;
    const key = `${gateway.tenantId} ${gateway.id} ${subject}`;
    const used = await this.#counts.usedOf(key, { limit, added: 1 }, () => {
      const counted = { gatewayId: gateway.id, subject, most: limit };
      return countOpenSessions(this.#db, scopeOf(gateway), counted, this.#now());
    });
    if (used < limit) return this.#counts.add(key, 1);
    const detail = `${subject} has ${limit} open sessions at this gateway. End one of them first.`;
    throw new ApiError('session_limit_reached', detail);
  }
}
