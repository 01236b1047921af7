import type { Database } from '@quartermaster/db/database.ts';
import { openDatabase } from '@quartermaster/db/open-database.ts';
import { verifiedFaults } from '../kill/audit.ts';
import { createAccounts, Load, listProviders } from '../load.ts';
import { killService, type Service, startService } from '../service.ts';
import { until } from '../until.ts';

const WRITERS = 6;

/** Writes that are acknowledged before each backup begins. */
const WRITES_BEFORE = 50;

/** A load of several writers, each of which creates one account after the other, and one reader. */
export function loadOn(service: Service): Load {
  const load = new Load();
  for (let index = 0; index < WRITERS; index += 1) load.add(service.url, createAccounts(`writer-${index}`));
  load.add(service.url, listProviders, 5);
  return load;
}

/** The ids of the accounts whose creation was acknowledged. */
export function acknowledged(load: Load): string[] {
  return load.sent.flatMap(({ name, status }) =>
    name !== 'read' && status === 200 ? [name.replace('write ', '')] : [],
  );
}

/** Waits for some more acknowledged accounts. @returns the ids of all acknowledged accounts */
export async function acknowledgedBefore(load: Load): Promise<string[]> {
  const start = acknowledged(load).length;
  await until(() => acknowledged(load).length >= start + WRITES_BEFORE, 'writes before the backup');
  return acknowledged(load);
}

/**
 * Compares a restored backup that was made under load with what was acknowledged before it began, and starts a service on it.
 *
 * @returns how many accounts it has, and the faults: why it is not a consistent, usable snapshot of the database
 */
export async function checkRestored(
  databaseUrl: string,
  before: readonly string[],
): Promise<{ accounts: number; faults: string[] }> {
  const db = await openDatabase(databaseUrl, '/');
  const faults: string[] = [];
  let accounts = 0;
  try {
    const ids = await idsOf(db);
    accounts = ids.length;
    const restoredIds = new Set(ids);
    const lost = before.filter((id) => !restoredIds.has(id));
    faults.push(...lost.map((id) => `${id} was acknowledged before, and is not there`));
    faults.push(...gaps(ids), ...(await auditFaults(db, ids)));
  } finally {
    await db.destroy();
  }
  const restored = await startService({ databaseUrl });
  try {
    faults.push(...(await servedFaults(restored)));
  } finally {
    await killService(restored);
  }
  return { accounts, faults };
}

async function idsOf(db: Database): Promise<string[]> {
  const rows = await db.selectFrom('service_accounts').select('id').where('tenant_id', '=', 'load').execute();
  return rows.map(({ id }) => id);
}

/** Each writer created one account after the other, so a snapshot has all of its accounts up to some number. */
function gaps(ids: readonly string[]): string[] {
  const numbers = Map.groupBy(ids, (id) => id.replace(/-\d+$/, ''));
  return [...numbers].flatMap(([writer, own]) => {
    const most = Math.max(...own.map((id) => Number(/\d+$/.exec(id)?.[0])));
    return most === own.length - 1 ? [] : [`${writer} got to ${most}, and ${own.length} accounts are there`];
  });
}

/** A write and its audit event were committed together, so no backup may have one without the other. */
async function auditFaults(db: Database, ids: readonly string[]): Promise<string[]> {
  const events = await db
    .selectFrom('audit_events')
    .select('target_id')
    .where('tenant_id', '=', 'load')
    .where('operation', '=', 'create_service_account')
    .where('target_type', '=', 'service_account')
    .execute();
  const audited = new Set(events.map(({ target_id }) => target_id));
  const without = ids.filter((id) => !audited.has(id));
  return without.length === 0 && events.length === ids.length
    ? []
    : [`${ids.length} accounts, ${events.length} audit events of their creation; ${without.length} have none`];
}

/** Checks that the restored audit is intact, and that the service can write. */
async function servedFaults(service: Service): Promise<string[]> {
  const found = await verifiedFaults(service, 'load');
  const load = new Load();
  load.add(service.url, createAccounts('restored'));
  await until(() => load.sent.length > 0, 'an answer of the restored service');
  await load.stop();
  const [first] = load.sent;
  return [
    ...found.map(({ kind }) => `the restored audit is broken: ${kind}`),
    ...(first?.status === 200 ? [] : [`the restored service answered ${first?.status ?? first?.code}`]),
  ];
}
