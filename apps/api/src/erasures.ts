import type { Database } from '@quartermaster/db/database.ts';
import { eraseFromLog } from '@quartermaster/db/erase.ts';
import { whenEnded } from '@quartermaster/db/transaction.ts';
import type { Logger } from 'pino';

/** Sees to it that what is erased leaves the files of the database as well, once its transaction has ended. */
export type Erasures = {
  /** Something personal was erased in this transaction. */
  note(trx: Database): void;
  /** Tries again what could not be done yet; with `all`, whatever was deleted or overwritten since. */
  settle(which: 'noted' | 'all'): Promise<void>;
};

export function createErasures({ db, log }: { db: Database; log: Pick<Logger, 'warn'> }): Erasures {
  let pending = false;

  async function settle(which: 'noted' | 'all'): Promise<void> {
    if (!pending && which === 'noted') return;
    pending = true;
    try {
      // While somebody reads what the log holds, such as a backup, it cannot be truncated.
      pending = !(await eraseFromLog(db));
    } catch (error) {
      log.warn({ err: error }, 'what was erased is still in the write-ahead log; it is tried again');
    }
  }

  return {
    settle,
    note(trx) {
      whenEnded(trx, () => {
        pending = true;
        void settle('noted');
      });
    },
  };
}
