import { setImmediate } from 'node:timers/promises';
import { currentTurn, writerStopwatch } from './tenant-context.ts';

/** The shortest time, in milliseconds, that a started request may wait for a connection, even after its deadline. */
const MIN_WAIT_MS = 1000;

/**
 * Yields to the event loop if the request's turn is over. Long loops call it, and so does each statement: SQLite answers
 * synchronously, so a request with many statements would block every other request. Work that has no turn, such as a command,
 * yields each time.
 */
export async function yieldWhenDue(): Promise<void> {
  const turn = currentTurn();
  if (turn === null) await setImmediate();
  else if (isYieldDue()) {
    const stopwatch = writerStopwatch();
    stopwatch?.stop();
    await turn.next(stopwatch !== null);
    stopwatch?.start();
  }
}

/** Whether the request's turn is over. Cheaper than calling {@link yieldWhenDue} each time, which makes a promise. */
export function isYieldDue(): boolean {
  return currentTurn()?.isOver(writerStopwatch() !== null) ?? false;
}

/** How long the running request may wait for a connection now, in milliseconds. @param most for work without a deadline */
export function waitMsLeft(most: number): number {
  const left = (currentTurn()?.deadline ?? Number.POSITIVE_INFINITY) - performance.now();
  return Math.min(most, Math.max(MIN_WAIT_MS, left));
}
