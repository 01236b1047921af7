import { setImmediate } from 'node:timers/promises';
import { currentTurn, writerStopwatch } from './tenant-context.ts';

/** A request that has begun waits at least so long for a connection, even after its deadline. In milliseconds. */
const MIN_WAIT_MS = 1000;

/**
 * Yields to the event loop if the request's turn is over. Long loops call it, and so does each statement: SQLite answers
 * synchronously, so many statements would otherwise block every other request. Work without a turn, such as that of a command, yields
 * each time.
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

/** Whether the request's turn is over. It costs less where a caller can do without the promise. */
export function isYieldDue(): boolean {
  return currentTurn()?.isOver(writerStopwatch() !== null) ?? false;
}

/** How long the running request may wait for a connection now, in milliseconds. @param most for work without a deadline */
export function waitMsLeft(most: number): number {
  const left = (currentTurn()?.deadline ?? Number.POSITIVE_INFINITY) - performance.now();
  return Math.min(most, Math.max(MIN_WAIT_MS, left));
}
