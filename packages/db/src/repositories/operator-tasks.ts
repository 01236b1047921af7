import type { OperatorTask } from '@quartermaster/contracts/operator-tasks.ts';
import { type Expression, type Selectable, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { newId } from '../ids.ts';
import { inKeysetRange, type KeysetRange, listRows } from '../listing.ts';
import { type Page, type PageRequest, inScope, placeOf, timesOf, valueRows } from '../queries.ts';
import { multiRowStatement } from '../prepared-statement.ts';
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

/** The current time by this process's clock, and by the database's clock, which leases are compared with. */
type LeaseTimes = { now: Date; leaseNow: Date };

/** A kind of tasks, and the type of their subjects. */
type TasksAbout = { kind: OperatorTask['kind']; subjectType: OperatorTask['subject']['type'] };

/** A literal, not a parameter: a partial index is only used if the statement itself contains its condition. */
export const UNFINISHED = sql<SqlBool>`status in ('open', 'claimed', 'running')`;

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
    .where(inScope(scope))
    .executeTakeFirst();
  return row && toOperatorTask(row, now);
}

/** Newest first. A claimed task whose lease has expired counts as open and unassigned: see {@link toOperatorTask}. */
export async function listOperatorTasks(
  db: Database,
  scope: TenantScope,
  filter: TaskFilter,
  page: PageRequest,
  now: Date,
): Promise<Page<OperatorTask>> {
  const { rows, next } = await listRows(db, scope, page, {
    table: 'operator_tasks',
    hasUnindexedFilter: [filter.status, filter.kind, filter.assignee, filter.subject_id].some((one) => one != null),
    rows: (range) => taskRows(db, filter, range, now).execute(),
  });
  return { items: rows.map((row) => toOperatorTask(row, now)), next };
}

function taskRows(db: Database, filter: TaskFilter, range: KeysetRange, now: Date) {
  let query = db.selectFrom('operator_tasks').selectAll().where(inScope(range.scope));
  if (filter.status === 'open')
    query = query.where((eb) => eb.or([eb('status', '=', sql.lit('open')), isExpiredClaim(now)]));
  else if (filter.status != null) query = query.where('status', '=', filter.status as Row['status']);
  if (filter.status === 'claimed' || filter.assignee != null) query = query.where((eb) => eb.not(isExpiredClaim(now)));
  if (filter.kind != null) query = query.where('kind', '=', filter.kind as Row['kind']);
  if (filter.assignee != null) query = query.where('assignee', '=', filter.assignee);
  if (filter.subject_id != null) query = query.where('subject_id', '=', filter.subject_id);
  return query.$call(inKeysetRange(range));
}

/**
 * Claims a task with a lease, or renews the lease. The task must be open, already claimed by the same assignee, or have an
 * expired lease. Of several concurrent claims one succeeds. Sync tasks cannot be claimed, since they run by themselves.
 *
 * @returns undefined if the task cannot be claimed
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
    .where(inScope(scope))
    .returningAll()
    .executeTakeFirst();
  return row && toOperatorTask(row, leaseNow);
}

/**
 * Ends a task by a user's decision. The task must be open, claimed by this user, or have an expired lease. A running task can be
 * cancelled as well.
 *
 * @returns undefined if the task cannot be ended by this user
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
    .where(inScope(scope))
    .returningAll()
    .executeTakeFirst();
  return row && toOperatorTask(row, leaseNow);
}

/** The newest task of a kind about a subject, finished or not. */
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
    .where(inScope(scope))
    // Ids are in the order of time. For an order by time SQLite would scan all tasks of the tenant.
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && toOperatorTask(row, now);
}

/** Whether a task about a subject is unfinished, and when the last finished one ended. */
export type LastTask = {
  subjectId: string;
  isUnfinished: boolean;
  completedAt: string | null;
  /** Like `completedAt`, but without tasks that were closed as no longer needed before a person claimed them. */
  completedByPersonAt: string | null;
};

/** The state of the tasks of a kind about some subjects of a tenant. Subjects without a task are left out. */
export async function findLastTasks(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  { kind, subjectType, subjectIds }: TasksAbout & { subjectIds: readonly string[] },
): Promise<LastTask[]> {
  const rows = await selectLastTasks(db, toRows(subjectIds), { tenantId, kind, subjectType });
  return rows.map(({ subject_id, unfinished, completed_at, completed_by_person_at }) => ({
    subjectId: subject_id,
    isUnfinished: Number(unfinished) > 0,
    completedAt: completed_at,
    completedByPersonAt: completed_by_person_at,
  }));
}

const selectLastTasks = multiRowStatement((db, rows: readonly SubjectRow[], about: TasksAbout & { tenantId: string }) =>
  db
    .selectFrom('operator_tasks')
    .select((eb) => [
      'subject_id',
      eb.fn.max('completed_at').as('completed_at'),
      sql<string | null>`max(case when assignee is not null then completed_at end)`.as('completed_by_person_at'),
      sql<number>`count(*) - count(completed_at)`.as('unfinished'),
    ])
    .where(isAbout(rows, about))
    .groupBy('subject_id'),
);

/** The subjects of the unfinished tasks of a kind. */
export async function listUnfinishedSubjects(
  db: Database,
  scope: TenantScope,
  kind: OperatorTask['kind'],
): Promise<{ tenantId: string; subjectId: string }[]> {
  const rows = await db
    .selectFrom('operator_tasks')
    .select(['tenant_id', 'subject_id'])
    .where('kind', '=', kind)
    .where(UNFINISHED)
    .where(inScope(scope))
    .execute();
  return rows.map(({ tenant_id: tenantId, subject_id: subjectId }) => ({ tenantId, subjectId }));
}

/** Opens a task, unless there is an unfinished one of its kind about its subject. */
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

/** {@link openOperatorTask} for many tasks of one kind in one tenant, about different subjects of one type. */
export async function openOperatorTasks(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  { kind, subjectType, tasks }: TasksAbout & { tasks: readonly (NewOperatorTask & Pick<TenantPlace, 'subTenantId'>)[] },
  now: Date,
): Promise<void> {
  const subjects = toRows(tasks.map(({ subject }) => subject.id));
  const unfinished = await selectUnfinished(db, subjects, { tenantId, kind, subjectType });
  const covered = new Set(unfinished.map((row) => row.subject_id));
  const missing = tasks.filter(({ subject }) => !covered.has(subject.id));
  const rows = missing.map(({ subTenantId, title, subject, priority, dueAt = null }) => ({
    id: newId('task', now),
    sub_tenant_id: subTenantId ?? '',
    title,
    subjectId: subject.id,
    priority,
    dueAt,
  }));
  await insertTaskRows(db, rows, { tenantId, kind, subjectType, now: now.toISOString() });
}

const selectUnfinished = multiRowStatement(
  (db, rows: readonly SubjectRow[], about: TasksAbout & { tenantId: string }) =>
    db.selectFrom('operator_tasks').select('subject_id').where(isAbout(rows, about)).where(UNFINISHED),
);

type TaskRow = Pick<OperatorTask, 'title' | 'priority' | 'dueAt'> & {
  id: string;
  sub_tenant_id: string;
  subjectId: string;
};

const insertTaskRows = multiRowStatement(
  (
    db,
    rows: readonly TaskRow[],
    { tenantId, kind, subjectType, now }: TasksAbout & { tenantId: string; now: string },
  ) =>
    db.insertInto('operator_tasks').values(
      rows.map(({ id, sub_tenant_id, title, subjectId, priority, dueAt }) => ({
        tenant_id: tenantId,
        sub_tenant_id,
        id,
        kind,
        status: 'open' as const,
        title,
        subject_type: subjectType,
        subject_id: subjectId,
        assignee: null,
        priority,
        due_at: dueAt,
        attempts: 0,
        last_error: null,
        completed_at: null,
        created_at: now,
        updated_at: now,
      })),
    ),
);

/** Ends the unfinished task of a kind about a subject, if there is one. */
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
    .where(inScope(scope))
    .execute();
}

/**
 * Makes the unfinished tasks of a kind about some subjects tasks about others, unless those have an unfinished task themselves.
 *
 * @param moves name each subject once
 */
export async function moveOperatorTasks(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  { kind, subjectType, moves }: TasksAbout & { moves: readonly { from: string; to: string }[] },
  now: Date,
): Promise<void> {
  const subjects = toRows(moves.map(({ to }) => to));
  const taken = new Set(
    (await selectUnfinished(db, subjects, { tenantId, kind, subjectType })).map((row) => row.subject_id),
  );
  const free = moves.filter(({ to }) => !taken.has(to));
  await moveTaskRows(db, free, { tenantId, kind, subjectType, now: now.toISOString() });
}

const moveTaskRows = multiRowStatement(
  (
    db,
    rows: readonly { from: string; to: string }[],
    { tenantId, kind, subjectType, now }: TasksAbout & { tenantId: string; now: string },
  ) => {
    const values = rows.map(({ from, to }) => [from, to]);
    type Moved = { from_id: string; to_id: string };
    return db
      .with('moved(from_id, to_id)', () => valueRows<Moved>(values))
      .updateTable('operator_tasks')
      .from('moved')
      .set(({ ref }) => ({ subject_id: ref('moved.to_id'), updated_at: now }))
      .where('tenant_id', '=', tenantId)
      .where('kind', '=', kind)
      .where('subject_type', '=', subjectType)
      .whereRef('subject_id', '=', 'moved.from_id')
      .where(UNFINISHED);
  },
);

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

const finishTaskRows = multiRowStatement((db, rows: readonly SubjectRow[], about: Ending) =>
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

/** The condition that the lease of a claim has expired. The row keeps its status until the next claim. */
function isExpiredClaim(now: Date): Expression<SqlBool> {
  return sql<SqlBool>`(status = 'claimed' and lease_expires_at <= ${now.toISOString()})`;
}

/** The condition that an assignee may claim or end a task. */
function isFreeFor(assignee: string, now: Date): Expression<SqlBool> {
  return sql<SqlBool>`(status = 'open' or (status = 'claimed' and assignee = ${assignee}) or ${isExpiredClaim(now)})`;
}

/** A task as of a time. A claimed task whose lease has expired is open again, although its row still says `claimed`. */
function toOperatorTask(row: Row, now: Date): OperatorTask {
  const isExpired =
    row.status === 'claimed' && row.lease_expires_at !== null && row.lease_expires_at <= now.toISOString();
  return {
    id: row.id,
    ...placeOf(row),
    kind: row.kind,
    status: isExpired ? 'open' : row.status,
    title: row.title,
    subject: { type: row.subject_type, id: row.subject_id },
    assignee: isExpired ? null : row.assignee,
    priority: row.priority,
    dueAt: row.due_at,
    attempts: row.attempts,
    leaseExpiresAt: isExpired ? null : row.lease_expires_at,
    lastError: row.last_error,
    progress: row.progress === null ? null : (JSON.parse(row.progress) as OperatorTask['progress']),
    outcome: row.outcome,
    note: row.note,
    completedAt: row.completed_at,
    ...timesOf(row),
  };
}
