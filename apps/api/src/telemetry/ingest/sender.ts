import { holdsScopes } from '@quartermaster/contracts/scopes.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { Principal } from '../../auth/principal.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Services } from '../../platform/services.ts';
import type { PartialSuccess } from '../otlp/span.ts';

/** What ingest uses, and who sends. */
export type IngestContext = {
  services: Pick<Services, 'db' | 'databaseNow' | 'metrics' | 'now' | 'telemetry' | 'tenantLimits'>;
  principal: Principal;
};

/**
 * The one place where the sender may write telemetry. Only the credential decides that, never the telemetry.
 *
 * @throws ApiError `ingest_tenant_ambiguous` if the credential may write in several places, or in none
 */
export function placeOfSender(principal: Principal): TenantPlace {
  const writable = principal.grants.filter(({ scopes }) =>
    holdsScopes([...scopes, ...principal.platformScopes], ['traces:write']),
  );
  const [place] = writable;
  if (place && writable.length === 1) return { tenantId: place.tenantId, subTenantId: place.subTenantId };
  throw new ApiError('ingest_tenant_ambiguous', 'Send telemetry with a credential that belongs to exactly one tenant.');
}

/** Counts rejected records of an accepted request, and makes the answer about them. */
export function noteRejected(
  { services, principal }: IngestContext,
  place: TenantPlace,
  { rejected, reasons }: { rejected: number; reasons: readonly string[] },
): PartialSuccess {
  const errorMessage = reasons.join('; ');
  const problem = { reason: 'records_rejected', requests: 1, records: rejected, detail: errorMessage } as const;
  services.telemetry.accounts.noteProblem(principal, place, problem);
  return { rejected, errorMessage };
}
