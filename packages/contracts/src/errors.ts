import { z } from 'zod';

/**
 * All error codes, each with its HTTP status and title. A code never changes. The `detail` of an answer says what was
 * wrong with the request; programs should use only `code`. 422 has another body: {@link HTTPValidationErrorSchema}.
 */
export const ERRORS = {
  credentials_ambiguous: { status: 400, title: 'More than one credential' },
  request_malformed: { status: 400, title: 'Malformed request' },
  not_requestable: { status: 400, title: 'Access cannot be requested', type: accessRequestProblem('not_requestable') },
  invalid_denial_binding: {
    status: 400,
    title: 'The request does not match its denial',
    type: accessRequestProblem('invalid_denial_binding'),
  },
  credentials_missing: { status: 401, title: 'Credentials required' },
  credentials_invalid: { status: 401, title: 'Credentials not valid' },
  session_ended: { status: 401, title: 'Console session ended' },
  session_token_invalid: { status: 401, title: 'Session token not valid' },
  gateway_session_ended: { status: 401, title: 'Gateway session ended' },
  cross_site_refused: { status: 403, title: 'Request from another site' },
  scope_missing: { status: 403, title: 'Scope missing' },
  tenant_forbidden: { status: 403, title: 'Tenant outside your reach' },
  console_sign_in_off: { status: 403, title: 'Sign-in by browser is turned off' },
  self_service_off: { status: 403, title: 'Self-service is turned off' },
  user_required: { status: 403, title: 'Only users may do this' },
  platform_administrator_required: { status: 403, title: 'Platform administrator required' },
  grant_exceeds_own: { status: 403, title: 'Grant exceeds the rights of the caller' },
  registration_required: { status: 403, title: 'Registration required' },
  email_unverified: { status: 403, title: 'Email not verified' },
  identity_conflict: { status: 403, title: 'Email linked to another identity' },
  terms_required: { status: 403, title: 'Terms not accepted' },
  user_disabled: { status: 403, title: 'User disabled' },
  suspended_by_platform: { status: 403, title: 'The platform suspended the membership' },
  user_out_of_reach: { status: 403, title: 'User has memberships outside your reach' },
  ingest_tenant_ambiguous: { status: 403, title: 'Credential belongs to several tenants' },
  not_granted: { status: 403, title: 'Not granted' },
  provider_not_listed: { status: 403, title: 'The gateway lists no such provider' },
  name_missing: { status: 403, title: 'The request names nothing to decide' },
  mcp_revision_unsupported: { status: 403, title: 'MCP revision not supported without a body' },
  mcp_method_unknown: { status: 403, title: 'Unknown MCP method' },
  header_repeated: { status: 403, title: 'Header sent twice' },
  headers_differ: { status: 403, title: 'Headers and body differ' },
  body_incomplete: { status: 403, title: 'Body not whole' },
  mcp_proxy_off: { status: 403, title: 'The MCP proxy of the gateway is off' },
  provider_not_proxied: { status: 403, title: 'The provider is no MCP server with an address' },
  headers_not_checked: { status: 403, title: 'The provider was not seen to compare headers with the body' },
  route_not_found: { status: 404, title: 'Path not found' },
  agent_not_found: { status: 404, title: 'Agent not found' },
  audit_event_not_found: { status: 404, title: 'Audit event not found' },
  channel_not_found: { status: 404, title: 'Channel not found' },
  console_session_not_found: { status: 404, title: 'Console session not found' },
  gateway_not_found: { status: 404, title: 'Gateway not found' },
  gateway_session_not_found: { status: 404, title: 'Gateway session not found' },
  inventory_item_not_found: { status: 404, title: 'Inventory item not found' },
  key_not_found: { status: 404, title: 'Key not found' },
  manifest_not_found: { status: 404, title: 'Manifest not found' },
  membership_not_found: { status: 404, title: 'Membership not found' },
  operator_task_not_found: { status: 404, title: 'Operator task not found' },
  price_not_found: { status: 404, title: 'Price not found' },
  provider_not_found: { status: 404, title: 'Provider not found' },
  provider_credential_not_found: { status: 404, title: 'Provider credential not found' },
  apply_not_found: { status: 404, title: 'Apply not found' },
  recommendation_not_found: { status: 404, title: 'Recommendation not found' },
  runtime_observation_not_found: { status: 404, title: 'Runtime observation not found' },
  service_account_not_found: { status: 404, title: 'Service account not found' },
  tenant_not_found: { status: 404, title: 'Tenant not found' },
  trace_not_found: { status: 404, title: 'Trace not found' },
  user_not_found: { status: 404, title: 'User not found' },
  unknown_task: { status: 404, title: 'Access request not found', type: accessRequestProblem('unknown_task') },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  ambiguous_id: { status: 409, title: 'Id exists in several tenants' },
  id_taken: { status: 409, title: 'Id already in use' },
  name_taken: { status: 409, title: 'Name already in use' },
  bulk_count_differs: { status: 409, title: 'The filter matches a different number of records' },
  gateway_not_active: { status: 409, title: 'Gateway not active' },
  key_not_active: { status: 409, title: 'Key not active' },
  last_platform_administrator: { status: 409, title: 'Last platform administrator' },
  last_owner: { status: 409, title: 'A tenant needs at least one owner' },
  manifest_in_use: { status: 409, title: 'Manifest in use' },
  idempotency_answer_unreadable: { status: 409, title: 'The stored answer cannot be decrypted' },
  idempotency_key_in_use: { status: 409, title: 'A request with this Idempotency-Key is still running' },
  invitation_expired: { status: 409, title: 'Invitation expired' },
  invitation_void: { status: 409, title: 'Inviter may no longer invite' },
  membership_accepted: { status: 409, title: 'Membership already accepted' },
  membership_exists: { status: 409, title: 'Membership already exists' },
  operator_task_claimed: { status: 409, title: 'Operator task claimed by another account' },
  operator_task_not_open: { status: 409, title: 'Operator task not open' },
  operator_task_not_done: { status: 409, title: 'Operator task not done yet' },
  organization_exists: { status: 409, title: 'Organization already exists' },
  provider_in_use: { status: 409, title: 'Provider in use' },
  provider_not_syncable: { status: 409, title: 'Provider cannot be synced' },
  sync_running: { status: 409, title: 'A sync is already running' },
  recommendation_not_open: { status: 409, title: 'Recommendation not open' },
  recommendation_not_applied: { status: 409, title: 'Recommendation not applied' },
  recommendation_built_on: { status: 409, title: 'Later changes depend on this change' },
  price_limit_reached: { status: 409, title: 'Too many prices' },
  session_limit_reached: { status: 409, title: 'Too many open sessions' },
  service_account_not_active: { status: 409, title: 'Service account not active' },
  tenant_deleted: { status: 409, title: 'Tenant was deleted' },
  tenant_exists: { status: 409, title: 'Tenant already exists' },
  tenant_in_use: { status: 409, title: 'Tenant in use' },
  tenant_limit_reached: { status: 409, title: 'Limit of the tenant reached' },
  user_not_active: { status: 409, title: 'User not active' },
  expired_denial: { status: 410, title: 'Denial expired', type: accessRequestProblem('expired_denial') },
  precondition_failed: { status: 412, title: 'The record has changed' },
  body_too_large: { status: 413, title: 'Body too large' },
  media_type_unsupported: { status: 415, title: 'Media type not supported' },
  rate_limited: { status: 429, title: 'Too many requests' },
  internal_error: { status: 500, title: 'Internal error' },
  sync_failed: { status: 502, title: 'Sync failed' },
  database_unavailable: { status: 503, title: 'Database unavailable' },
  service_unavailable: { status: 503, title: 'Service unavailable' },
  outcome_unknown: { status: 503, title: 'Outcome unknown' },
  identity_provider_unavailable: { status: 503, title: 'Identity provider unavailable' },
} as const satisfies Record<string, ErrorDefinition>;

/** `type`: the problem type of a foreign specification, in place of ours. */
type ErrorDefinition = { status: number; title: string; type?: string };

/** A problem type of the AuthZEN Access Request and Approval Profile. */
function accessRequestProblem(name: string): string {
  return `urn:openid:authzen:access-request:error:${name}`;
}

/** The kind of problem, as a URN. */
export function problemType(code: ErrorCode): string {
  const { type = `urn:quartermaster:problem:${code}` }: ErrorDefinition = ERRORS[code];
  return type;
}

export type ErrorCode = keyof typeof ERRORS;

const ERROR_CODES = Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]];

/** The body of all errors except 422: a problem document (RFC 9457), `application/problem+json`. */
export const ProblemSchema = z
  .strictObject({
    type: z
      .string()
      .describe(
        'The kind of problem, as a URN: `urn:quartermaster:problem:<code>`, or `urn:openid:authzen:access-request:error:<code>` for access requests.',
      ),
    title: z.string().describe('The kind of problem, in a few words.'),
    status: z.int().describe('The HTTP status of the answer.'),
    detail: z.string().describe('What was wrong with this request.'),
    instance: z.string().describe('The id of the request, the same as in the header `X-Request-Id`.'),
    code: z.enum(ERROR_CODES).describe('The reason, for programs. A code never changes.'),
    scope: z.string().optional().describe('The scope that the caller needs. Only with 403 `scope_missing`.'),
    reason: z
      .string()
      .optional()
      .describe(
        'Why. With `not_granted`: `not_in_inventory`, `blocked`, `manifest`, `provider_disabled` or `provider_not_in_session`. With `gateway_session_ended`: the `revokedReason` of the session.',
      ),
    observationId: z
      .string()
      .nullable()
      .optional()
      .describe('The runtime observation that counts the denial. Only with `not_granted`; null if there is none yet.'),
    reviewUrl: z
      .string()
      .optional()
      .describe('Where a person can review the denial, in the console. Only with `not_granted`.'),
  })
  .meta({ id: 'Problem', description: 'An error, as a problem document (RFC 9457).' });
export type Problem = z.infer<typeof ProblemSchema>;

export const ValidationErrorSchema = z
  .strictObject({
    loc: z
      .array(z.union([z.string(), z.int()]))
      .describe(
        'The path to the invalid value: `body`, `query` or `path`, then the names and indexes that lead to it.',
      ),
    msg: z.string().describe('What is wrong, for people.'),
    type: z.string().describe('What is wrong, for programs: an error type of pydantic v2.'),
    input: z.unknown().optional().describe('The value that was sent, cut to 1 KiB. Secrets are left out.'),
    ctx: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('The parameters of the rule that the value breaks, such as a limit.'),
  })
  .meta({ id: 'ValidationError', description: 'One invalid value of a request.' });
export type ValidationError = z.infer<typeof ValidationErrorSchema>;

export const HTTPValidationErrorSchema = z
  .strictObject({ detail: z.array(ValidationErrorSchema).optional() })
  .meta({ id: 'HTTPValidationError', description: 'The invalid values of a request, one entry for each field.' });
