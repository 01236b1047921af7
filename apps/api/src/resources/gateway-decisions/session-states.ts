import type { Database } from '@quartermaster/db/database.ts';
import { findSessionStates, type SessionState } from '@quartermaster/db/repositories/gateway-sessions.ts';
import { EVERYWHERE } from '@quartermaster/db/tenancy.ts';

type Waiting = { resolve: (state: SessionState | undefined) => void; reject: (error: unknown) => void };

/** Reads the states of sessions. All sessions that are asked for in one turn of the event loop are read by one statement. */
export class SessionStates {
  readonly #db: Database;
  #waiting = new Map<string, { tenantId: string; id: string; callers: Waiting[] }>();

  constructor(db: Database) {
    this.#db = db;
  }

  /** @returns undefined if there is no such session */
  read(tenantId: string, id: string): Promise<SessionState | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.size === 0) setImmediate(() => void this.#readAll());
      const key = `${tenantId} ${id}`;
      const entry = this.#waiting.get(key) ?? { tenantId, id, callers: [] };
      entry.callers.push({ resolve, reject });
      this.#waiting.set(key, entry);
    });
  }

  async #readAll(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = new Map();
    try {
      const states = await findSessionStates(this.#db, EVERYWHERE, [...waiting.values()]);
      const found = new Map(states.map((state) => [`${state.tenantId} ${state.id}`, state]));
      for (const [key, { callers }] of waiting) for (const { resolve } of callers) resolve(found.get(key));
    } catch (error) {
      for (const { callers } of waiting.values()) for (const { reject } of callers) reject(error);
    }
  }
}
