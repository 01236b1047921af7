import { z } from 'zod';
import {
  ActionSchema,
  CREDENTIAL,
  dialect,
  params,
  providerParams,
  ResourceSchema,
  SubjectSchema,
} from './decision-dialects.ts';
import { LookupIdSchema, TimestampSchema } from './fields.ts';
import { operation } from './operation.ts';

const DenialSchema = z
  .looseObject({
    binding_token: z.string().max(4096).optional().describe('That of the denial. Required here.'),
    evaluation_id: z.string().max(256).optional().describe('That of the denial.'),
    expires_at: z.string().max(64).describe('That of the denial.'),
  })
  .meta({ id: 'AccessRequestDenial', description: 'The denial that a request is about.' });

const RequestAccessInputSchema = z
  .looseObject({
    // First, because a bundle has no resource and no action, and its mistake is the bundle.
    items: z
      .unknown()
      .refine((items) => items === undefined, 'bundles are not supported: send one request for each item')
      .optional()
      .describe('Bundles are refused.'),
    subject: SubjectSchema,
    resource: ResourceSchema,
    action: ActionSchema,
    denial: DenialSchema,
  })
  .meta({
    id: 'RequestAccessInput',
    description:
      'An access request: what was denied, as it was asked, and its denial. `context`, `requested_access`, `client`, `callback` and further members are neither read nor stored.',
    examples: [
      {
        subject: { type: 'service_account', id: 'acme/billing-agent' },
        action: { name: 'call' },
        resource: { type: 'tool', id: 'create_issue', properties: { provider: 'github' } },
        denial: {
          evaluation_id: '0f9619ff-8b86-4d01-b42d-00cf4fc964ff',
          expires_at: '2026-11-29T20:25:00.000Z',
          binding_token: 'eyJhbGciOiJFUzI1NiIsInR5cCI6InFtLWRlbmlhbCtqd3QifQ...',
        },
      },
    ],
  });
export type RequestAccessInput = z.infer<typeof RequestAccessInputSchema>;

const ApprovalSchema = z
  .strictObject({
    id: z.string(),
    approved_at: TimestampSchema,
    approved_until: TimestampSchema.describe(
      '24 hours after `approved_at`: the end of this reference. What was approved stays permitted.',
    ),
  })
  .meta({ id: 'AccessApproval', description: 'A reference to the approval. It permits nothing by itself.' });

const taskFields = {
  id: z.string().describe('The id of the operator task.'),
  status_endpoint: z.string().describe('Where to ask for the status.'),
  links: z
    .strictObject({ review: z.string().describe('Where a person can decide, in the console.') })
    .meta({ id: 'AccessRequestLinks', description: 'Pages for people.' }),
};

const ApprovedAccessRequestSchema = z
  .strictObject({
    task: z
      .strictObject({
        ...taskFields,
        status: z
          .literal('approved')
          .describe('Ask for an evaluation again. It denies with `next_action` `retry` until the change is applied.'),
      })
      .meta({ id: 'ApprovedAccessRequestTask', description: 'The task of the people who have approved.' }),
    result: z
      .strictObject({ mode: z.literal('reevaluate'), approval: ApprovalSchema })
      .meta({ id: 'AccessRequestResult', description: 'What to do with the approval: ask for an evaluation again.' }),
  })
  .meta({ id: 'ApprovedAccessRequest', description: 'An access request that was approved.' });

const UnapprovedAccessRequestSchema = z
  .strictObject({
    task: z
      .strictObject({
        ...taskFields,
        status: z.enum(['pending', 'denied', 'cancelled']).describe('`denied`: rejected or ignored.'),
      })
      .meta({ id: 'UnapprovedAccessRequestTask', description: 'The task of the people who decide.' }),
  })
  .meta({ id: 'UnapprovedAccessRequest', description: 'An access request that was not approved, or not yet.' });

const AccessRequestSchema = z
  .union([ApprovedAccessRequestSchema, UnapprovedAccessRequestSchema])
  .meta({ id: 'AccessRequest', description: 'An access request and its status.' });
export type AccessRequest = z.infer<typeof AccessRequestSchema>;

const DRAFT = 'AuthZEN Access Request and Approval Profile 1.0, draft 1: it may change with the draft.';

const submission = {
  ...dialect,
  summary: 'Request access that was denied (AuthZEN)',
  description: `Returns the review task about a denial: 202 while people have to decide, 201 if they have decided. Repeating it returns the same task. ${DRAFT} ${CREDENTIAL}`,
  body: RequestAccessInputSchema,
  output: AccessRequestSchema,
  successStatuses: [201, 202],
  errors: [...dialect.errors, 'not_requestable', 'invalid_denial_binding', 'expired_denial'],
} as const;

const { bodyMaxBytes: _bodyMaxBytes, confidentialBody: _confidentialBody, ...withoutBody } = dialect;

const status = {
  ...withoutBody,
  method: 'GET',
  summary: 'Get the status of an access request (AuthZEN)',
  description: `Answers whether people have decided. \`Retry-After\` says how long to wait while they have not. An API key may ask about denials in its reach, a session about those of its account. ${DRAFT} ${CREDENTIAL}`,
  output: AccessRequestSchema,
  errors: [...dialect.errors, 'unknown_task'],
} as const;

const task = { task_id: LookupIdSchema.describe("The task's id.") };

export const requestAccess = operation({
  ...submission,
  path: '/v1/gateways/{gateway_id}/access/v1/requests',
  operationId: 'request_access',
  params,
});

export const getAccessRequest = operation({
  ...status,
  path: '/v1/gateways/{gateway_id}/access/v1/requests/{task_id}',
  operationId: 'get_access_request',
  params: { ...params, ...task },
});

export const requestProviderAccess = operation({
  ...submission,
  path: '/v1/gateways/{gateway_id}/providers/{provider}/access/v1/requests',
  operationId: 'request_provider_access',
  summary: 'Request access to a provider (AuthZEN)',
  params: providerParams,
});

export const getProviderAccessRequest = operation({
  ...status,
  path: '/v1/gateways/{gateway_id}/providers/{provider}/access/v1/requests/{task_id}',
  operationId: 'get_provider_access_request',
  summary: 'Get the status of a request for access to a provider (AuthZEN)',
  params: { ...providerParams, ...task },
});
