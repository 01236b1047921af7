import { type Database, openDatabase } from '@quartermaster/db/database.ts';
import { verifiedFaults } from '../kill/audit.ts';
import { createAccounts, Load, listProviders } from '../load.ts';
import { killService, type Service, startService } from '../service.ts';
import { until } from '../until.ts';

const WRITERS = 6;

/** So many writes more are acknowledged before each backup begins. */
const WRITES_BEFORE = 50;

/** Writers, each of which makes one account after the other, and a reader. */
export function loadOn(service: Service): Load {
  const load = new Load();
  for (let index = 0; index < WRITERS; index += 1) load.add(service.url, createAccounts(`writer-${index}`));
  load.add(service.url, listProviders, 5);
  return load;
}

/** The ids of the accounts whose making was acknowledged. */
export function acknowledged(load: Load): string[] {
  return load.sent.flatMap(({ name, status }) =>
    name !== 'read' && status === 200 ? [name.replace('write ', '')] : [],
  );
}

/** Waits for some more of them. @returns all of them so far */
export async function acknowledgedBefore(load: Load): Promise<string[]> {
  const start = acknowledged(load).length;
  await until(() => acknowledged(load).length >= start + WRITES_BEFORE, 'writes before the backup');
  return acknowledged(load);
}

/**
 * Holds a restored backup that was made under load against what was acknowledged before it began, and starts a service on it.
 *
 * @returns how many accounts it has, and what speaks against it being one moment of the database that can be gone on with
 */
export async function heldAgainst(
  databaseUrl: string,
  before: readonly string[],
): Promise<{ accounts: number; faults: string[] }> {
  const db = await openDatabase(databaseUrl, '/');
  const faults: string[] = [];
  let accounts = 0;
  try {
    const ids = await idsOf(db);
    accounts = ids.length;
    const there = new Set(ids);
    const lost = before.filter((id) => !there.has(id));
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

/** Each writer made one account after the other: a moment of the database has them up to one, and none behind. */
function gaps(ids: readonly string[]): string[] {
  const numbers = Map.groupBy(ids, (id) => id.replace(/-\d+$/, ''));
  return [...numbers].flatMap(([writer, own]) => {
    const most = Math.max(...own.map((id) => Number(/\d+$/.exec(id)?.[0])));
    return most === own.length - 1 ? [] : [`${writer} got to ${most}, and ${own.length} accounts are there`];
  });
}

/** A write and its audit event were made at one moment: no backup has one without the other. */
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
    : [`${ids.length} accounts, ${events.length} audit events of their making; ${without.length} have none`];
}

/** The audit is whole where it is restored, and the service writes on. */
async function servedFaults(service: Service): Promise<string[]> {
  const found = await verifiedFaults(service, 'load');
  const load = new Load();
  load.add(service.url, createAccounts('restored'));
  await until(() => load.sent.length > 0, 'an answer of the service that was restored');
  await load.stop();
  const [first] = load.sent;
  return [
    ...found.map(({ kind }) => `the audit that was restored is broken: ${kind}`),
    ...(first?.status === 200 ? [] : [`the service that was restored answered ${first?.status ?? first?.code}`]),
  ];
}
