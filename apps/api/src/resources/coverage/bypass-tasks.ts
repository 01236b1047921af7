import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Database } from '@quartermaster/db/database.ts';
import { listAskingAccounts, listGovernedProviders } from '@quartermaster/db/repositories/decision-counts.ts';
import {
  findLastTasks,
  finishOperatorTasks,
  listUnfinishedSubjects,
  openOperatorTasks,
} from '@quartermaster/db/repositories/operator-tasks.ts';
import { findProviders } from '@quartermaster/db/repositories/providers.ts';
import { findMissingPlace } from '@quartermaster/db/repositories/tenants.ts';
import { listCallers } from '@quartermaster/db/repositories/usage-rollups.ts';
import { EVERYWHERE, type TenantPlace, wholeTenant } from '@quartermaster/db/tenancy.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { nameOfSender } from '../../governance/observations/cardinality-task.ts';
import type { Services } from '../../platform/services.ts';
import { DAY_MS, hourOf } from '../../telemetry/periods.ts';

/** How far back calls and decisions are compared: as far as `list_coverage` does unless it is asked otherwise. */
const COMPARED_DAYS = 7;

/** The most unfinished tasks of a tenant. A new gateway is bypassed by every account that does not know it yet. */
const MAX_TASKS = 100;

const BYPASSES = { kind: 'investigate_bypass', subjectType: 'coverage' } as const;

/** An account that calls a provider past the gateways that list it. */
type Bypass = TenantPlace & { account: string; providerId: string };

/**
 * Opens a task for each account and provider whose coverage is `bypassed`. Closes the tasks of those that ask now, that call no longer,
 * or whose provider no active gateway lists any more. What a person ended is not asked about again.
 *
 * @returns how many tasks were opened
 */
export async function updateBypassTasks({ db, now }: Pick<Services, 'db' | 'now'>): Promise<number> {
  const time = now();
  const from = hourOf(time.getTime() - COMPARED_DAYS * DAY_MS);
  const governed = Map.groupBy(await listGovernedProviders(db, EVERYWHERE), ({ tenantId }) => tenantId);
  const unfinished = Map.groupBy(
    await listUnfinishedSubjects(db, EVERYWHERE, BYPASSES.kind),
    ({ tenantId }) => tenantId,
  );
  let opened = 0;
  for (const tenantId of new Set([...governed.keys(), ...unfinished.keys()])) {
    const providerIds = (governed.get(tenantId) ?? []).map(({ providerId }) => providerId);
    const bypasses = await findBypasses(db, tenantId, { providerIds, from });
    const open = (unfinished.get(tenantId) ?? []).map(({ subjectId }) => subjectId);
    opened += await updateTasks(db, tenantId, { bypasses, open }, time);
    await yieldToEventLoop();
  }
  return opened;
}

async function findBypasses(
  db: Database,
  tenantId: string,
  { providerIds, from }: { providerIds: readonly string[]; from: string },
): Promise<Bypass[]> {
  if (providerIds.length === 0) return [];
  const asking = new Set((await listAskingAccounts(db, { tenantId }, from)).map(subjectIdOf));
  const bypasses: Bypass[] = [];
  for (const providerId of providerIds) {
    const callers = await listCallers(db, { tenantId }, { providerId, from });
    bypasses.push(...callers.map((caller) => ({ ...caller, providerId })));
    await yieldToEventLoop();
  }
  return bypasses.filter((bypass) => !asking.has(subjectIdOf(bypass)));
}

async function updateTasks(
  db: Database,
  tenantId: string,
  { bypasses, open }: { bypasses: readonly Bypass[]; open: readonly string[] },
  now: Date,
): Promise<number> {
  // A user may call from several sub-tenants.
  const bypassOf = new Map(bypasses.map((bypass) => [subjectIdOf(bypass), bypass]));
  const ended = open.filter((subjectId) => !bypassOf.has(subjectId));
  const subjectIds = [...bypassOf.keys()];
  const known = new Set((await findLastTasks(db, { tenantId }, { ...BYPASSES, subjectIds })).flatMap(notAgain));
  const room = Math.max(0, MAX_TASKS - (open.length - ended.length));
  const due = [...bypassOf].filter(([subjectId]) => !known.has(subjectId)).slice(0, room);
  if (ended.length + due.length === 0) return 0;
  return inTransaction(db, async (trx) => {
    if ((await findMissingPlace(trx, { tenantId, subTenantId: null })) === 'tenant') return 0;
    await finishOperatorTasks(trx, { tenantId }, { ...BYPASSES, subjectIds: ended }, 'cancelled', now);
    const providerIds = [...new Set(due.map(([, { providerId }]) => providerId))];
    const providers = await findProviders(trx, wholeTenant(tenantId), providerIds);
    const names = new Map(providers.map(({ id, name, displayName }) => [id, displayName ?? name]));
    const tasks = [];
    for (const [id, { account, providerId, subTenantId }] of due) {
      const sender = await nameOfSender(trx, account, now);
      const title = `${sender} calls ${names.get(providerId) ?? providerId} past its gateway: nobody asked about its calls for ${COMPARED_DAYS} days`;
      const subject = { type: BYPASSES.subjectType, id };
      tasks.push({ kind: BYPASSES.kind, subject, subTenantId, title, priority: 'high' as const });
    }
    await openOperatorTasks(trx, { tenantId }, { ...BYPASSES, tasks }, now);
    return tasks.length;
  });
}

/** The subjects that no task is opened about: one waits, or a person ended one. */
function notAgain({
  subjectId,
  isUnfinished,
  completedByPersonAt,
}: Awaited<ReturnType<typeof findLastTasks>>[number]): string[] {
  return isUnfinished || completedByPersonAt !== null ? [subjectId] : [];
}

/** Without the tenant of a service account, which is that of the task. */
function subjectIdOf({ providerId, account }: Pick<Bypass, 'providerId' | 'account'>): string {
  return `${providerId} ${account.replace(/^service_account:[^/]*\//, 'service_account:')}`;
}
