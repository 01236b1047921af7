import type { Principal } from '../../src/auth/principal.ts';

/** A service account of a tenant, or a user with a membership there, as authentication finds them. Without scopes, unless given. */
export function principalIn(tenantId: string, { kind = 'service_account', ...given }: Partial<Principal>): Principal {
  return {
    kind,
    id: 'tester',
    tenantId: kind === 'user' ? null : tenantId,
    scheme: 'bearer',
    keyId: null,
    keyExpiresAt: null,
    session: null,
    platformAdministrator: false,
    administratorByClaim: false,
    platformScopes: [],
    grants: [{ tenantId, subTenantId: null, scopes: [] }],
    termsAccepted: true,
    ...given,
  };
}
