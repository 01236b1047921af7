/** The place of the first platform administrator, and of those that `npm run admin-key` creates. */
export const BOOTSTRAP_PLACE = { tenantId: 'default', subTenantId: null };
