import { getServiceAccount, listTenants } from '@quartermaster/client';
import type { Client } from '@quartermaster/client/client/index.ts';
import { type Answer, dataOf, detailOf, readAllPages } from './calls.ts';
import { MAIN_TENANT, TENANTS } from './company.ts';
import { Failure } from './failure.ts';

const TIMEOUT_MS = 10_000;

/** Some of the operations that the seed uses. A server without them is too old. */
const NEEDED_OPERATIONS = [
  'accept_membership',
  'cancel_operator_task',
  'claim_operator_task',
  'complete_operator_task',
  'create_gateway_session',
  'create_manifest',
  'dismiss_recommendation',
  'ingest_traces',
  'put_provider_credential',
  'rotate_service_account_key',
  'sync_provider_inventory',
  'undo_recommendation',
];

/**
 * Checks that the URL belongs to a Quartermaster of a recent version.
 *
 * @throws {Failure} with exit code 2 if it does not
 */
export async function requireServer(url: string): Promise<void> {
  const answer = await fetch(`${url}/openapi.json`, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(
    (cause: unknown) => {
      throw noServer(url, cause);
    },
  );
  const document = answer.ok ? await answer.text() : '';
  const missing = NEEDED_OPERATIONS.filter((id) => !document.includes(`"${id}"`));
  if (missing.length === 0) return;
  const isOther = missing.length === NEEDED_OPERATIONS.length;
  const what = isOther ? 'is not a Quartermaster' : `is too old for this seed: it lacks ${missing.join(', ')}`;
  throw new Failure(`The server at ${url} ${what}.`, { exitCode: 2 });
}

export function noServer(url: string, cause: unknown): Failure {
  const help = 'Start it, or set QM_URL to its address.';
  return new Failure(`No server answers at ${url}. ${help}`, { exitCode: 2, cause });
}

/**
 * Checks whether an earlier run created the data.
 *
 * @throws {Failure} with exit code 2 if the credential is refused, 1 if an earlier run did not complete
 */
export async function isSeeded(client: Client): Promise<boolean> {
  const tenants = await readAllPages(async (page) => {
    const answer: Answer<{ items: { id: string }[]; nextCursor: string | null }> = await listTenants({
      client,
      query: page,
    });
    if (answer.response?.status === 401 || answer.response?.status === 403) {
      throw new Failure(`The server refuses the credential: ${detailOf(answer.error)}`, { exitCode: 2 });
    }
    return answer;
  });
  const existing = TENANTS.filter(({ id }) => tenants.some((tenant) => tenant.id === id)).map(({ id }) => id);
  if (existing.length === 0) return false;
  const query = { tenant_id: MAIN_TENANT };
  const marker = await getServiceAccount({ client, path: { service_account_id: 'seed' }, query });
  if (marker.response?.status === 404) {
    const help = 'Start the server with an empty database.';
    throw new Failure(`There is a tenant ${existing[0]} that no completed run of the seed made. ${help}`);
  }
  await dataOf(Promise.resolve(marker));
  return true;
}
