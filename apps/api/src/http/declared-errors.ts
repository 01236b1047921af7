import { ERRORS, type ErrorCode } from '@quartermaster/contracts/errors.ts';
import type { Operation } from '@quartermaster/contracts/operation.ts';

/** A status that an operation may answer, and why. */
type Refusal = { status: number; description: string };

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
    .map(([status, listed]) => ({ status, description: descriptionOf(status, listed) }));
}

function implied(operation: Operation): ErrorCode[] {
  const { scope, params, body, transport } = operation;
  const codes: ErrorCode[] = ['internal_error', 'database_unavailable', 'outcome_unknown'];
  if (scope !== 'public') {
    codes.push('credentials_ambiguous', 'credentials_missing', 'credentials_invalid');
    codes.push('registration_required', 'email_unverified', 'identity_conflict', 'user_disabled');
    codes.push('identity_provider_unavailable');
    if (!operation.beforeTerms) codes.push('terms_required');
    if (scope !== null) codes.push('scope_missing', 'tenant_forbidden');
  }
  if (params) codes.push('route_not_found');
  if (body || transport === 'otlp') codes.push('body_too_large', 'media_type_unsupported');
  if (transport === 'otlp') codes.push('request_malformed');
  return codes;
}

function descriptionOf(status: number, codes: readonly ErrorCode[]): string {
  if (status === 422) return 'A value breaks the contract.';
  const reasons = codes.map((code) => `\`${code}\` (${ERRORS[code].title})`);
  return `${reasons.join(', ')}.`;
}
