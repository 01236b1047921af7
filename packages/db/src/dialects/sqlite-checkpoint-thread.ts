import { parentPort, workerData } from 'node:worker_threads';
import SqliteDatabase from 'better-sqlite3';

// The worker thread of SqliteCheckpoints. `workerData` is the path of the database file. The thread answers each order for a
// checkpoint with the number of pages that are left.

export type CheckpointOrder = 'checkpoint' | 'close';

/** How often a checkpoint is repeated because pages were added to the log meanwhile. */
const ATTEMPTS = 4;

type Result = { log: number; checkpointed: number };

const db = new SqliteDatabase(workerData as string, { fileMustExist: true });
const checkpoint = db.prepare<[], Result>('pragma wal_checkpoint(passive)');

const port = parentPort;
port?.on('message', (order: CheckpointOrder) => {
  if (order === 'close') {
    db.close();
    port.close();
    return;
  }
  port.postMessage(copyPages());
});

/**
 * Copies pages until none is left. Only then does the next write reuse the log from its start.
 *
 * @returns how many pages could not be copied because a reader, such as a backup, still needs them
 */
function copyPages(): number {
  let left = Number.POSITIVE_INFINITY;
  try {
    for (let attempt = 0; attempt < ATTEMPTS && left > 0; attempt += 1) {
      const { log, checkpointed } = checkpoint.get() ?? { log: 0, checkpointed: 0 };
      if (log - checkpointed >= left) break;
      left = log - checkpointed;
    }
  } catch (error) {
    // The disk is full, or another process holds a lock. The next commit starts another attempt.
    if (!(error instanceof SqliteDatabase.SqliteError)) throw error;
    return 0;
  }
  return left;
}
