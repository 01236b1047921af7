import { once } from 'node:events';
import { type ResourceLimits, Worker } from 'node:worker_threads';

/** A worker thread ended before it answered: it was terminated, failed, or used up its heap or its CPU time. */
export class WorkerEnded extends Error {
  readonly outOfMemory: boolean;
  readonly outOfTime: boolean;

  constructor({ cause, outOfTime = false }: { cause?: unknown; outOfTime?: boolean } = {}) {
    super('the worker thread ended before it answered', { cause });
    this.name = 'WorkerEnded';
    this.outOfMemory = cause instanceof Error && 'code' in cause && cause.code === 'ERR_WORKER_OUT_OF_MEMORY';
    this.outOfTime = outOfTime;
  }
}

type Options = {
  /** The module that the thread runs. It replies to each message with one message. */
  module: URL;
  /** After this time without jobs the thread ends, which frees its memory. In milliseconds. */
  idleMs: number;
  /** Default: the thread's heap may grow as large as that of the process. */
  resourceLimits?: ResourceLimits;
};

type Limits = {
  /** Aborts the job. If it is running, its thread is terminated, and the next job starts a new one. */
  signal?: AbortSignal | undefined;
  /**
   * The CPU time that the thread may use for the job, in milliseconds, exact to about a tenth of a second. Beyond it the job is
   * ended in the same way. Time in the queue does not count, nor does time in which the machine runs something else.
   */
  cpuMs?: number;
};

/** How often the CPU time of a thread is read, in milliseconds. */
const WATCH_MS = 50;

type Ask<Request, Reply> = (message: Request) => Promise<Reply>;

/**
 * Runs jobs in a worker thread, one after the other, so that large inputs do not block the event loop and no two of them are in
 * memory at once. The first job starts the thread.
 */
export class WorkerQueue<Request, Reply> {
  readonly #options: Options;
  #last: Promise<void> = Promise.resolve();
  #running: { thread: Worker; idle: NodeJS.Timeout } | undefined;

  constructor(options: Options) {
    this.#options = options;
  }

  /**
   * Runs a job after all earlier jobs have ended.
   *
   * @param job sends messages to the thread, and gets a reply to each
   * @throws WorkerEnded if the thread ended before it replied; the abort reason of the signal; what `job` throws
   */
  async run<T>(job: (ask: Ask<Request, Reply>) => Promise<T>, limits: Limits = {}): Promise<T> {
    const { signal } = limits;
    signal?.throwIfAborted();
    const turn = this.#last.then(() => this.#perform(job, limits));
    const ended = turn.then(
      () => {},
      () => {},
    );
    this.#last = ended;
    if (signal === undefined) return turn;
    const settled = new AbortController();
    const aborted = once(signal, 'abort', { signal: settled.signal }).then(
      () => Promise.reject(signal.reason as Error),
      () => turn,
    );
    // An aborted job that still waits for its turn ends at once as well.
    return Promise.race([turn, aborted]).finally(() => settled.abort());
  }

  async #perform<T>(job: (ask: Ask<Request, Reply>) => Promise<T>, { signal, cpuMs }: Limits): Promise<T> {
    signal?.throwIfAborted();
    const thread = this.#started();
    const end = () => {
      this.#forget(thread);
      void thread.terminate();
    };
    let outOfTime = false;
    const endLate = () => {
      outOfTime = true;
      end();
    };
    const watch = cpuMs === undefined ? undefined : watchCpuTime(thread, cpuMs, endLate);
    signal?.addEventListener('abort', end, { once: true });
    try {
      return await job((message) => ask<Reply>(thread, message));
    } catch (error) {
      if (!(error instanceof WorkerEnded)) throw error;
      this.#forget(thread);
      throw outOfTime ? new WorkerEnded({ cause: error, outOfTime }) : error;
    } finally {
      clearInterval(watch);
      signal?.removeEventListener('abort', end);
    }
  }

  #started(): Worker {
    if (this.#running) {
      this.#running.idle.refresh();
      return this.#running.thread;
    }
    const { module, idleMs, resourceLimits } = this.#options;
    const thread = new Worker(module, resourceLimits === undefined ? {} : { resourceLimits });
    const forget = () => this.#forget(thread);
    thread.unref();
    thread.on('error', forget).on('exit', forget);
    const end = () => {
      forget();
      void this.#last.then(() => thread.terminate());
    };
    this.#running = { thread, idle: setTimeout(end, idleMs).unref() };
    return thread;
  }

  #forget(thread: Worker): void {
    if (this.#running?.thread !== thread) return;
    clearTimeout(this.#running.idle);
    this.#running = undefined;
  }
}

/**
 * Calls `exceeded` when a thread has used that much CPU time since its job began. The time to start the thread does not count.
 */
function watchCpuTime(thread: Worker, cpuMs: number, exceeded: () => void): NodeJS.Timeout {
  let atFirst: NodeJS.CpuUsage | undefined;
  const read = (used: NodeJS.CpuUsage) => {
    if (atFirst === undefined) atFirst = used;
    else if (used.user + used.system - atFirst.user - atFirst.system > cpuMs * 1000) exceeded();
  };
  // A thread that has not started yet, or has ended, says so.
  return setInterval(() => void thread.cpuUsage().then(read, () => {}), WATCH_MS);
}

async function ask<Reply>(thread: Worker, message: unknown): Promise<Reply> {
  const settled = new AbortController();
  const gone = once(thread, 'exit', { signal: settled.signal }).then(
    () => Promise.reject(new WorkerEnded()),
    (cause: unknown) => Promise.reject(new WorkerEnded({ cause })),
  );
  const answered = once(thread, 'message', { signal: settled.signal }).catch((cause: unknown) => {
    throw new WorkerEnded({ cause });
  }) as Promise<[Reply]>;
  try {
    // The empty list of transferred objects tells the linter that this is not a window, whose messages need a target origin.
    thread.postMessage(message, []);
    const [answer] = await Promise.race([answered, gone]);
    return answer;
  } finally {
    settled.abort();
    await Promise.allSettled([answered, gone]);
  }
}
