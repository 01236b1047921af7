const TICK_MS = 10;

/**
 * How long some work takes in the time in which this process may run, in milliseconds. It counts the ticks of a timer, which do not
 * come while the process waits for a busy machine. The work must leave the event loop free.
 */
export async function ownTimeOf(work: () => Promise<unknown>): Promise<number> {
  let ticks = 0;
  const timer = setInterval(() => {
    ticks += 1;
  }, TICK_MS);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return ticks * TICK_MS;
}
