import { ERRORS, type ErrorCode } from '@quartermaster/contracts/errors.ts';
import type { Operation } from '@quartermaster/contracts/operation.ts';

/** An error status that an operation may answer, and why. `component`: the name of the shared response, if there is one. */
type Refusal = { status: number; component: string | undefined; description: string };

/** The error responses that most operations share, by status: their names in the document, and their error codes. */
const SHARED: Record<number, { name: string; codes: readonly ErrorCode[] }> = {
  400: { name: 'BadRequest', codes: ['credentials_ambiguous'] },
  401: { name: 'Unauthorized', codes: ['credentials_missing', 'credentials_invalid', 'session_ended'] },
  403: {
    name: 'Forbidden',
    codes: [
      'cross_site_refused',
      'registration_required',
      'email_unverified',
      'identity_conflict',
      'user_disabled',
      'terms_required',
      'scope_missing',
      'tenant_forbidden',
    ],
  },
  404: { name: 'NotFound', codes: ['route_not_found'] },
  409: { name: 'Conflict', codes: ['idempotency_key_in_use', 'idempotency_answer_unreadable', 'tenant_limit_reached'] },
  412: { name: 'PreconditionFailed', codes: ['precondition_failed'] },
  413: { name: 'ContentTooLarge', codes: ['body_too_large'] },
  415: { name: 'UnsupportedMediaType', codes: ['media_type_unsupported'] },
  422: { name: 'ValidationFailed', codes: [] },
  429: { name: 'TooManyRequests', codes: ['rate_limited'] },
  500: { name: 'InternalServerError', codes: ['internal_error'] },
  502: { name: 'BadGateway', codes: [] },
  503: {
    name: 'ServiceUnavailable',
    codes: ['database_unavailable', 'outcome_unknown', 'identity_provider_unavailable'],
  },
};

/** The codes of 403 of operations that need no scope, and that users may call before they accept the terms. */
const FORBIDDEN_BEFORE_TERMS: readonly ErrorCode[] = [
  'cross_site_refused',
  'registration_required',
  'email_unverified',
  'identity_conflict',
  'user_disabled',
];

/** The errors that an operation may answer, by status: those that follow from its shape, and those that it declares. */
export function refusalsOf(operation: Operation): Refusal[] {
  const codes = new Set<ErrorCode>([...implied(operation), ...operation.errors]);
  const byStatus = new Map<number, ErrorCode[]>(mayAnswer422(operation) ? [[422, []]] : []);
  for (const code of codes) {
    const { status } = ERRORS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return [...byStatus]
    .toSorted(([a], [b]) => a - b)
    .map(([status, listed]) => ({
      status,
      component: componentFor(operation, status, listed),
      description: descriptionOf(status, listed),
    }));
}

/**
 * The name of a response: of its status, or of the codes that it adds to the shared ones. A response with only some of the
 * shared codes has no name, and is written inline.
 */
function componentOf(status: number, codes: readonly ErrorCode[]): string | undefined {
  const shared = SHARED[status];
  if (!shared) return undefined;
  // Sorted, so that the name does not depend on the order in a contract.
  const added = codes.filter((code) => !shared.codes.includes(code)).toSorted();
  const name = added.map(pascalCased).join('Or');
  if (codes.length === added.length + shared.codes.length) return name === '' ? shared.name : name;
  if (codes.length === added.length) return `Only${name}`;
  const some = codes.filter((code) => shared.codes.includes(code));
  const isBeforeTerms =
    some.length === FORBIDDEN_BEFORE_TERMS.length && FORBIDDEN_BEFORE_TERMS.every((code) => some.includes(code));
  return isBeforeTerms ? `${name === '' ? shared.name : name}BeforeTerms` : undefined;
}

function componentFor({ transport }: Operation, status: number, codes: readonly ErrorCode[]): string | undefined {
  if (transport === 'otlp') return otlpComponentOf(status, codes);
  const component = componentOf(status, codes);
  // Decisions have few of the shared codes.
  return transport === 'decision' ? (component ?? `Only${codes.toSorted().map(pascalCased).join('Or')}`) : component;
}

/** OTLP operations have their own error bodies, so they have their own responses. */
function otlpComponentOf(status: number, codes: readonly ErrorCode[]): string {
  return `Otlp${componentOf(status, codes) ?? codes.toSorted().map(pascalCased).join('Or')}`;
}

export function pascalCased(name: string): string {
  return name.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** OTLP asks for 400 where a request cannot be decoded, and forward authentication answers only what proxies expect. */
function mayAnswer422({ transport, body }: Operation): boolean {
  return transport === 'rest' || (transport === 'decision' && body !== undefined);
}

function implied(operation: Operation): ErrorCode[] {
  const { scope, params, body, transport } = operation;
  // Decisions whose only credential is the token of a session. Other decisions also take API keys and bearer tokens.
  if (transport === 'decision' && scope === 'public') {
    const codes: ErrorCode[] = ['rate_limited', 'internal_error', 'database_unavailable'];
    return body ? [...codes, 'request_malformed', 'body_too_large', 'media_type_unsupported'] : codes;
  }
  const codes: ErrorCode[] = ['rate_limited', 'internal_error', 'database_unavailable', 'outcome_unknown'];
  if (scope !== 'public') {
    codes.push('credentials_ambiguous', 'credentials_missing', 'credentials_invalid', 'session_ended');
    codes.push('cross_site_refused', 'registration_required', 'email_unverified', 'identity_conflict', 'user_disabled');
    codes.push('identity_provider_unavailable');
    if (!operation.allowedBeforeTerms) codes.push('terms_required');
    if (scope !== null) codes.push('scope_missing', 'tenant_forbidden');
  }
  if (params) codes.push('route_not_found');
  if (operation.idempotency !== 'none') {
    codes.push('idempotency_key_in_use', 'idempotency_answer_unreadable');
    // Answers that are stored for an Idempotency-Key count as the tenant's stored bytes. Anonymous callers have no tenant.
    if (scope !== 'public') codes.push('tenant_limit_reached');
  }
  if (operation.ifMatch) codes.push('precondition_failed');
  if (body || transport === 'otlp') codes.push('body_too_large', 'media_type_unsupported');
  if (transport === 'otlp') codes.push('request_malformed');
  return codes;
}

function descriptionOf(status: number, codes: readonly ErrorCode[]): string {
  if (status === 422) return 'A value of the request is invalid.';
  const reasons = codes.map((code) => `\`${code}\` (${ERRORS[code].title})`);
  return `${reasons.join(', ')}.`;
}
