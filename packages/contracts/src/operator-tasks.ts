import { z } from 'zod';
import { LookupIdSchema, TimestampSchema, tenancyFields, tenancyQueryFields, timeFields } from './fields.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';

export const OperatorTaskKindSchema = z.enum([
  'review_observation',
  'sync_inventory',
  'rotate_credential',
  'adopt_provider',
  'review_cardinality',
]);
export type OperatorTaskKind = z.infer<typeof OperatorTaskKindSchema>;

/** What completing a task decides: each kind has its own. */
export const OUTCOMES = {
  review_observation: ['approved', 'rejected', 'ignored'],
  adopt_provider: ['adopted', 'dismissed'],
  rotate_credential: ['rotated', 'dismissed'],
  review_cardinality: ['pruned', 'acknowledged'],
  /** Nobody completes a sync: it ends by itself. */
  sync_inventory: [],
} as const satisfies Record<OperatorTaskKind, readonly string[]>;

export const TaskOutcomeSchema = z
  .enum(['approved', 'rejected', 'ignored', 'adopted', 'dismissed', 'rotated', 'pruned', 'acknowledged'])
  .meta({ id: 'TaskOutcome' });
export type TaskOutcome = z.infer<typeof TaskOutcomeSchema>;

export const OperatorTaskSchema = z
  .strictObject({
    id: z.string(),
    ...tenancyFields,
    kind: OperatorTaskKindSchema,
    status: z.enum(['open', 'claimed', 'running', 'succeeded', 'failed', 'cancelled']),
    title: z.string(),
    subject: z
      .strictObject({ type: z.enum(['runtime_observation', 'provider', 'credential', 'tenant']), id: z.string() })
      .describe('What it is about. One open task for each subject and kind.'),
    assignee: z.string().nullable().describe('`user:<id>` or `service_account:<tenant>/<id>`.'),
    priority: z.enum(['low', 'normal', 'high']),
    dueAt: TimestampSchema.nullable(),
    leaseExpiresAt: TimestampSchema.nullable().describe(
      'Until when a claim, or a run, holds; then anybody may take it.',
    ),
    attempts: z.int(),
    lastError: z.string().nullable(),
    progress: z
      .strictObject({ phase: z.string(), done: z.int(), total: z.int().nullable() })
      .nullable()
      .describe('How far a running task is.'),
    outcome: TaskOutcomeSchema.nullable().describe('What completing it decided.'),
    note: z.string().max(2000).nullable(),
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
