import type { Role, Scope } from '@quartermaster/contracts/scopes.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { startSession } from '../../src/auth/console-sessions.ts';
import type { Body, TestServer } from './server.ts';

export type Place = { tenantId: string; subTenantId?: string | undefined };

let counter = 0;

/** A name that no other test uses. */
export function unique(prefix: string): string {
  counter += 1;
  return `${prefix}-${counter}`;
}

/** Creates a service account with a key. A missing tenant or sub-tenant is created too. */
export async function accountWithKey(
  server: TestServer,
  place: Place,
  scopes: Scope[] = ['*'],
): Promise<{ id: string; key: string; keyId: string; place: Place; principal: string }> {
  const id = unique('account');
  await server.ok('POST', '/v1/service-accounts', { as: server.admin, body: { id, name: id, ...place } });
  const path = `/v1/service-accounts/${id}/keys?tenant_id=${place.tenantId}`;
  const created = await server.ok('POST', path, { as: server.admin, body: { scopes } });
  return { id, key: created.key, keyId: created.id, place, principal: `service_account:${place.tenantId}/${id}` };
}

/** The key of a new service account that has every scope in a place. */
export async function keyIn(server: TestServer, place: Place): Promise<{ key: string }> {
  const { key } = await accountWithKey(server, place);
  return { key };
}

export type Person = { id: string; email: string; token: string };

/** A user who registered, signed in and accepted the terms. The user is active and has no membership. */
export async function registeredUser(server: TestServer): Promise<Person> {
  const email = `${unique('user')}@example.com`;
  await server.ok('POST', '/v1/onboarding/register', { body: { user: { email } } });
  const { token } = await server.tokenOf(email);
  // The first call links the user to the identity of the token.
  const { id } = await server.ok('PUT', '/v1/me/profile', { as: { token }, body: { terms: { accepted: true } } });
  return { id, email, token };
}

/** The platform administrator invites an email address. The membership is pending. */
export function offerMembership(server: TestServer, email: string, place: Place, role: Role): Promise<Body> {
  const { tenantId, subTenantId } = place;
  const body = { email, role, subTenantId };
  return server.ok('POST', `/v1/tenants/${tenantId}/memberships`, { as: server.admin, body });
}

/** The path at which users accept their membership in a place. */
export function acceptPath({ tenantId, subTenantId }: Place): string {
  const query = subTenantId === undefined ? '' : `?sub_tenant_id=${subTenantId}`;
  return `/v1/me/memberships/${tenantId}/accept${query}`;
}

/** Makes a user a member of a place: the platform administrator invites, the user accepts. */
export async function joinPlace(
  server: TestServer,
  { email, token }: Pick<Person, 'email' | 'token'>,
  { place, role }: { place: Place; role: Role },
): Promise<Body> {
  await offerMembership(server, email, place, role);
  return server.ok('POST', acceptPath(place), { as: { token } });
}

/** A user who registered, accepted the terms, and is a member of a place. */
export async function memberWithToken(server: TestServer, place: Place, role: Role): Promise<Person> {
  const person = await registeredUser(server);
  await joinPlace(server, person, { place, role });
  return person;
}

/** Signs a user in to the web console as a browser would. Returns the id of the console session. */
export async function startConsoleSession({ services, trustedIssuer }: TestServer, userId: string): Promise<string> {
  const started = { userId, issuer: trustedIssuer.issuer ?? '', isAdministrator: false, userAgent: '', idToken: null };
  const auth = { ...services, ...trustedIssuer };
  const { session } = await inTransaction(services.db, (trx) => startSession(trx, auth, started, services.now()));
  return session.id;
}

/** A registered user who is signed in to the web console in two browsers. */
export async function userInTwoBrowsers(server: TestServer): Promise<Person> {
  const person = await registeredUser(server);
  await startConsoleSession(server, person.id);
  await startConsoleSession(server, person.id);
  return person;
}
