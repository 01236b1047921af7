import { ERRORS, type ErrorCode } from '@quartermaster/contracts/errors.ts';
import type { Operation } from '@quartermaster/contracts/operation.ts';

/** A status that an operation may answer, and why. `component`: the name of the shared response, if there is one. */
type Refusal = { status: number; component: string | undefined; description: string };

/** The responses that most operations share, by status: their names in the document, and the codes that they hold. */
const SHARED: Record<number, { name: string; codes: readonly ErrorCode[] }> = {
  400: { name: 'BadRequest', codes: ['credentials_ambiguous'] },
  401: { name: 'Unauthorized', codes: ['credentials_missing', 'credentials_invalid'] },
  403: {
    name: 'Forbidden',
    codes: [
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

/** What an operation may be refused with: what follows from its shape, and what it says itself; by status. */
export function refusalsOf(operation: Operation): Refusal[] {
  const codes = new Set<ErrorCode>([...implied(operation), ...operation.errors]);
  // The OTLP path answers what it cannot decode with 400, as its specification says.
  const byStatus = new Map<number, ErrorCode[]>(operation.transport === 'otlp' ? [] : [[422, []]]);
  for (const code of codes) {
    const { status } = ERRORS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return [...byStatus]
    .toSorted(([a], [b]) => a - b)
    .map(([status, listed]) => ({
      status,
      component: operation.transport === 'otlp' ? otlpComponentOf(status, listed) : componentOf(status, listed),
      description: descriptionOf(status, listed),
    }));
}

/**
 * The name of a response: that of its status, or of the codes that it adds to the shared ones. A response that has only
 * some of the shared codes has no name: it stands where it is used.
 */
function componentOf(status: number, codes: readonly ErrorCode[]): string | undefined {
  const shared = SHARED[status];
  if (!shared) return undefined;
  // Sorted, so that the name does not depend on the order in a contract.
  const added = codes.filter((code) => !shared.codes.includes(code)).toSorted();
  const name = added.map(pascalCased).join('Or');
  if (codes.length === added.length + shared.codes.length) return name === '' ? shared.name : name;
  return codes.length === added.length ? `Only${name}` : undefined;
}

/** Operations of OTLP have bodies of their own, and so responses of their own. */
function otlpComponentOf(status: number, codes: readonly ErrorCode[]): string {
  return `Otlp${componentOf(status, codes) ?? codes.toSorted().map(pascalCased).join('Or')}`;
}

export function pascalCased(name: string): string {
  return name.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function implied(operation: Operation): ErrorCode[] {
  const { scope, params, body, transport } = operation;
  const codes: ErrorCode[] = ['rate_limited', 'internal_error', 'database_unavailable', 'outcome_unknown'];
  if (scope !== 'public') {
    codes.push('credentials_ambiguous', 'credentials_missing', 'credentials_invalid');
    codes.push('registration_required', 'email_unverified', 'identity_conflict', 'user_disabled');
    codes.push('identity_provider_unavailable');
    if (!operation.beforeTerms) codes.push('terms_required');
    if (scope !== null) codes.push('scope_missing', 'tenant_forbidden');
  }
  if (params) codes.push('route_not_found');
  if (operation.idempotency !== 'none') {
    codes.push('idempotency_key_in_use', 'idempotency_answer_unreadable');
    // Answers that are kept for accounts of a tenant count as its stored bytes. Strangers have no tenant.
    if (scope !== 'public') codes.push('tenant_limit_reached');
  }
  if (operation.ifMatch) codes.push('precondition_failed');
  if (body || transport === 'otlp') codes.push('body_too_large', 'media_type_unsupported');
  if (transport === 'otlp') codes.push('request_malformed');
  return codes;
}

function descriptionOf(status: number, codes: readonly ErrorCode[]): string {
  if (status === 422) return 'A value breaks the contract.';
  const reasons = codes.map((code) => `\`${code}\` (${ERRORS[code].title})`);
  return `${reasons.join(', ')}.`;
}
