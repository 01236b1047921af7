import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../platform/errors.ts';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import type { Principal } from '../auth/principal.ts';
import { schedulerCaller } from './rate-limits/in-turn.ts';

/** Answers of up to this many bytes are not counted. The buffers of the system take them, even if the client reads nothing. */
const SMALL_BYTES = 16 * 1024;

/** Memory for answers that clients have not read yet, in bytes: ten of the largest ones. */
const BUDGET = 128 * 1024 * 1024;

/**
 * Bounds the memory of answers that clients have not read yet, in total and for each caller. Node keeps an answer until the
 * client has read it. Without a bound, a caller with many connections that reads nothing could use up the memory of the
 * process.
 *
 * A caller may hold as much as all callers together leave free, like the senders of telemetry. The first answer of a caller is
 * never refused.
 */
export class UnreadAnswers {
  readonly #held = new Map<string, number>();
  #total = 0;

  /**
   * Counts an answer until it is sent or its connection is closed. An answer to a closed connection is not counted.
   *
   * @param isRefusable false for the answer of a write: it has been performed, so the caller needs the answer
   * @throws 429 beyond the budget
   */
  hold(caller: string, res: ServerResponse, { bytes, isRefusable }: { bytes: number; isRefusable: boolean }): void {
    // Such an answer would never emit `close`. A pipelined one has no socket if the connection was closed before its turn.
    if (res.socket === null || res.socket.destroyed) return;
    const heldByCaller = this.#held.get(caller) ?? 0;
    if (isRefusable && heldByCaller > 0 && heldByCaller + bytes > BUDGET - this.#total - bytes) throw tooManyUnread();
    this.#held.set(caller, heldByCaller + bytes);
    this.#total += bytes;
    res.once('close', () => {
      const left = (this.#held.get(caller) ?? 0) - bytes;
      if (left > 0) this.#held.set(caller, left);
      else this.#held.delete(caller);
      this.#total -= bytes;
    });
  }
}

/** Counts an answer of the pipeline before it is sent, see {@link UnreadAnswers}. @throws 429 */
export function holdAnswer(
  { unread, addressOf }: { unread: UnreadAnswers; addressOf: (req: IncomingMessage) => string },
  { operation, principal }: { operation: Operation | null; principal: Principal | null },
  { req, res, bytes }: { req: IncomingMessage; res: ServerResponse; bytes: number },
): void {
  if (bytes <= SMALL_BYTES) return;
  const { name } = schedulerCaller(principal, addressOf(req));
  unread.hold(name, res, { bytes, isRefusable: operation?.idempotency === 'none' });
}

function tooManyUnread(): ApiError {
  return new ApiError('rate_limited', 'You have not read the answers to your earlier requests yet. Read them first.', {
    headers: { 'Retry-After': '1' },
  });
}
