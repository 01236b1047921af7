import { z } from 'zod';
import {
  LookupIdSchema,
  NoteInputSchema,
  TimestampSchema,
  tenancyFields,
  tenancyQueryFields,
  timeFields,
} from './fields.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';

export const OperatorTaskKindSchema = z
  .enum([
    'review_observation',
    'sync_inventory',
    'rotate_credential',
    'adopt_provider',
    'review_cardinality',
    'review_telemetry',
  ])
  .meta({ id: 'OperatorTaskKind' });
export type OperatorTaskKind = z.infer<typeof OperatorTaskKindSchema>;

/** What completing a task decides: each kind has its own. */
export const OUTCOMES = {
  review_observation: ['approved', 'rejected', 'ignored'],
  adopt_provider: ['adopted', 'dismissed'],
  rotate_credential: ['rotated', 'dismissed'],
  review_cardinality: ['pruned', 'acknowledged'],
  review_telemetry: ['acknowledged'],
  /** Nobody completes a sync: it ends by itself. */
  sync_inventory: [],
} as const satisfies Record<OperatorTaskKind, readonly string[]>;

export const TaskOutcomeSchema = z
  .enum(['approved', 'rejected', 'ignored', 'adopted', 'dismissed', 'rotated', 'pruned', 'acknowledged'])
  .meta({ id: 'TaskOutcome' });
export type TaskOutcome = z.infer<typeof TaskOutcomeSchema>;

export const OperatorTaskStatusSchema = z
  .enum(['open', 'claimed', 'running', 'succeeded', 'failed', 'cancelled'])
  .meta({
    id: 'OperatorTaskStatus',
    description: '`claimed`: somebody works on it until the lease ends; then it is open again.',
  });

const TaskSubjectSchema = z
  .strictObject({
    type: z.enum(['runtime_observation', 'provider', 'credential', 'tenant', 'service_account']),
    id: z.string(),
  })
  .meta({ id: 'TaskSubject', description: 'The record that a task is about. Each has one open task of each kind.' });

const TaskProgressSchema = z
  .strictObject({ phase: z.string(), done: z.int(), total: z.int().nullable() })
  .meta({ id: 'TaskProgress', description: 'How far a running task is.' });

export const OperatorTaskSchema = z
  .strictObject({
    id: z.string(),
    ...tenancyFields,
    kind: OperatorTaskKindSchema,
    status: OperatorTaskStatusSchema,
    title: z.string(),
    subject: TaskSubjectSchema,
    assignee: z
      .string()
      .nullable()
      .describe(
        'Who has it, or ended it: `user:<id>` or `service_account:<tenant>/<id>`. Of a task that ended because its subject needed it no more, who had it.',
      ),
    priority: z.enum(['low', 'normal', 'high']),
    dueAt: TimestampSchema.nullable(),
    leaseExpiresAt: TimestampSchema.nullable().describe(
      'Until when a claim, or a run, holds; then anybody may take it.',
    ),
    attempts: z.int(),
    lastError: z.string().nullable(),
    progress: TaskProgressSchema.nullable().describe('How far a running task is.'),
    outcome: TaskOutcomeSchema.nullable().describe(
      'What completing it decided. Null where it ended otherwise: it was cancelled, or its subject needed it no more.',
    ),
    note: z.string().max(2000).nullable(),
    completedAt: TimestampSchema.nullable(),
    ...timeFields,
  })
  .meta({ id: 'OperatorTask', description: 'Something that needs a person.' });
export type OperatorTask = z.infer<typeof OperatorTaskSchema>;

const NoteSchema = NoteInputSchema.nullish().describe('Why, for those who read it later.');

export const ClaimOperatorTaskInputSchema = z
  .strictObject({
    leaseSeconds: z
      .int()
      .min(60)
      .max(86_400)
      .nullish()
      .describe('For how long, 60 to 86,400 seconds from now; 900, where left out.'),
  })
  .meta({ id: 'ClaimOperatorTaskInput' });
export type ClaimOperatorTaskInput = z.infer<typeof ClaimOperatorTaskInputSchema>;

export const CompleteOperatorTaskInputSchema = z
  .strictObject({
    outcome: TaskOutcomeSchema.describe(
      'Of review_observation: approved, rejected or ignored. Of adopt_provider: adopted or dismissed. Of rotate_credential: rotated or dismissed. Of review_cardinality: pruned or acknowledged. Of review_telemetry: acknowledged.',
    ),
    note: NoteSchema,
  })
  .meta({ id: 'CompleteOperatorTaskInput' });
export type CompleteOperatorTaskInput = z.infer<typeof CompleteOperatorTaskInputSchema>;

export const CancelOperatorTaskInputSchema = z
  .strictObject({ note: NoteSchema })
  .meta({ id: 'CancelOperatorTaskInput' });
export type CancelOperatorTaskInput = z.infer<typeof CancelOperatorTaskInputSchema>;

const taskRecord = { untagged: ['leaseExpiresAt', 'attempts', 'lastError', 'progress'] };

const tag = 'Operator tasks';
const params = { task_id: LookupIdSchema.describe("The task's id.") };

export const listOperatorTasks = operation({
  method: 'GET',
  path: '/v1/operator/tasks',
  operationId: 'list_operator_tasks',
  ignoresUnknownQuery: true,
  scope: 'operator_tasks:read',
  tag,
  summary: 'List operator tasks',
  description:
    'Lists the tasks for people, newest first, open and ended ones. Use `status=open` for those that nobody works on yet.',
  query: {
    ...tenancyQueryFields,
    status: OperatorTaskStatusSchema.nullish().describe(
      'Only tasks with this status. A claimed task whose lease has ended counts as open.',
    ),
    kind: OperatorTaskKindSchema.nullish().describe('Only tasks of this kind.'),
    assignee: z.string().max(300).nullish().describe('Only tasks of this assignee.'),
    subject_id: z.string().max(128).nullish().describe('Only tasks about the subject with this id.'),
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
  description: 'Answers one task, open or ended. Use it to see who works on it, until when, and how it ended.',
  params,
  record: taskRecord,
  output: OperatorTaskSchema,
  errors: ['operator_task_not_found'],
});

export const claimOperatorTask = operation({
  method: 'POST',
  path: '/v1/operator/tasks/{task_id}/claim',
  operationId: 'claim_operator_task',
  scope: 'operator_tasks:write',
  tag,
  summary: 'Claim an operator task',
  description:
    'Takes an open task for a while; of several who claim at once one gets it. Claiming an own task again renews its lease. Syncs run by themselves, and cannot be claimed.',
  params,
  body: ClaimOperatorTaskInputSchema,
  bodyOptional: true,
  record: taskRecord,
  ifMatch: taskRecord,
  output: OperatorTaskSchema,
  errors: ['operator_task_not_found', 'operator_task_claimed', 'operator_task_not_open'],
});

export const completeOperatorTask = operation({
  method: 'POST',
  path: '/v1/operator/tasks/{task_id}/complete',
  operationId: 'complete_operator_task',
  scope: 'operator_tasks:write',
  tag,
  summary: 'Complete an operator task',
  description:
    'Decides an open or own task, and does what was decided, in one transaction. That needs its own scope: review_observation reviews the observation, and review_cardinality removes what nobody reviewed or lets it be (`runtime_observations:review`); review_telemetry takes note that nothing is understood of what an account sends (`runtime_observations:review`); adopt_provider applies or dismisses the recommendation (`recommendations:apply`); rotate_credential checks that the credential was replaced, was revoked, or lasts for another 14 days (`credentials:write`), else it is `operator_task_not_done`. A sync ends by itself.',
  params,
  body: CompleteOperatorTaskInputSchema,
  record: taskRecord,
  ifMatch: taskRecord,
  output: OperatorTaskSchema,
  errors: ['operator_task_not_found', 'operator_task_claimed', 'operator_task_not_open', 'operator_task_not_done'],
});

export const cancelOperatorTask = operation({
  method: 'POST',
  path: '/v1/operator/tasks/{task_id}/cancel',
  operationId: 'cancel_operator_task',
  scope: 'operator_tasks:write',
  tag,
  summary: 'Cancel an operator task',
  description:
    'Ends an open or own task, or a running sync, without deciding anything: its subject stays as it is, and may lead to another task.',
  params,
  body: CancelOperatorTaskInputSchema,
  bodyOptional: true,
  record: taskRecord,
  ifMatch: taskRecord,
  output: OperatorTaskSchema,
  errors: ['operator_task_not_found', 'operator_task_claimed', 'operator_task_not_open'],
});
