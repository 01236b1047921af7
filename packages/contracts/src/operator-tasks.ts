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
    'investigate_blocked_use',
    'sync_inventory',
    'rotate_credential',
    'adopt_provider',
    'review_cardinality',
    'review_telemetry',
    'review_mcp_server',
    'investigate_bypass',
  ])
  .meta({
    id: 'OperatorTaskKind',
    description:
      '`review_observation`: decide about an observation. `investigate_blocked_use`: agents used what an observation is about after it was blocked, or after its provider was disabled. `sync_inventory`: a sync, which runs without a person. `rotate_credential`: replace a credential that expires within 14 days. `adopt_provider`: decide about a discovered provider. `review_cardinality`: a tenant or sender reached a limit of observations or providers. `review_telemetry`: nothing in the telemetry of an account was understood. `review_mcp_server`: the MCP server of a provider no longer refuses requests whose headers differ from their body. `investigate_bypass`: an account calls a provider that a gateway lists, and nobody asks a gateway about its calls (`bypassed` in `list_coverage`).',
  });
export type OperatorTaskKind = z.infer<typeof OperatorTaskKindSchema>;

/** The outcomes that a task of each kind can be completed with. */
export const TASK_OUTCOMES = {
  review_observation: ['approved', 'rejected', 'ignored'],
  investigate_blocked_use: ['acknowledged'],
  adopt_provider: ['adopted', 'dismissed'],
  rotate_credential: ['rotated', 'dismissed'],
  review_cardinality: ['pruned', 'acknowledged'],
  review_telemetry: ['acknowledged'],
  review_mcp_server: ['acknowledged'],
  investigate_bypass: ['acknowledged'],
  /** A sync ends by itself, so no caller completes it. */
  sync_inventory: [],
} as const satisfies Record<OperatorTaskKind, readonly string[]>;

export const TaskOutcomeSchema = z
  .enum(['approved', 'rejected', 'ignored', 'adopted', 'dismissed', 'rotated', 'pruned', 'acknowledged'])
  .meta({ id: 'TaskOutcome', description: 'What was decided when a task was completed.' });
export type TaskOutcome = z.infer<typeof TaskOutcomeSchema>;

export const OperatorTaskStatusSchema = z
  .enum(['open', 'claimed', 'running', 'succeeded', 'failed', 'cancelled'])
  .meta({
    id: 'OperatorTaskStatus',
    description:
      '`claimed`: an assignee works on the task until the lease ends. Then it is `open` again. `running`: a sync is running.',
  });

const TaskSubjectSchema = z
  .strictObject({
    type: z.enum(['runtime_observation', 'provider', 'credential', 'tenant', 'service_account', 'coverage']),
    id: z
      .string()
      .describe(
        'The id of the record. Of `coverage`: the id of the provider, a space, and the account without its tenant, such as `service_account:billing-agent`.',
      ),
  })
  .meta({
    id: 'TaskSubject',
    description: 'The record that a task is about. A record has at most one open task of each kind.',
  });

const TaskProgressSchema = z
  .strictObject({ phase: z.string(), done: z.int(), total: z.int().nullable() })
  .meta({ id: 'TaskProgress', description: 'The progress of a running task.' });

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
        'Who claimed or ended the task: `user:<id>` or `service_account:<tenant>/<id>`. If it ended because it was no longer needed, who had claimed it.',
      ),
    priority: z.enum(['low', 'normal', 'high']),
    dueAt: TimestampSchema.nullable(),
    leaseExpiresAt: TimestampSchema.nullable().describe(
      'When the lease of a claim or a run expires. Then others can take the task.',
    ),
    attempts: z.int().describe('How often a sync has asked the provider so far. 0 for other kinds of tasks.'),
    lastError: z.string().nullable().describe('Why the last attempt of a sync failed. Null for other kinds of tasks.'),
    progress: TaskProgressSchema.nullable().describe('The progress of a running task. Null if there is none.'),
    outcome: TaskOutcomeSchema.nullable().describe(
      'What was decided when the task was completed. Null if it is not completed, was cancelled, or was no longer needed.',
    ),
    note: z
      .string()
      .max(2000)
      .nullable()
      .describe('The reason that a person gave. For a sync that succeeded: how many items it changed.'),
    completedAt: TimestampSchema.nullable().describe('When the task ended. Null while it is open, claimed or running.'),
    ...timeFields,
  })
  .meta({ id: 'OperatorTask', description: 'Something that a person has to decide or do.' });
export type OperatorTask = z.infer<typeof OperatorTaskSchema>;

const NoteSchema = NoteInputSchema.nullish().describe(
  'The reason, for people who read it later. At most 2000 characters.',
);

export const ClaimOperatorTaskInputSchema = z
  .strictObject({
    leaseSeconds: z
      .int()
      .min(60)
      .max(86_400)
      .nullish()
      .describe('How long the claim lasts, in seconds from now: 60 to 86,400. If it is left out: 900.'),
  })
  .meta({
    id: 'ClaimOperatorTaskInput',
    description: 'How long a task is claimed.',
    examples: [{ leaseSeconds: 1800 }],
  });
export type ClaimOperatorTaskInput = z.infer<typeof ClaimOperatorTaskInputSchema>;

export const CompleteOperatorTaskInputSchema = z
  .strictObject({
    outcome: TaskOutcomeSchema.describe(
      'The decision. The kind of the task determines which outcomes are allowed. `review_observation`: `approved`, `rejected` or `ignored`. `investigate_blocked_use`: `acknowledged`. `adopt_provider`: `adopted` or `dismissed`. `rotate_credential`: `rotated` or `dismissed`. `review_cardinality`: `pruned` or `acknowledged`. `review_telemetry`, `review_mcp_server` and `investigate_bypass`: `acknowledged`.',
    ),
    note: NoteSchema,
  })
  .meta({
    id: 'CompleteOperatorTaskInput',
    description: 'A decision, and its reason.',
    examples: [{ outcome: 'approved', note: 'Agreed with the owner of the agent.' }],
  });
export type CompleteOperatorTaskInput = z.infer<typeof CompleteOperatorTaskInputSchema>;

export const CancelOperatorTaskInputSchema = z.strictObject({ note: NoteSchema }).meta({
  id: 'CancelOperatorTaskInput',
  description: 'Why a task is cancelled.',
  examples: [{ note: 'The agent was shut down.' }],
});
export type CancelOperatorTaskInput = z.infer<typeof CancelOperatorTaskInputSchema>;

const taskRecord = { tagExcludes: ['leaseExpiresAt', 'attempts', 'lastError', 'progress'] };

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
    "Lists the operator tasks in the caller's reach, newest first, including ended ones. `status=open` lists the tasks that wait to be claimed.",
  query: {
    ...tenancyQueryFields,
    status: OperatorTaskStatusSchema.nullish().describe(
      'Only tasks with this status. A claimed task whose lease has expired counts as open.',
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
  description: 'Returns one task, open or ended: who works on it, until when, and how it ended.',
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
    'Assigns an open task to the caller until a lease expires. If several callers claim it at once, one of them gets it. Claiming the task again renews the lease. Syncs run by themselves and cannot be claimed.',
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
  description: [
    'Completes a task that is open or that the caller has claimed, and carries out the decision, in one transaction. Each',
    'kind of task needs a further scope. `review_observation` (`runtime_observations:review`): reviews the observation.',
    '`review_cardinality` (`runtime_observations:review`): `pruned` removes the open observations that are neither declared',
    'nor reviewed. `review_telemetry`, `investigate_blocked_use` and `investigate_bypass` (`runtime_observations:review`), and',
    '`review_mcp_server` (`providers:write`): change nothing else. `adopt_provider`',
    '(`recommendations:apply`): applies or dismisses the recommendation. `rotate_credential` (`credentials:write`):',
    '`rotated` requires that the credential was replaced or revoked, or does not end within 14 days; otherwise the answer is',
    '409 `operator_task_not_done`. A sync ends by itself and cannot be completed.',
  ].join(' '),
  params,
  body: CompleteOperatorTaskInputSchema,
  record: taskRecord,
  ifMatch: taskRecord,
  output: OperatorTaskSchema,
  errors: [
    'tenant_limit_reached',
    'operator_task_not_found',
    'operator_task_claimed',
    'operator_task_not_open',
    'operator_task_not_done',
  ],
});

export const cancelOperatorTask = operation({
  method: 'POST',
  path: '/v1/operator/tasks/{task_id}/cancel',
  operationId: 'cancel_operator_task',
  scope: 'operator_tasks:write',
  tag,
  summary: 'Cancel an operator task',
  description:
    'Ends a task that is open or that the caller has claimed, or a running sync, without a decision. Its subject does not change, and may lead to a new task.',
  params,
  body: CancelOperatorTaskInputSchema,
  bodyOptional: true,
  record: taskRecord,
  ifMatch: taskRecord,
  output: OperatorTaskSchema,
  errors: ['operator_task_not_found', 'operator_task_claimed', 'operator_task_not_open'],
});
