import type { Credential } from '@quartermaster/contracts/credentials.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Rule } from './rule.ts';

export type CredentialState = {
  provider: Provider;
  /** The provider's secret in use, and the one that could follow it. */
  current: Credential | undefined;
  standby: Credential | undefined;
  /** Whether the provider refused the one in use at the last sync. */
  refused: boolean;
};

/**
 * Opens when the secret in use ends within 14 days, has ended or was refused, or when one is stored that could follow it;
 * superseded when another one is put in use, or the provider has none. Applied: the one on standby is in use. A machine
 * cannot make a vendor's secret: as long as none is on standby, applying it is left out as `needs_successor`.
 */
export const rotateCredential: Rule<CredentialState> = {
  kind: 'rotate_credential',
  wanted({ provider, current, standby, refused }) {
    if (provider.status === 'deleted' || !current) return null;
    const why = whyOf(current, refused) ?? (standby ? 'another one is stored to follow it' : null);
    if (why === null) return null;
    return {
      reason: `The credential that syncs of ${provider.name} use should be rotated: ${why}.`,
      cause: [current.id, current.status, standby?.id ?? 'no successor'].join(' '),
      rests: [],
      change: {
        target: { type: 'credential', id: current.id },
        before: { credentialId: current.id },
        after: { credentialId: standby?.id ?? null },
      },
    };
  },
};

function whyOf({ status, expiresAt }: Credential, refused: boolean): string | null {
  if (refused) return 'the provider refused it';
  if (status === 'expired') return `it ended on ${expiresAt}`;
  return status === 'expiring' ? `it ends on ${expiresAt}` : null;
}
