import { z } from 'zod';
import { LookupIdSchema, TimestampSchema, tenancyFields, tenancyQueryFields, timeFields } from './fields.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';

export const OperatorTaskKindSchema = z.enum([
  'review_observation',
  'sync_inventory',
  'rotate_credential',
  'adopt_provider',
]);
export type OperatorTaskKind = z.infer<typeof OperatorTaskKindSchema>;

export const OperatorTaskSchema = z
  .strictObject({
    id: z.string(),
    ...tenancyFields,
    kind: OperatorTaskKindSchema,
    status: z.enum(['open', 'claimed', 'running', 'succeeded', 'failed', 'cancelled']),
    title: z.string(),
    subject: z
      .strictObject({ type: z.enum(['runtime_observation', 'provider', 'credential']), id: z.string() })
      .describe('What it is about. One open task for each subject and kind.'),
    assignee: z.string().nullable().describe('`user:<id>` or `service_account:<tenant>/<id>`.'),
    priority: z.enum(['low', 'normal', 'high']),
    dueAt: TimestampSchema.nullable(),
    attempts: z.int(),
    lastError: z.string().nullable(),
    completedAt: TimestampSchema.nullable(),
    ...timeFields,
  })
  .meta({ id: 'OperatorTask', description: 'Something that needs a person.' });
export type OperatorTask = z.infer<typeof OperatorTaskSchema>;

const tag = 'Operator tasks';

export const listOperatorTasks = operation({
  method: 'GET',
  path: '/v1/operator/tasks',
  operationId: 'list_operator_tasks',
  scope: 'operator_tasks:read',
  tag,
  summary: 'List operator tasks',
  query: {
    ...tenancyQueryFields,
    status: z.string().max(64).nullish().describe('Only tasks of this status.'),
    kind: z.string().max(64).nullish().describe('Only tasks of this kind.'),
    assignee: z.string().max(300).nullish().describe('Only tasks of this assignee.'),
    ...pageFields,
  },
  output: page('OperatorTaskPage', OperatorTaskSchema),
});

export const getOperatorTask = operation({
  method: 'GET',
  path: '/v1/operator/tasks/{task_id}',
  operationId: 'get_operator_task',
  scope: 'operator_tasks:read',
  tag,
  summary: 'Get an operator task',
  params: { task_id: LookupIdSchema.describe("The task's id.") },
  output: OperatorTaskSchema,
  errors: ['operator_task_not_found'],
});
