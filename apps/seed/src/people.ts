import {
  acceptMembership,
  createMembership,
  createTenant,
  disableUser,
  registerUser,
  updateMyProfile,
} from '@quartermaster/client';
import type { Client } from '@quartermaster/client/client/index.ts';
import { obtainToken, SignInError } from '@quartermaster/dev-identity/sign-in.ts';
import { clientWith, dataOf } from './calls.ts';
import { COLLEAGUE, PEOPLE, TENANTS } from './company.ts';
import type { Person } from './company-types.ts';
import type { Context } from './context.ts';
import { Failure } from './failure.ts';

/** @throws {Failure} with exit code 2 if the credential is not a platform administrator's */
export async function makeTenants({ admin: client }: Context): Promise<void> {
  for (const body of TENANTS) {
    const answer = await createTenant({ client, body });
    if (answer.response?.status === 403) {
      throw new Failure("The credential is not a platform administrator's, so it cannot make tenants.", {
        exitCode: 2,
      });
    }
    if (answer.response?.status === 409) {
      const reason = 'The id of a deleted tenant is never used again, so the sample data needs an empty database.';
      throw new Failure(`The tenant ${body.id} exists, or was deleted before. ${reason}`, { exitCode: 2 });
    }
    await dataOf(Promise.resolve(answer));
  }
}

/**
 * Invites all people. Those who accept first sign in at the development identity provider. On a server without it, all
 * invitations stay pending.
 *
 * @returns a client for each person who signed in, by email
 */
export async function makePeople(context: Context): Promise<Map<string, Client>> {
  const { admin: client, url, notes } = context;
  for (const { email, role, tenantId, subTenantId } of PEOPLE) {
    const body = { email, role, ...(subTenantId !== undefined && { subTenantId }) };
    await dataOf(createMembership({ client, path: { tenant_id: tenantId }, body }));
  }
  await dataOf(registerUser({ client, body: { user: COLLEAGUE, source: 'saas_registration' } }));

  const signedIn = new Map<string, Client>();
  for (const person of PEOPLE.filter(({ state }) => state !== 'invited')) {
    const own = await signInAs(url, person.email);
    if (own === undefined) {
      notes.push('There is no development identity provider, so the invitations were not accepted.');
      return signedIn;
    }
    const userId = await acceptInvitation(own, person);
    if (person.state === 'disabled') await dataOf(disableUser({ client, path: { user_id: userId } }));
    else signedIn.set(person.email, own);
  }
  return signedIn;
}

/** Undefined on a server without the development identity provider. */
async function signInAs(url: string, email: string): Promise<Client | undefined> {
  try {
    const { accessToken } = await obtainToken({ issuer: `${url}/oidc`, email });
    return clientWith(url, { token: accessToken });
  } catch (error) {
    if (error instanceof SignInError && error.code === 'no_provider') return undefined;
    throw error;
  }
}

async function acceptInvitation(client: Client, { name, tenantId, subTenantId }: Person): Promise<string> {
  const body = { displayName: name, terms: { accepted: true, termsVersion: '2026-01' } };
  const { id } = await dataOf(updateMyProfile({ client, body }));
  const query = subTenantId === undefined ? {} : { sub_tenant_id: subTenantId };
  await dataOf(acceptMembership({ client, path: { tenant_id: tenantId }, query }));
  return id;
}
