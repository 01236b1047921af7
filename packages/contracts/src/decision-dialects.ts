import { z } from 'zod';
import { EnforcementSchema } from './gateways.ts';
import { LookupIdSchema, TimestampSchema } from './fields.ts';
import { operation } from './operation.ts';

export const params = { gateway_id: LookupIdSchema.describe("The gateway's id.") };
export const providerParams = {
  ...params,
  provider: z.string().min(1).max(256).describe('The id, the name or an alias of a provider that the gateway lists.'),
};

export const CREDENTIAL =
  'The credential is an API key with the scope `gateway_sessions:evaluate`, or the token of a session of this gateway. Programs that can send neither `X-API-Key` nor a Bearer token may send the credential as the password of Basic authentication. A denial is an answer with 200. In the mode `observe` everything is allowed, and the answer says what would have been denied.';

export const dialect = {
  transport: 'decision',
  method: 'POST',
  scope: 'gateway_sessions:evaluate',
  tag: 'Gateways',
  readOnly: true,
  confidentialBody: true,
  bodyMaxBytes: 1024 * 1024,
  errors: [
    'request_malformed',
    'session_token_invalid',
    'gateway_session_ended',
    'gateway_not_found',
    'gateway_not_active',
  ],
} as const;

/** Members that the dialects do not read are ignored, so that newer versions of the clients work. */
const Properties = z.record(z.string(), z.unknown()).optional();

export const SubjectSchema = z
  .looseObject({
    type: z
      .string()
      .describe('`session` (a session of the gateway), `user` or `service_account`. Others have no permission.'),
    id: z.string().describe('The id. That of a service account may be `<tenant>/<id>`.'),
    properties: Properties.describe('`token`: the token of the session. It is verified.'),
  })
  .meta({ id: 'AuthzenSubject', description: 'Who wants to use something (AuthZEN 1.0, section 5.1).' });

export const ResourceSchema = z
  .looseObject({
    type: z.string().describe('`tool`, `model`, `prompt`, `resource` or `agent`.'),
    id: z.string().describe('The name as the agent calls it.'),
    properties: Properties.describe(
      '`provider`: the id, the name or an alias of the provider. Required, unless the path names the provider.',
    ),
  })
  .meta({ id: 'AuthzenResource', description: 'What the subject wants to use (AuthZEN 1.0, section 5.2).' });

export const ActionSchema = z
  .looseObject({
    name: z
      .string()
      .describe(
        '`use`, `call`, `invoke`, `execute`, `read`, `get`, or the method of MCP. `list` and the methods of MCP that list are decided in the same way, and a denial is not counted.',
      ),
    properties: Properties,
  })
  .meta({ id: 'AuthzenAction', description: 'How the subject wants to use it (AuthZEN 1.0, section 5.3).' });

const Context = z
  .record(z.string(), z.unknown())
  .optional()
  .describe('It is not read, and neither is `approval` in it: the inventory decides.');

export const EvaluateAccessInputSchema = z
  .looseObject({ subject: SubjectSchema, action: ActionSchema, resource: ResourceSchema, context: Context })
  .meta({
    id: 'EvaluateAccessInput',
    description: 'An access evaluation request (AuthZEN 1.0, section 6.1).',
    examples: [
      {
        subject: { type: 'service_account', id: 'acme/billing-agent' },
        action: { name: 'call' },
        resource: { type: 'tool', id: 'create_issue', properties: { provider: 'github' } },
      },
    ],
  });

export const AccessEvaluationSchema = z
  .strictObject({
    decision: z.boolean().describe('Whether the use may go on.'),
    context: z
      .strictObject({
        reason: z
          .string()
          .nullable()
          .describe(
            'Why the use is denied, or would be in the mode `enforce`: a reason of `decide_access`, `action_unknown`, `resource_unknown`, `subject_unknown`, or `request_incomplete`.',
          ),
        mode: EnforcementSchema,
        observation_id: z.string().nullable(),
        review_url: z.string().nullable(),
        evaluation_id: z.string().optional().describe('Identifies the denial. Only with `access_request`.'),
        access_request: z
          .strictObject({
            endpoint: z.string().describe('Where access can be requested (`request_access`).'),
            expires_at: TimestampSchema.describe('Until when.'),
            binding_token: z.string().describe('Goes into the request unchanged.'),
          })
          .meta({ id: 'RequestableDenial', description: 'How to request what was denied.' })
          .optional()
          .describe(
            'Only with a denial in the mode `enforce` that a review task is open about, and not for lists (AuthZEN Access Request and Approval Profile, draft 1).',
          ),
        next_action: z
          .enum(['request', 'retry'])
          .optional()
          .describe(
            '`request`: access can be requested. `retry`: it was approved, and the change is not applied yet. Left out: neither.',
          ),
        retry_after: z.int().optional().describe('Seconds to wait. Only with `retry`.'),
      })
      .meta({ id: 'AccessEvaluationContext', description: 'Why, and where a person can review it.' }),
  })
  .meta({ id: 'AccessEvaluation', description: 'An access evaluation response (AuthZEN 1.0, section 6.2).' });
export type AccessEvaluation = z.infer<typeof AccessEvaluationSchema>;

export const EvaluateAccessBatchInputSchema = z
  .looseObject({
    subject: SubjectSchema.optional(),
    action: ActionSchema.optional(),
    resource: ResourceSchema.optional(),
    context: Context,
    evaluations: z
      .array(
        z
          .looseObject({
            subject: SubjectSchema.optional(),
            action: ActionSchema.optional(),
            resource: ResourceSchema.optional(),
            context: Context,
          })
          .meta({ id: 'AccessEvaluationItem', description: 'One evaluation. The outer members are its defaults.' }),
      )
      .max(100)
      .optional()
      .describe('At most 100. Without them the request is a single evaluation.'),
    options: z
      .looseObject({
        evaluations_semantic: z.enum(['execute_all', 'deny_on_first_deny', 'permit_on_first_permit']).optional(),
      })
      .meta({
        id: 'AccessEvaluationOptions',
        description: 'Whether the evaluations end at the first denial or permit.',
      })
      .optional(),
  })
  .meta({
    id: 'EvaluateAccessBatchInput',
    description: 'An access evaluations request (AuthZEN 1.0, section 7.1).',
    examples: [
      {
        subject: { type: 'service_account', id: 'acme/billing-agent' },
        action: { name: 'list' },
        evaluations: [
          { resource: { type: 'tool', id: 'create_issue', properties: { provider: 'github' } } },
          { resource: { type: 'tool', id: 'delete_repository', properties: { provider: 'github' } } },
        ],
      },
    ],
  });

export const AccessEvaluationsSchema = z
  .union([
    AccessEvaluationSchema,
    z
      .strictObject({ evaluations: z.array(AccessEvaluationSchema) })
      .meta({ id: 'AccessEvaluationList', description: 'The evaluations in the order of the request.' }),
  ])
  .meta({ id: 'AccessEvaluations', description: 'An access evaluations response (AuthZEN 1.0, section 7.2).' });

const evaluation = {
  ...dialect,
  body: EvaluateAccessInputSchema,
  output: AccessEvaluationSchema,
  summary: 'Evaluate an access (AuthZEN)',
  description: `Answers whether a session, or an account without one, may use something now (OpenID AuthZEN Authorization API 1.0). An account without a session may use what the gateway allows. ${CREDENTIAL}`,
};

const evaluations = {
  ...dialect,
  body: EvaluateAccessBatchInputSchema,
  output: AccessEvaluationsSchema,
  summary: 'Evaluate several accesses (AuthZEN)',
  description: `Answers up to 100 evaluations at once (OpenID AuthZEN Authorization API 1.0, section 7). ${CREDENTIAL}`,
};

export const evaluateAccess = operation({
  ...evaluation,
  path: '/v1/gateways/{gateway_id}/access/v1/evaluation',
  operationId: 'evaluate_access',
  params,
});

export const evaluateAccessBatch = operation({
  ...evaluations,
  path: '/v1/gateways/{gateway_id}/access/v1/evaluations',
  operationId: 'evaluate_access_batch',
  params,
});

export const evaluateProviderAccess = operation({
  ...evaluation,
  path: '/v1/gateways/{gateway_id}/providers/{provider}/access/v1/evaluation',
  operationId: 'evaluate_provider_access',
  summary: 'Evaluate an access to a provider (AuthZEN)',
  params: providerParams,
});

export const evaluateProviderAccessBatch = operation({
  ...evaluations,
  path: '/v1/gateways/{gateway_id}/providers/{provider}/access/v1/evaluations',
  operationId: 'evaluate_provider_access_batch',
  summary: 'Evaluate several accesses to a provider (AuthZEN)',
  params: providerParams,
});

export const decideAsOpa = operation({
  ...dialect,
  path: '/v1/gateways/{gateway_id}/opa/v1/data/{path}',
  operationId: 'decide_as_opa',
  summary: 'Decide as Open Policy Agent does',
  description: `For programs that ask the data API of Open Policy Agent. \`path\` is \`<provider>/<any name>\`, or one name if the input names the provider. Refused credentials and bodies are answered with 200 and a denial, because clients take an error as permission. ${CREDENTIAL}`,
  params: {
    ...params,
    path: z.string().describe('`<provider>/decision`, or one name if the input names the provider.'),
  },
  body: z.looseObject({ input: z.record(z.string(), z.unknown()).optional() }).meta({
    id: 'OpaInput',
    description:
      'A request for a document with input. The input is `{provider, kind, name}`, or that of `@ai-sdk/policy-opa` (`tool.name`, `runtimeContext.provider`), or that of ContextForge (`kind`, `payload.name` or `payload.uri`).',
    examples: [{ input: { provider: 'github', kind: 'tool', name: 'create_issue' } }],
  }),
  output: z
    .strictObject({
      result: z
        .strictObject({
          allow: z.boolean(),
          decision: z.enum(['allow', 'deny']),
          deny: z.array(z.string()).describe('The reasons of a denial, for people.'),
          reason: z.string().nullable(),
        })
        .meta({ id: 'OpaDecision', description: 'The decision in the forms that policies usually have.' }),
    })
    .meta({ id: 'OpaResult', description: 'The document, as Open Policy Agent answers it.' }),
});

export const decideForToolhive = operation({
  ...dialect,
  path: '/v1/gateways/{gateway_id}/toolhive/decision',
  operationId: 'decide_for_toolhive',
  summary: 'Decide for ToolHive',
  description: `For the authorizer \`httpv1\` of ToolHive. The server in \`resource\` is the id, the name or an alias of the provider. ${CREDENTIAL}`,
  params,
  body: z
    .looseObject({
      principal: z.record(z.string(), z.unknown()).optional().describe('It is not read.'),
      operation: z.string().describe('`mcp:<feature>:<operation>`'),
      resource: z.string().describe('`mrn:mcp:<server>:<feature>:<name>`'),
    })
    .meta({
      id: 'ToolHiveInput',
      description: 'Principal, operation, resource and context of a use.',
      examples: [{ operation: 'mcp:tool:call', resource: 'mrn:mcp:github:tool:create_issue' }],
    }),
  output: z.strictObject({ allow: z.boolean() }).meta({ id: 'ToolHiveDecision', description: 'Whether it may go on.' }),
});

const Hook = z
  .looseObject({
    hook_event_name: z.string(),
    tool_name: z.string().optional(),
    tool_use_id: z.string().optional(),
    url: z.string().optional(),
  })
  .meta({
    id: 'ToolHookInput',
    description:
      'What a coding agent sends to a hook before it uses a tool. Other members are neither read nor stored.',
    examples: [{ hook_event_name: 'PreToolUse', tool_name: 'mcp__github__create_issue', tool_use_id: 'toolu_1' }],
  });

export const decideToolHook = operation({
  ...dialect,
  path: '/v1/gateways/{gateway_id}/hooks/{agent}',
  operationId: 'decide_tool_hook',
  summary: 'Decide for a hook of a coding agent',
  description: `For the hooks \`PreToolUse\` of Claude Code and Codex, and \`beforeMCPExecution\` of Cursor. A use that is allowed, and one that is not decided, is answered with \`{}\`, so that the permissions of the agent apply. ${CREDENTIAL}`,
  params: { ...params, agent: z.enum(['claude-code', 'codex', 'cursor']).describe('The coding agent.') },
  query: {
    builtins: z
      .string()
      .optional()
      .describe(
        'The provider at which the tools of the agent itself (`Bash`, `Edit`) are decided. If it is left out, they are not decided.',
      ),
  },
  body: Hook,
  output: z
    .union([
      z.strictObject({}).meta({ id: 'HookSilent', description: 'The permissions of the agent apply.' }),
      z
        .strictObject({
          hookSpecificOutput: z
            .strictObject({
              hookEventName: z.literal('PreToolUse'),
              permissionDecision: z.literal('deny'),
              permissionDecisionReason: z.string(),
            })
            .meta({ id: 'HookSpecificOutput', description: 'Why the use is denied.' }),
        })
        .meta({ id: 'HookDenial', description: 'A denial for Claude Code and Codex.' }),
      z
        .strictObject({ permission: z.literal('deny'), user_message: z.string(), agent_message: z.string() })
        .meta({ id: 'CursorDenial', description: 'A denial for Cursor.' }),
    ])
    .meta({ id: 'ToolHookOutput', description: 'What the hook prints or answers.' }),
});

const guardrail = {
  ...dialect,
  summary: 'Decide for LiteLLM',
  description: `For the guardrail \`generic_guardrail_api\` of LiteLLM. It decides the model of a request. The provider is that of the path, or the part before the first \`/\` in the model's name. ${CREDENTIAL}`,
  body: z.looseObject({ input_type: z.string().optional(), model: z.string().nullish() }).meta({
    id: 'LiteLlmInput',
    description: 'A request of the guardrail. Texts and other members are neither read nor stored.',
    examples: [{ input_type: 'request', model: 'openai/gpt-5', texts: [] }],
  }),
  output: z
    .strictObject({ action: z.enum(['BLOCKED', 'NONE']), blocked_reason: z.string().nullable() })
    .meta({ id: 'LiteLlmDecision', description: 'Whether the request is blocked.' }),
};

export const decideForLitellm = operation({
  ...guardrail,
  path: '/v1/gateways/{gateway_id}/litellm/beta/litellm_basic_guardrail_api',
  operationId: 'decide_for_litellm',
  params,
});

export const decideProviderForLitellm = operation({
  ...guardrail,
  path: '/v1/gateways/{gateway_id}/providers/{provider}/litellm/beta/litellm_basic_guardrail_api',
  operationId: 'decide_provider_for_litellm',
  summary: 'Decide about a provider for LiteLLM',
  params: providerParams,
});
