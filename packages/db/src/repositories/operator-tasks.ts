import type { OperatorTask } from '@quartermaster/contracts/operator-tasks.ts';
import { type Expression, type Selectable, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { newId } from '../ids.ts';
import { inStretch, listRows, type Stretch } from '../listing.ts';
import { type Page, type PageRequest, placeOf, timesOf, within } from '../queries.ts';
import { rowStatement } from '../row-statement.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';

type Row = Selectable<Tables['operator_tasks']>;

export type NewOperatorTask = Pick<OperatorTask, 'kind' | 'title' | 'subject' | 'priority'> &
  Partial<Pick<OperatorTask, 'dueAt'>>;

type TaskFilter = {
  status?: string | null | undefined;
  kind?: string | null | undefined;
  assignee?: string | null | undefined;
  subject_id?: string | null | undefined;
};

/** When something happens, by this process's clock, and by the database's, which leases are compared with. */
type LeaseTimes = { now: Date; leaseNow: Date };

/** Tasks of one kind, about subjects of one type. */
type TasksAbout = { kind: OperatorTask['kind']; subjectType: OperatorTask['subject']['type'] };

/** Written out, not bound: a partial index serves a query only where the statement itself shows its condition. */
const UNFINISHED = sql<SqlBool>`status in ('open', 'claimed', 'running')`;

export async function findOperatorTask(
  db: Database,
  scope: TenantScope,
  id: string,
  now: Date,
): Promise<OperatorTask | undefined> {
  const row = await db
    .selectFrom('operator_tasks')
    .selectAll()
    .where('id', '=', id)
    .where(within(scope))
    .executeTakeFirst();
  return row && toOperatorTask(row, now);
}

/** Newest first. A claim whose lease is over counts as open, and as nobody's: see {@link toOperatorTask}. */
export async function listOperatorTasks(
  db: Database,
  scope: TenantScope,
  filter: TaskFilter,
  page: PageRequest,
  now: Date,
): Promise<Page<OperatorTask>> {
  const { rows, next } = await listRows(db, scope, page, {
    table: 'operator_tasks',
    isSifted: [filter.status, filter.kind, filter.assignee, filter.subject_id].some((one) => one != null),
    rows: (stretch) => taskRows(db, filter, stretch, now).execute(),
  });
  return { items: rows.map((row) => toOperatorTask(row, now)), next };
}

function taskRows(db: Database, filter: TaskFilter, stretch: Stretch, now: Date) {
  let query = db.selectFrom('operator_tasks').selectAll().where(within(stretch.scope));
  if (filter.status === 'open') query = query.where((eb) => eb.or([eb('status', '=', 'open'), isLapsed(now)]));
  else if (filter.status != null) query = query.where('status', '=', filter.status as Row['status']);
  if (filter.status === 'claimed' || filter.assignee != null) query = query.where((eb) => eb.not(isLapsed(now)));
  if (filter.kind != null) query = query.where('kind', '=', filter.kind as Row['kind']);
  if (filter.assignee != null) query = query.where('assignee', '=', filter.assignee);
  if (filter.subject_id != null) query = query.where('subject_id', '=', filter.subject_id);
  return query.$call(inStretch(stretch));
}

/**
 * Gives a task to somebody for a while, or for a while longer: an open one, their own, or one whose lease is over. Of
 * several who claim at once one gets it. Syncs are nobody's: they run by themselves.
 *
 * @returns undefined where it is not to be had
 */
export async function claimOperatorTask(
  db: Database,
  scope: TenantScope,
  id: string,
  claim: { assignee: string; leaseExpiresAt: string },
  { now, leaseNow }: LeaseTimes,
): Promise<OperatorTask | undefined> {
  const row = await db
    .updateTable('operator_tasks')
    .set({
      status: 'claimed',
      assignee: claim.assignee,
      lease_expires_at: claim.leaseExpiresAt,
      updated_at: now.toISOString(),
    })
    .where('id', '=', id)
    .where('kind', '<>', 'sync_inventory')
    .where(isFreeFor(claim.assignee, leaseNow))
    .where(within(scope))
    .returningAll()
    .executeTakeFirst();
  return row && toOperatorTask(row, leaseNow);
}

/**
 * Ends a task as somebody decided: an open one, their own, or one whose lease is over; to cancel, a running one too.
 *
 * @returns undefined where it is not theirs to end
 */
export async function endOperatorTask(
  db: Database,
  scope: TenantScope,
  id: string,
  ending: Pick<OperatorTask, 'outcome' | 'note'> & { status: 'succeeded' | 'cancelled'; assignee: string },
  { now, leaseNow }: LeaseTimes,
): Promise<OperatorTask | undefined> {
  const { status, assignee, outcome, note } = ending;
  const row = await db
    .updateTable('operator_tasks')
    .set({ status, assignee, outcome, note, ...ended(now) })
    .where('id', '=', id)
    .where((eb) =>
      status === 'cancelled'
        ? eb.or([eb('status', '=', 'running'), isFreeFor(assignee, leaseNow)])
        : isFreeFor(assignee, leaseNow),
    )
    .where(within(scope))
    .returningAll()
    .executeTakeFirst();
  return row && toOperatorTask(row, leaseNow);
}

/** The task of a kind about a subject that was made last, finished or not. */
export async function findLastOperatorTask(
  db: Database,
  scope: TenantScope,
  task: Pick<OperatorTask, 'kind' | 'subject'>,
  now: Date,
): Promise<OperatorTask | undefined> {
  const row = await db
    .selectFrom('operator_tasks')
    .selectAll()
    .where('kind', '=', task.kind)
    .where('subject_type', '=', task.subject.type)
    .where('subject_id', '=', task.subject.id)
    .where(within(scope))
    // Ids are in the order of time; with another order first SQLite walks all tasks of the tenant.
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && toOperatorTask(row, now);
}

/** What is left of the tasks about a subject: whether one is unfinished, else when the last one ended. */
export type LastTask = { subjectId: string; isUnfinished: boolean; completedAt: string | null };

/** How it stands with the tasks of a kind about some subjects of a tenant; of a subject without a task nothing is said. */
export async function findLastTasks(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  { kind, subjectType, subjectIds }: TasksAbout & { subjectIds: readonly string[] },
): Promise<LastTask[]> {
  const rows = await selectLastTasks(db, toRows(subjectIds), { tenantId, kind, subjectType });
  return rows.map(({ subject_id, unfinished, completed_at }) => ({
    ...{ subjectId: subject_id, isUnfinished: Number(unfinished) > 0, completedAt: completed_at },
  }));
}

const selectLastTasks = rowStatement((db, rows: readonly SubjectRow[], about: TasksAbout & { tenantId: string }) =>
  db
    .selectFrom('operator_tasks')
    .select((eb) => [
      'subject_id',
      eb.fn.max('completed_at').as('completed_at'),
      sql<number>`count(*) - count(completed_at)`.as('unfinished'),
    ])
    .where(isAbout(rows, about))
    .groupBy('subject_id'),
);

/** Opens a task, unless one of its kind about its subject is unfinished. */
export async function openOperatorTask(
  db: Database,
  place: TenantPlace,
  task: NewOperatorTask,
  now: Date,
): Promise<void> {
  const { kind, subject } = task;
  const about = { kind, subjectType: subject.type, tasks: [{ ...task, subTenantId: place.subTenantId }] };
  await openOperatorTasks(db, place, about, now);
}

/** The same for many tasks of one kind, about different subjects of one type, in places of one tenant. */
export async function openOperatorTasks(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  { kind, subjectType, tasks }: TasksAbout & { tasks: readonly (NewOperatorTask & Pick<TenantPlace, 'subTenantId'>)[] },
  now: Date,
): Promise<void> {
  const subjects = toRows(tasks.map(({ subject }) => subject.id));
  const unfinished = await selectUnfinished(db, subjects, { tenantId, kind, subjectType });
  const asked = new Set(unfinished.map((row) => row.subject_id));
  const missing = tasks.filter(({ subject }) => !asked.has(subject.id));
  const rows = missing.map(({ subTenantId, title, subject, priority, dueAt = null }) => ({
    ...{ id: newId('task', now), sub_tenant_id: subTenantId ?? '', title, subjectId: subject.id, priority, dueAt },
  }));
  await insertTaskRows(db, rows, { tenantId, kind, subjectType, now: now.toISOString() });
}

const selectUnfinished = rowStatement((db, rows: readonly SubjectRow[], about: TasksAbout & { tenantId: string }) =>
  db.selectFrom('operator_tasks').select('subject_id').where(isAbout(rows, about)).where(UNFINISHED),
);

type TaskRow = Pick<OperatorTask, 'title' | 'priority' | 'dueAt'> & {
  id: string;
  sub_tenant_id: string;
  subjectId: string;
};

const insertTaskRows = rowStatement(
  (
    db,
    rows: readonly TaskRow[],
    { tenantId, kind, subjectType, now }: TasksAbout & { tenantId: string; now: string },
  ) =>
    db.insertInto('operator_tasks').values(
      rows.map(({ id, sub_tenant_id, title, subjectId, priority, dueAt }) => ({
        ...{ tenant_id: tenantId, sub_tenant_id, id, kind, status: 'open' as const, title },
        ...{ subject_type: subjectType, subject_id: subjectId, assignee: null, priority, due_at: dueAt },
        ...{ attempts: 0, last_error: null, completed_at: null, created_at: now, updated_at: now },
      })),
    ),
);

/** Ends the unfinished task of a kind about a subject, where there is one. */
export async function finishOperatorTask(
  db: Database,
  scope: TenantScope,
  task: Pick<OperatorTask, 'kind' | 'subject'> & Partial<Pick<OperatorTask, 'outcome' | 'note' | 'assignee'>>,
  status: 'succeeded' | 'cancelled',
  now: Date,
): Promise<void> {
  const { outcome, note, assignee } = task;
  await db
    .updateTable('operator_tasks')
    .set({
      status,
      ...(outcome !== undefined && { outcome }),
      ...(note !== undefined && { note }),
      ...(assignee !== undefined && { assignee }),
      ...ended(now),
    })
    .where('kind', '=', task.kind)
    .where('subject_type', '=', task.subject.type)
    .where('subject_id', '=', task.subject.id)
    .where(UNFINISHED)
    .where(within(scope))
    .execute();
}

/** Ends the unfinished tasks of a kind about some subjects of one type in a tenant. */
export async function finishOperatorTasks(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  { kind, subjectType, subjectIds }: TasksAbout & { subjectIds: readonly string[] },
  status: 'succeeded' | 'cancelled',
  now: Date,
): Promise<void> {
  await finishTaskRows(db, toRows(subjectIds), { tenantId, kind, subjectType, status, now: now.toISOString() });
}

type Ending = TasksAbout & { tenantId: string; status: 'succeeded' | 'cancelled'; now: string };

const finishTaskRows = rowStatement((db, rows: readonly SubjectRow[], about: Ending) =>
  db
    .updateTable('operator_tasks')
    .set({ status: about.status, lease_expires_at: null, completed_at: about.now, updated_at: about.now })
    .where(isAbout(rows, about))
    .where(UNFINISHED),
);

type SubjectRow = { subjectId: string };

function isAbout(
  rows: readonly SubjectRow[],
  { tenantId, kind, subjectType }: TasksAbout & { tenantId: string },
): Expression<SqlBool> {
  const ids = sql.join(rows.map(({ subjectId }) => subjectId));
  return sql<SqlBool>`tenant_id = ${tenantId} and kind = ${kind} and subject_type = ${subjectType} and subject_id in (${ids})`;
}

function toRows(subjectIds: readonly string[]): SubjectRow[] {
  return subjectIds.map((subjectId) => ({ subjectId }));
}

function ended(now: Date) {
  return { lease_expires_at: null, completed_at: now.toISOString(), updated_at: now.toISOString() };
}

/** Whether a claim is over: its row says so only once somebody else claims. */
function isLapsed(now: Date): Expression<SqlBool> {
  return sql<SqlBool>`(status = 'claimed' and lease_expires_at <= ${now.toISOString()})`;
}

function isFreeFor(assignee: string, now: Date): Expression<SqlBool> {
  return sql<SqlBool>`(status = 'open' or (status = 'claimed' and assignee = ${assignee}) or ${isLapsed(now)})`;
}

/** As it is at this time: a claim whose lease is over is open again, whatever its row says. */
function toOperatorTask(row: Row, now: Date): OperatorTask {
  const lapsed = row.status === 'claimed' && row.lease_expires_at !== null && row.lease_expires_at <= now.toISOString();
  return {
    id: row.id,
    ...placeOf(row),
    kind: row.kind,
    status: lapsed ? 'open' : row.status,
    title: row.title,
    subject: { type: row.subject_type, id: row.subject_id },
    assignee: lapsed ? null : row.assignee,
    priority: row.priority,
    dueAt: row.due_at,
    attempts: row.attempts,
    leaseExpiresAt: lapsed ? null : row.lease_expires_at,
    lastError: row.last_error,
    progress: row.progress === null ? null : (JSON.parse(row.progress) as OperatorTask['progress']),
    outcome: row.outcome,
    note: row.note,
    completedAt: row.completed_at,
    ...timesOf(row),
  };
}
