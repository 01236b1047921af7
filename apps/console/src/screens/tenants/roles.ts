import type { Role } from '@quartermaster/client';

/** The one with the most rights first. */
export const ROLES: readonly Role[] = ['owner', 'admin', 'operator', 'viewer'];

/** What a role permits, in one line. Each permits what the roles below it do. */
export const ROLE_MEANINGS: Record<Role, string> = {
  owner: 'Has every right in this place, and may change and remove other owners.',
  admin: 'May also manage members, service accounts, keys, providers and gateways.',
  operator: 'May also review and apply changes, write manifests, and manage providers and gateway sessions.',
  viewer: 'May see what agents use and what is declared, and changes nothing.',
};
