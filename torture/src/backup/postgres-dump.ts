import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openDatabase } from '@quartermaster/db/open-database.ts';
import { TABLE_NAMES } from '@quartermaster/db/stored-tables.ts';
import { readTableChecksum } from '@quartermaster/db/table-checksum.ts';
import { createDatabase } from '@quartermaster/db/testing/postgres-server.ts';
import { type Finding, finding, notRun, type Options } from '../part.ts';
import { killService, startService, stopService } from '../service.ts';
import { temporaryFolder } from '../stores.ts';
import { acknowledged, acknowledgedBefore, checkRestored, loadOn } from './moment.ts';
import { startSystemPostgres, type SystemPostgres } from './system-postgres.ts';

const DUMPS = { long: 10, short: 1 };

const PROMISE = 'pg_dump under load is one moment of the database, and a service starts on what pg_restore makes of it';

/** Dumps as docs/operations.md describes, made while a service writes, each restored; and one at rest, compared completely. */
export async function dumps({ short, loops }: Options): Promise<Finding> {
  const postgres = await startSystemPostgres();
  if (postgres === null) return notRun(PROMISE, 'not run: no PostgreSQL is installed with pg_dump');
  const folder = await temporaryFolder();
  const count = loops ?? (short ? DUMPS.short : DUMPS.long);
  const total = { dumps: count, acknowledgedBefore: 0, writesMeanwhile: 0, rows: 0 };
  const faults: string[] = [];
  try {
    await createDatabase(postgres.urlOf('postgres'), 'live');
    const service = await startService({ databaseUrl: postgres.urlOf('live') });
    const load = loadOn(service);
    try {
      for (let number = 1; number <= count; number += 1) {
        const before = await acknowledgedBefore(load);
        const database = `restored_${number}`;
        const meanwhile = await copied(postgres, folder, database, () => acknowledged(load).length);
        if (meanwhile === 0) faults.push('there were no writes during the dump');
        faults.push(...(await checkRestored(postgres.urlOf(database), before)).faults);
        total.acknowledgedBefore += before.length;
        total.writesMeanwhile += meanwhile;
      }
      await load.stop();
      const code = await stopService(service);
      if (code !== 0) faults.push(`the service ended with ${code}`);
    } finally {
      await load.stop();
      await killService(service);
    }
    await copied(postgres, folder, 'at_rest', () => 0);
    const compared = await comparedTables(postgres.urlOf('live'), postgres.urlOf('at_rest'));
    total.rows = compared.rows;
    faults.push(...compared.faults);
  } finally {
    await postgres.stop();
    await rm(folder, { recursive: true });
  }
  return finding({
    promise: PROMISE,
    measured: `PostgreSQL ${postgres.version}: ${count} dumps; ${total.acknowledgedBefore} writes acknowledged before they began, all there; ${total.writesMeanwhile} acknowledged while they were made; at rest ${total.rows} rows in ${TABLE_NAMES.length} tables with the same checksums`,
    figures: total,
    faults,
  });
}

/** Dumps the live database and restores it as another one. @returns by how much `counted` grew during the dump */
async function copied(
  postgres: SystemPostgres,
  folder: string,
  database: string,
  counted: () => number,
): Promise<number> {
  const file = join(folder, `${database}.dump`);
  const start = counted();
  await postgres.run('pg_dump', ['--format=custom', `--file=${file}`, postgres.urlOf('live')]);
  const meanwhile = counted() - start;
  await createDatabase(postgres.urlOf('postgres'), database);
  await postgres.run('pg_restore', ['--no-owner', '--exit-on-error', `--dbname=${postgres.urlOf(database)}`, file]);
  return meanwhile;
}

async function comparedTables(one: string, other: string): Promise<{ rows: number; faults: string[] }> {
  const [live, restored] = [await openDatabase(one, '/'), await openDatabase(other, '/')];
  const faults: string[] = [];
  let all = 0;
  try {
    for (const table of TABLE_NAMES) {
      const [here, there] = [await readTableChecksum(live, table), await readTableChecksum(restored, table)];
      if (here.checksum !== there.checksum) faults.push(`${table}: ${here.rows} rows, and ${there.rows} others`);
      all += here.rows;
    }
    return { rows: all, faults };
  } finally {
    await live.destroy();
    await restored.destroy();
  }
}
