import { randomUUID } from 'node:crypto';
import { type Answered, Connection } from './connection.ts';
import { ADMIN } from './service.ts';

/** One request of a load, and its outcome. */
export type Sent = {
  name: string;
  /** When it was sent, in milliseconds since the start of the load. */
  at: number;
  tookMs: number;
  /** Null: no answer. */
  status: number | null;
  /** The system's error code if there is no answer, such as ECONNRESET. */
  code: string | null;
  /** Without an answer: whether the connection carried other requests before. */
  reused: boolean;
  /** The request id in the service's log. */
  requestId: string;
  retryAfter: boolean;
};

/** Sends the next request of one of the load's connections, with these headers. */
export type Sender = (
  connection: Connection,
  count: number,
  headers: Record<string, string>,
) => { name: string; answer: Promise<Answered> };

export const listProviders: Sender = (connection, _count, headers) => ({
  name: 'read',
  answer: connection.send('GET', '/v1/providers', { headers }),
});

/** @param prefix of the accounts' ids, so that they can be found */
export function createAccounts(prefix: string): Sender {
  return (connection, count, headers) => {
    const id = `${prefix}-${count}`;
    const body = { id, name: id, tenantId: 'load' };
    const answer = connection.send('POST', '/v1/service-accounts', { body, headers });
    return { name: `write ${id}`, answer };
  };
}

/** Sends requests until it is stopped. */
export class Load {
  readonly sent: Sent[] = [];
  readonly #started = performance.now();
  readonly #connections: Connection[] = [];
  readonly #running: Promise<void>[] = [];
  #stopped = false;

  /** @param pauseMs between an answer and the next request */
  add(url: string, sender: Sender, pauseMs = 0): void {
    const connection = new Connection(url, ADMIN);
    this.#connections.push(connection);
    this.#running.push(this.#send(connection, sender, pauseMs));
  }

  /** Milliseconds since the start of the load. */
  now(): number {
    return performance.now() - this.#started;
  }

  /** The requests that were sent since a time of {@link now}. */
  since(at: number): Sent[] {
    return this.sent.filter((one) => one.at >= at);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
    for (const connection of this.#connections) connection.close();
  }

  async #send(connection: Connection, sender: Sender, pauseMs: number): Promise<void> {
    for (let count = 0; !this.#stopped; count += 1) {
      const at = this.now();
      const requestId = randomUUID();
      const { name, answer } = sender(connection, count, { 'x-request-id': requestId });
      const entry = { name, at, code: null, reused: false, retryAfter: false, requestId };
      try {
        const { status, headers } = await answer;
        const retryAfter = headers['retry-after'] !== undefined;
        this.sent.push({ ...entry, tookMs: this.now() - at, status, retryAfter });
      } catch (error) {
        const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
        const reused = error instanceof Error && 'reused' in error && error.reused === true;
        this.sent.push({ ...entry, tookMs: this.now() - at, status: null, code, reused });
        // The service has stopped listening.
        if (code === 'ECONNREFUSED') return;
      }
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/** @returns the value below which this share of the values lies; 0 for no values */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
