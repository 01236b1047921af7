import type { Credential } from '@quartermaster/contracts/credentials.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Rule } from './rule.ts';

export type CredentialState = {
  provider: Provider;
  /** The secret that syncs use. */
  current: Credential | undefined;
  /** The stored secret that can replace it. */
  standby: Credential | undefined;
  /** Whether the provider refused the current secret at the last sync. */
  refused: boolean;
};

/**
 * Proposed when the current secret expires within 14 days, has expired or was refused, or when a standby secret is stored.
 * Superseded when another secret becomes current, or the provider has none. When it is applied, the standby secret becomes
 * current. Without a standby secret (a successor), applying skips it as `needs_successor`: only a person can get a new secret
 * from the vendor.
 */
export const rotateCredential: Rule<CredentialState> = {
  kind: 'rotate_credential',
  evaluate({ provider, current, standby, refused }) {
    if (provider.status === 'deleted' || !current) return null;
    const why = problemWith(current, refused) ?? (standby ? 'a successor is stored' : null);
    if (why === null) return null;
    return {
      reason: `The credential that syncs of ${provider.name} use should be rotated: ${why}.`,
      cause: [current.id, current.status, standby?.id ?? 'no successor'].join(' '),
      observations: [],
      change: {
        target: { type: 'credential', id: current.id },
        before: { credentialId: current.id },
        after: { credentialId: standby?.id ?? null },
      },
    };
  },
};

function problemWith({ status, expiresAt }: Credential, refused: boolean): string | null {
  if (refused) return 'the provider refused it';
  if (status === 'expired') return `it expired on ${expiresAt}`;
  return status === 'expiring' ? `it expires on ${expiresAt}` : null;
}
