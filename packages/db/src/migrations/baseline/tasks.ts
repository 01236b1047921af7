import { addListIndexes, addPlace, addTimes, indexesOn, required, type Schema } from './schema.ts';

const UNFINISHED = `status in ('open', 'claimed', 'running')`;

/** What people have to decide or do. */
export async function createTaskTables(db: Schema): Promise<void> {
  await db.schema
    .createTable('operator_tasks')
    .$call(addPlace)
    .addColumn('id', 'text', required)
    .addColumn('kind', 'text', required)
    .addColumn('status', 'text', required)
    .addColumn('title', 'text', required)
    .addColumn('subject_type', 'text', required)
    .addColumn('subject_id', 'text', required)
    .addColumn('assignee', 'text')
    .addColumn('priority', 'text', required)
    .addColumn('due_at', 'text')
    .addColumn('attempts', 'integer', required)
    .addColumn('last_error', 'text')
    .addColumn('completed_at', 'text')
    .$call(addTimes)
    .addColumn('lease_expires_at', 'text')
    .addColumn('progress', 'text')
    .addColumn('outcome', 'text')
    .addColumn('note', 'text')
    .addPrimaryKeyConstraint('operator_tasks_key', ['tenant_id', 'id'])
    .execute();
  await addListIndexes(db, 'operator_tasks');
  const index = indexesOn(db, 'operator_tasks');
  // A subject has at most one unfinished task of a kind.
  await index('operator_tasks_unfinished', ['tenant_id', 'kind', 'subject_type', 'subject_id'], {
    unique: true,
    where: UNFINISHED,
  });
  // All tasks about a subject, finished ones included.
  await index('operator_tasks_by_subject', ['tenant_id', 'kind', 'subject_type', 'subject_id', 'id']);
  // Finds the pending rotations of credentials in all tenants.
  await index('operator_tasks_rotations', ['kind', 'tenant_id', 'subject_id'], {
    where: `kind = 'rotate_credential' and subject_type = 'credential' and ${UNFINISHED}`,
  });
  // Finds the tasks whose retention time is over.
  await index('operator_tasks_completed', ['tenant_id', 'completed_at'], { where: 'completed_at is not null' });
}
