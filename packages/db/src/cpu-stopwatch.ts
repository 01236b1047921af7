/** Measures the CPU time of this thread. It starts when it is created. */
export class CpuStopwatch {
  #ms = 0;
  #since = threadCpuTime();

  start(): void {
    this.#since = threadCpuTime();
  }

  /** @returns the CPU time until now, in milliseconds */
  stop(): number {
    this.#ms += threadCpuTime() - this.#since;
    return this.#ms;
  }
}

function threadCpuTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
