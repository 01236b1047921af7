import { ownMember } from '../platform/own-member.ts';

/** A claim of the identity provider whose value makes a user a platform administrator. */
export type AdministratorClaim = { claim: string; value: string };

/**
 * Whether claims make a user a platform administrator. The claim is a text, or a list that contains the value. A name
 * with dots also finds a nested claim, such as `realm_access.roles`.
 */
export function isAdministratorByClaim(wanted: AdministratorClaim | null, claims: Record<string, unknown>): boolean {
  if (wanted === null) return false;
  const found = claimOf(claims, wanted.claim);
  return Array.isArray(found) ? found.includes(wanted.value) : found === wanted.value;
}

/** The claim of a name; undefined if there is none. */
export function claimOf(claims: Record<string, unknown>, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const part of name.split('.')) value = ownMember(value, part);
  return value;
}
