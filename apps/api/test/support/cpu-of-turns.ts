/**
 * Does some work, and measures the CPU time of this thread meanwhile, in milliseconds: the most between two turns of the event loop,
 * and all of it.
 */
export async function cpuOfTurns(work: () => Promise<unknown>): Promise<{ longest: number; total: number }> {
  const begun = threadCpuMs();
  let [last, longest] = [begun, 0];
  const turn = () => {
    const now = threadCpuMs();
    longest = Math.max(longest, now - last);
    last = now;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  try {
    await work();
  } finally {
    clearImmediate(next);
  }
  return { longest, total: threadCpuMs() - begun };
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
