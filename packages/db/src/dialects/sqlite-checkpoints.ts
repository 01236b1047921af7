import { Worker } from 'node:worker_threads';
import type { CheckpointOrder } from './sqlite-checkpoint-thread.ts';
import type { SqliteHandle } from './sqlite-handle.ts';

/**
 * When the write-ahead log has this many pages, the thread copies them into the database file (a checkpoint). This is SQLite's
 * default.
 */
export const CHECKPOINT_PAGES = 1000;

/**
 * When the log has this many pages, the writing connection copies the rest itself, within the commit. Otherwise the log would
 * grow without limit if the thread never catches up.
 */
export const MAX_LOG_PAGES = 10_000;

/** MiB of the thread's heap. It only runs one statement. */
const HEAP_MIB = 16;

const THREAD = new URL('sqlite-checkpoint-thread.ts', import.meta.url);

/**
 * Copies pages from the write-ahead log into the database file, in a thread with a connection of its own. By default SQLite does
 * so within the commit that makes the log long. That blocks the event loop for 10 ms and more: two flushes to the disk, and a
 * thousand pages that are written all over the file.
 */
export class SqliteCheckpoints {
  readonly #path: string;
  /** The thread. It is started when the log is long for the first time. */
  #thread: Worker | undefined;
  /** The checkpoint that the thread works on. */
  #running: PromiseWithResolvers<void> | null = null;
  #hasFailed = false;
  /**
   * How many pages the last checkpoint did not copy, because a reader needs them. Another try after each commit would not help.
   */
  #left = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Starts a checkpoint in the thread if the log is long. Never throws, because the commit has succeeded.
   *
   * @param handle the writing connection, after a commit
   */
  afterCommit(handle: SqliteHandle): void {
    if (this.#running || this.#hasFailed) return;
    const pages = handle.pagesToCheckpoint();
    if (pages === null) return;
    if (pages < this.#left) this.#left = 0;
    if (pages < this.#left + CHECKPOINT_PAGES) return;
    try {
      this.#order(this.#thread ?? this.#start(), 'checkpoint');
      this.#running = Promise.withResolvers();
    } catch {
      // For example, the operating system refuses to start another thread.
      this.#hasFailed = true;
    }
  }

  /** Waits for the running checkpoint of the thread. While it runs, no other connection can make a checkpoint. */
  async idle(): Promise<void> {
    await this.#keepingAlive(this.#running?.promise);
  }

  /**
   * Closes the thread's connection. Call it after the last commit, but before the other connections are closed: SQLite
   * removes the log when the last connection is closed.
   */
  async close(): Promise<void> {
    const thread = this.#thread;
    if (thread === undefined) return;
    const ended = new Promise<void>((resolve) => thread.once('exit', () => resolve()));
    this.#order(thread, 'close');
    await this.#keepingAlive(ended);
  }

  /** Waits for the thread, and keeps the process alive while it waits. */
  async #keepingAlive(waiting: Promise<void> | undefined): Promise<void> {
    const thread = this.#thread;
    thread?.ref();
    await waiting;
    thread?.unref();
  }

  #ended(): void {
    this.#running?.resolve();
    this.#running = null;
  }

  #start(): Worker {
    const thread = new Worker(THREAD, {
      workerData: this.#path,
      // Without the flags of the process, because some are only for its main module.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB, maxYoungGenerationSizeMb: 1 },
    });
    thread.on('message', (left: number) => {
      this.#left = left;
      this.#ended();
    });
    // The thread is not started again after an error, because each commit would try it. From now on the writing connection
    // copies the pages, see MAX_LOG_PAGES.
    thread.on('error', () => {
      this.#hasFailed = true;
    });
    thread.on('exit', () => {
      this.#thread = undefined;
      this.#ended();
    });
    // The thread must not keep a process alive that ends without closing its database. Add listeners for messages before this
    // line, because each would keep the process alive again.
    thread.unref();
    this.#thread = thread;
    return thread;
  }

  #order(thread: Worker, order: CheckpointOrder): void {
    // The empty list of transferred objects tells the linter that this is not a window, whose messages need a target origin.
    thread.postMessage(order, []);
  }
}
