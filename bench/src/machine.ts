import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';

/** The cores of the measured server and of the load. Null: not pinned. */
export type Cores = {
  server: number | null;
  load: number | null;
  /** The other cores, for further servers. */
  others: number[];
  note: string;
};

/** The first two cores that this process may use. */
export function chooseCores(): Cores {
  const listed = spawnSync('taskset', ['-cp', String(process.pid)], { encoding: 'utf8' });
  if (listed.status !== 0) {
    const note = 'taskset is missing: nothing is pinned, the processes share all cores';
    return { server: null, load: null, others: [], note };
  }
  const [load, server, ...others] = coresOf(listed.stdout.split(':').at(-1) ?? '');
  if (load === undefined || server === undefined) {
    const note = 'one core alone: servers and load share it, ratios say little';
    return { server: null, load: null, others: [], note };
  }
  return { server, load, others, note: `servers on core ${server}, load on core ${load}` };
}

/** Parses taskset's list of cores, such as `0,2-4`. */
function coresOf(text: string): number[] {
  return text
    .trim()
    .split(',')
    .flatMap((part) => {
      const [first = 0, last = first] = part.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, index) => first + index);
    });
}

/** All running child processes. They are killed when this process ends for any reason. */
const started = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of started) child.kill('SIGKILL');
});

/** Starts Node on one core. The returned process is Node itself, because taskset execs it. */
export function spawnNode(core: number | null, argv: readonly string[], options: SpawnOptions): ChildProcess {
  return spawnOn(core, [process.execPath, ...argv], options);
}

/** Starts a program on one core. */
export function spawnOn(core: number | null, command: readonly string[], options: SpawnOptions): ChildProcess {
  const [program = '', ...rest] = core === null ? command : ['taskset', '-c', String(core), ...command];
  const child = spawn(program, rest, options);
  started.add(child);
  child.once('exit', () => started.delete(child));
  return child;
}

/** Waits until a process ends that was told to end. Kills it after a time limit. */
export function ended(child: ChildProcess, withinMs = 15_000): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), withinMs);
    child.once('exit', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** The CPU time of all threads of a process in milliseconds. NaN if the system has no /proc. */
export function cpuTimeOf(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const nanoseconds = threads.map((thread) =>
      Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]),
    );
    return nanoseconds.reduce((sum, one) => sum + one, 0) / 1e6;
  } catch {
    return Number.NaN;
  }
}

/** The resident memory of a process in MB. NaN if the system has no /proc. */
export function residentMegabytes(pid: number): number {
  try {
    const kibibytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return (Number(kibibytes) * 1024) / 1e6;
  } catch {
    return Number.NaN;
  }
}

/** The machine on which the figures were measured. */
export function describeMachine(): { processor: string; cores: number; memoryGiB: number; node: string } {
  return {
    processor: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.version,
  };
}
