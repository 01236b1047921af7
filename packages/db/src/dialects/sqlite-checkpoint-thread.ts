import { parentPort, workerData } from 'node:worker_threads';
import SqliteDatabase from 'better-sqlite3';

// The thread of SqliteCheckpoints. `workerData` is the path of the database file. It answers each checkpoint with a message.

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
  try {
    copyPages();
  } catch (error) {
    // A full disk or a lock of another process: the pages stay in the log, and the next checkpoint copies them.
    if (!(error instanceof SqliteDatabase.SqliteError)) throw error;
  }
  port.postMessage(null);
});

/** Only once all of its pages are copied, the next write begins at the start of the log again. */
function copyPages(): void {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const result = checkpoint.get();
    if (result === undefined || result.checkpointed >= result.log) return;
  }
}
