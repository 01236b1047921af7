/** Why a provider without an address cannot be synced. */
export const CANNOT_SYNC = 'It has no address that a sync could ask.';
