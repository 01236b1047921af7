/**
 * Does some work, and measures the CPU time of this thread meanwhile, in milliseconds: the most between two turns of the event loop,
 * and all of it. Returns the result of the work as well.
 */
export async function cpuOfTurns<T>(work: () => Promise<T>): Promise<{ longest: number; total: number; result: T }> {
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
    const result = await work();
    return { longest, total: threadCpuMs() - begun, result };
  } finally {
    clearImmediate(next);
  }
}

/**
 * The part of the CPU time of some work that its longest turn of the event loop takes. The work is done again while that is `most` or
 * more, up to five times, because a turn is also long if it collects much garbage.
 */
export async function partOfLongestTurn(work: () => Promise<unknown>, most: number): Promise<number> {
  let part = 1;
  for (let times = 0; times < 5 && part >= most; times += 1) {
    const { longest, total } = await cpuOfTurns(work);
    part = Math.min(part, longest / total);
  }
  return part;
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
