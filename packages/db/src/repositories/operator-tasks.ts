import type { OperatorTask } from '@quartermaster/contracts/operator-tasks.ts';
import { type Selectable, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { newId } from '../ids.ts';
import {
  newestFirst,
  type Page,
  type PageRequest,
  pageOf,
  placeColumns,
  placeOf,
  timeKey,
  timesOf,
  within,
} from '../queries.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';

type Row = Selectable<Tables['operator_tasks']>;

export type NewOperatorTask = Pick<OperatorTask, 'kind' | 'title' | 'subject' | 'priority'>;

/** Written out, not bound: a partial index serves a query only where the statement itself shows its condition. */
const UNFINISHED = sql<SqlBool>`status in ('open', 'claimed', 'running')`;

export async function findOperatorTask(
  db: Database,
  scope: TenantScope,
  id: string,
): Promise<OperatorTask | undefined> {
  const row = await db
    .selectFrom('operator_tasks')
    .selectAll()
    .where('id', '=', id)
    .where(within(scope))
    .executeTakeFirst();
  return row && toOperatorTask(row);
}

/** Newest first. */
export async function listOperatorTasks(
  db: Database,
  scope: TenantScope,
  filter: {
    status?: string | null | undefined;
    kind?: string | null | undefined;
    assignee?: string | null | undefined;
  },
  page: PageRequest,
): Promise<Page<OperatorTask>> {
  let query = db.selectFrom('operator_tasks').selectAll().where(within(scope));
  if (filter.status != null) query = query.where('status', '=', filter.status as Row['status']);
  if (filter.kind != null) query = query.where('kind', '=', filter.kind as Row['kind']);
  if (filter.assignee != null) query = query.where('assignee', '=', filter.assignee);
  const rows = await query.$call(newestFirst(page)).execute();
  return pageOf(rows, page.limit, toOperatorTask, timeKey);
}

/** Opens a task, unless one of its kind about its subject is unfinished. */
export async function openOperatorTask(
  db: Database,
  place: TenantPlace,
  task: NewOperatorTask,
  now: Date,
): Promise<{ made: boolean }> {
  const unfinished = await db
    .selectFrom('operator_tasks')
    .select('id')
    .where('tenant_id', '=', place.tenantId)
    .where('kind', '=', task.kind)
    .where('subject_type', '=', task.subject.type)
    .where('subject_id', '=', task.subject.id)
    .where(UNFINISHED)
    .executeTakeFirst();
  if (unfinished) return { made: false };
  await db
    .insertInto('operator_tasks')
    .values({
      ...placeColumns(place),
      id: newId('task', now),
      kind: task.kind,
      status: 'open',
      title: task.title,
      subject_type: task.subject.type,
      subject_id: task.subject.id,
      assignee: null,
      priority: task.priority,
      due_at: null,
      attempts: 0,
      last_error: null,
      completed_at: null,
      created_at: now.toISOString(),
      updated_at: now.toISOString(),
    })
    .execute();
  return { made: true };
}

/** Ends the unfinished task of a kind about a subject, where there is one. */
export async function finishOperatorTask(
  db: Database,
  scope: TenantScope,
  task: Pick<OperatorTask, 'kind' | 'subject'>,
  status: 'succeeded' | 'cancelled',
  now: Date,
): Promise<void> {
  await db
    .updateTable('operator_tasks')
    .set({ status, completed_at: now.toISOString(), updated_at: now.toISOString() })
    .where('kind', '=', task.kind)
    .where('subject_type', '=', task.subject.type)
    .where('subject_id', '=', task.subject.id)
    .where(UNFINISHED)
    .where(within(scope))
    .execute();
}

function toOperatorTask(row: Row): OperatorTask {
  return {
    id: row.id,
    ...placeOf(row),
    kind: row.kind,
    status: row.status,
    title: row.title,
    subject: { type: row.subject_type, id: row.subject_id },
    assignee: row.assignee,
    priority: row.priority,
    dueAt: row.due_at,
    attempts: row.attempts,
    leaseExpiresAt: row.lease_expires_at,
    lastError: row.last_error,
    progress: row.progress === null ? null : (JSON.parse(row.progress) as OperatorTask['progress']),
    outcome: row.outcome,
    note: row.note,
    completedAt: row.completed_at,
    ...timesOf(row),
  };
}
