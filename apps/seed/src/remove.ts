import { deleteTenant, deleteUser, listUsers } from '@quartermaster/client';
import { clientWith, type Credential, dataOf, readAllPages } from './calls.ts';
import { COLLEAGUE, PEOPLE, TENANTS } from './company.ts';
import { isSeeded, requireServer } from './server.ts';

type Options = { url: string; credential: Credential };

/**
 * Deletes the tenants that a completed run made, and its people. `absent`: there are none, and nothing was changed.
 *
 * @throws {Failure} if the server or the credential is not usable, or if a tenant has a name of the seed but was made by something else
 */
export async function removeSeed({ url, credential }: Options): Promise<'removed' | 'absent'> {
  await requireServer(url);
  const client = clientWith(url, credential);
  if (!(await isSeeded(client))) return 'absent';
  const emails = new Set([...PEOPLE, COLLEAGUE].map(({ email }) => email));
  const users = await readAllPages((page) => listUsers({ client, query: page }));
  // The tenant that says that the run completed is the last one, so that a removal that was interrupted can be repeated.
  for (const { id } of TENANTS.toReversed()) await dataOf(deleteTenant({ client, path: { tenant_id: id } }));
  for (const { id, email } of users) {
    if (email !== null && emails.has(email)) await dataOf(deleteUser({ client, path: { user_id: id } }));
  }
  return 'removed';
}
