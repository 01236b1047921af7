import type { Database } from '@quartermaster/db/database.ts';
import { truncateWriteAheadLog } from '@quartermaster/db/write-ahead-log.ts';
import { afterTransaction } from '@quartermaster/db/transaction.ts';
import type { Logger } from 'pino';

/** Removes erased personal data from the files of the database as well, by truncating the write-ahead log. */
export type Erasures = {
  /** Personal data was erased in this transaction: truncates the write-ahead log once the transaction has ended. */
  note(trx: Database): void;
  /** Truncates the write-ahead log if an erasure is still in it; with `all`, in any case. */
  truncate(which: 'noted' | 'all'): Promise<void>;
};

export function createErasures({ db, log }: { db: Database; log: Pick<Logger, 'warn'> }): Erasures {
  let pending = false;

  async function truncate(which: 'noted' | 'all'): Promise<void> {
    if (!pending && which === 'noted') return;
    pending = true;
    try {
      // The log cannot be truncated while a reader, such as a backup, needs it. Housekeeping tries again.
      pending = !(await truncateWriteAheadLog(db));
    } catch (error) {
      log.warn({ err: error }, 'erased data is still in the write-ahead log; the service will try again');
    }
  }

  return {
    truncate,
    note(trx) {
      afterTransaction(trx, () => {
        pending = true;
        void truncate('noted');
      });
    },
  };
}
