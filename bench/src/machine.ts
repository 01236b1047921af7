import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { availableParallelism, cpus, totalmem } from 'node:os';

/** Which core a measured server has to itself, and which one the load comes from. Null: not pinned. */
export type Cores = {
  server: number | null;
  load: number | null;
  /** What is left: for further servers. */
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

/** What taskset lists: `0,2-4`. */
function coresOf(text: string): number[] {
  return text
    .trim()
    .split(',')
    .flatMap((part) => {
      const [first = 0, last = first] = part.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, index) => first + index);
    });
}

/** Everything that was started and has not ended: ended with this process, whatever ends it. */
const started = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of started) child.kill('SIGKILL');
});

/** Starts Node on one core. The process that is returned is Node itself: taskset becomes it. */
export function spawnNode(core: number | null, argv: readonly string[], options: SpawnOptions): ChildProcess {
  const command = [process.execPath, ...argv];
  const [program = '', ...rest] = core === null ? command : ['taskset', '-c', String(core), ...command];
  const child = spawn(program, rest, options);
  started.add(child);
  child.once('exit', () => started.delete(child));
  return child;
}

/** Waits for the end of a process that was told to end; after a time it is killed. */
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

/** The CPU time that a process has used, all its threads together, in milliseconds. NaN where the system has no /proc. */
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

/** The memory that a process occupies, in millions of bytes. NaN where the system has no /proc. */
export function residentMegabytes(pid: number): number {
  try {
    const kibibytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return (Number(kibibytes) * 1024) / 1e6;
  } catch {
    return Number.NaN;
  }
}

/** A port of the loopback address that is free now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

/** What the figures were measured on. */
export function describeMachine(): { processor: string; cores: number; memoryGiB: number; node: string } {
  return {
    processor: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.version,
  };
}
