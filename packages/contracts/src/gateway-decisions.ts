import { z } from 'zod';
import { DenialSchema } from './denials.ts';
import { LookupIdSchema, TimestampSchema } from './fields.ts';
import { GrantedItemSchema, SubjectSchema } from './gateway-sessions.ts';
import { EnforcementSchema } from './gateways.ts';
import { InventoryKindSchema } from './inventory.ts';
import { operation } from './operation.ts';
import { ProviderKindSchema } from './providers.ts';

/** Who asks for decisions. */
export const DecisionPointSchema = z
  .enum(['proxy', 'forward_auth', 'guard', 'hook', 'authzen', 'opa', 'toolhive', 'litellm'])
  .meta({ id: 'DecisionPoint' })
  .describe('Where a decision was asked for.');
export type DecisionPoint = z.infer<typeof DecisionPointSchema>;

const SessionProviderSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    aliases: z.array(z.string()),
    kind: ProviderKindSchema,
    items: z.array(GrantedItemSchema),
  })
  .meta({
    id: 'SessionProvider',
    description: 'A provider that the session may use, with the items that it may use now.',
  });

export const OwnGatewaySessionSchema = z
  .strictObject({
    sessionId: z.string(),
    subject: SubjectSchema,
    gatewayId: z.string(),
    mode: EnforcementSchema,
    expiresAt: TimestampSchema,
    checkedAt: TimestampSchema.describe('When this was true. It may be up to 5 seconds ago.'),
    complete: z
      .boolean()
      .describe('Whether `providers` has everything. It has at most 10,000 items; ask for decisions about the others.'),
    providers: z.array(SessionProviderSchema),
  })
  .meta({ id: 'OwnGatewaySession', description: 'What the session of the token may use now.' });
export type OwnGatewaySession = z.infer<typeof OwnGatewaySessionSchema>;

export const DecideAccessInputSchema = z
  .strictObject({
    provider: z.string().min(1).max(256).describe('The id, the name or an alias of a provider that the gateway lists.'),
    kind: InventoryKindSchema,
    name: z.string().min(1).max(512).describe('The name as the agent calls it.'),
    attempts: z
      .int()
      .min(1)
      .max(1000)
      .default(1)
      .describe('How many uses the question stands for, if a client has asked once for several.'),
  })
  .meta({
    id: 'DecideAccessInput',
    description: 'A use that a session asks for.',
    examples: [{ provider: 'github', kind: 'tool', name: 'create_issue' }],
  });
export type DecideAccessInput = z.infer<typeof DecideAccessInputSchema>;

export const AccessDecisionSchema = z
  .strictObject({
    allowed: z.boolean().describe('Whether the use may go on. In the mode `observe` it always may.'),
    wouldDeny: z.boolean().describe('Whether the mode `enforce` denies the use.'),
    mode: EnforcementSchema,
    reason: DenialSchema.nullable(),
    observationId: z.string().nullable().describe('The runtime observation that counts the denial, once there is one.'),
    reviewUrl: z.string().nullable().describe('Where a person can review the denial, in the console.'),
  })
  .meta({ id: 'AccessDecision', description: 'Whether a session may use something now.' });
export type AccessDecision = z.infer<typeof AccessDecisionSchema>;

const NoContentSchema = z
  .null()
  .meta({ id: 'Authorized', description: 'The session may do this. The answer has no body.' });

const tag = 'Gateways';
const gateway = { gateway_id: LookupIdSchema.describe("The gateway's id.") };
const provider = {
  ...gateway,
  provider: z.string().min(1).max(256).describe('The id, the name or an alias of a provider that the gateway lists.'),
};
const CREDENTIAL =
  'The credential is the token of a session of this gateway, in `X-Quartermaster-Session` or as a Bearer token in `Authorization`.';
const decision = { transport: 'decision', scope: 'public', tag } as const;
const tokenErrors = ['session_token_invalid', 'gateway_session_ended'] as const;

export const getOwnGatewaySession = operation({
  ...decision,
  method: 'GET',
  path: '/v1/gateways/{gateway_id}/session',
  operationId: 'get_own_gateway_session',
  summary: 'Get what a session may use now',
  description: `Returns everything that the session of the token may use at this moment, for guards that decide locally. ${CREDENTIAL} \`If-None-Match\` answers 304 while \`providers\` is the same.`,
  params: gateway,
  record: { tagExcludes: ['sessionId', 'subject', 'expiresAt', 'checkedAt'] },
  output: OwnGatewaySessionSchema,
  errors: [...tokenErrors],
});

export const decideAccess = operation({
  ...decision,
  method: 'POST',
  path: '/v1/gateways/{gateway_id}/decisions',
  operationId: 'decide_access',
  summary: 'Decide whether a session may use something',
  description: `Answers whether the session of the token may use something now, and counts a denial. A denial is an answer with 200. ${CREDENTIAL}`,
  params: gateway,
  body: DecideAccessInputSchema,
  output: AccessDecisionSchema,
  errors: [...tokenErrors],
});

export const authorizeSession = operation({
  ...decision,
  method: 'GET',
  path: '/v1/gateways/{gateway_id}/authorize',
  operationId: 'authorize_session',
  summary: 'Check a session, for a reverse proxy',
  description: `Forward authentication that checks only the session: 200 without a body, or 401. It accepts any method, and any path below it that names no provider. ${CREDENTIAL}`,
  params: gateway,
  output: NoContentSchema,
  errors: [...tokenErrors, 'name_missing'],
});

const DENIED_ERRORS = [
  'not_granted',
  'provider_not_listed',
  'name_missing',
  'header_repeated',
  'body_incomplete',
] as const;

export const authorizeMcpRequest = operation({
  ...decision,
  method: 'GET',
  path: '/v1/gateways/{gateway_id}/authorize/{provider}/mcp',
  operationId: 'authorize_mcp_request',
  summary: 'Decide about an MCP request, for a reverse proxy',
  description: `Forward authentication for an MCP server: 200 without a body, 401 or 403. It accepts any method, and any path below it. Without a body it decides by the headers \`MCP-Protocol-Version\`, \`Mcp-Method\` and \`Mcp-Name\` (MCP 2026-07-28 and later); with the body of the request, by the body. ${CREDENTIAL}`,
  params: provider,
  output: NoContentSchema,
  errors: [
    ...tokenErrors,
    ...DENIED_ERRORS,
    'mcp_revision_unsupported',
    'mcp_method_unknown',
    'headers_differ',
    'headers_not_checked',
  ],
});

export const authorizeModelCall = operation({
  ...decision,
  method: 'GET',
  path: '/v1/gateways/{gateway_id}/authorize/{provider}/models',
  operationId: 'authorize_model_call',
  summary: 'Decide about a model call, for a reverse proxy',
  description: `Forward authentication for the API of models: 200 without a body, 401 or 403. The model comes from the path of the original request (Azure, Bedrock, Gemini) in \`X-Original-URI\`, \`X-Forwarded-Uri\` or below this path, or from the member \`model\` of a body that the proxy passes on. ${CREDENTIAL}`,
  params: provider,
  output: NoContentSchema,
  errors: [...tokenErrors, ...DENIED_ERRORS, 'headers_differ'],
});

const McpMessageSchema = z
  .looseObject({ jsonrpc: z.literal('2.0') })
  .meta({ id: 'McpMessage', description: 'One message of the Model Context Protocol: JSON-RPC 2.0, and no batch.' });

const McpProxyAnswerSchema = z
  .null()
  .meta({ id: 'McpProxyAnswer', description: 'The answer of the MCP server: JSON, server-sent events, or no body.' });

const PROXY =
  "Part of the MCP proxy (Streamable HTTP, any revision). The gateway's `mcpProxy` must be `on`, and the provider an MCP server with a `baseUrl`. The server gets the credential that is stored for the provider, and never the token of the session.";
const PROXY_FAILURES =
  '502 with a JSON-RPC error: the MCP server cannot be used. 404 with a JSON-RPC error: the `Mcp-Session-Id` is not one of this session.';
const proxyErrors = [
  ...tokenErrors,
  'cross_site_refused',
  'mcp_proxy_off',
  'provider_not_listed',
  'provider_not_proxied',
  'not_granted',
] as const;

export const sendMcpMessage = operation({
  ...decision,
  method: 'POST',
  path: '/v1/gateways/{gateway_id}/mcp/{provider}',
  operationId: 'send_mcp_message',
  summary: 'Send a message to an MCP server',
  description: `${PROXY} A tool that the session may not use is answered with a tool result with \`isError\`, which a model can read; a prompt or a resource with the JSON-RPC error -32000. Lists have only what the session may use. ${PROXY_FAILURES} ${CREDENTIAL}`,
  params: provider,
  body: McpMessageSchema,
  bodyMaxBytes: 4 * 1024 * 1024,
  output: McpProxyAnswerSchema,
  errors: [...proxyErrors],
});

export const openMcpStream = operation({
  ...decision,
  method: 'GET',
  path: '/v1/gateways/{gateway_id}/mcp/{provider}',
  operationId: 'open_mcp_stream',
  summary: 'Receive messages of an MCP server',
  description: `${PROXY} Opens the stream on which servers of revisions before 2026-07-28 send messages unasked. ${PROXY_FAILURES} ${CREDENTIAL}`,
  params: provider,
  output: McpProxyAnswerSchema,
  errors: [...proxyErrors],
});

export const endMcpSession = operation({
  ...decision,
  method: 'DELETE',
  path: '/v1/gateways/{gateway_id}/mcp/{provider}',
  operationId: 'end_mcp_session',
  summary: 'End a session of an MCP server',
  description: `${PROXY} Ends an MCP session of a revision before 2026-07-28. ${PROXY_FAILURES} ${CREDENTIAL}`,
  params: provider,
  output: McpProxyAnswerSchema,
  errors: [...proxyErrors],
});
