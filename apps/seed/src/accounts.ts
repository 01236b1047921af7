import {
  createServiceAccount,
  createServiceAccountKey,
  disableServiceAccount,
  revokeServiceAccountKey,
  rotateServiceAccountKey,
  type Scope,
} from '@quartermaster/client';
import { dataOf } from './calls.ts';
import { AGENTS, MAIN_TENANT } from './company.ts';
import type { Place } from './company-types.ts';
import { type Context, daysFrom } from './context.ts';
import { sendNotUnderstood } from './telemetry.ts';

/**
 * Creates a service account for each agent, with a key that may only send spans, and accounts whose keys show all states of
 * keys. Their sub-tenants are created with them.
 *
 * @returns the agents' keys, by the account's id
 */
export async function makeAccounts(context: Context): Promise<Map<string, string>> {
  const keys = new Map<string, string>();
  for (const { id, about, tenantId, subTenantId, expiresInDays } of AGENTS) {
    const account = { id, about, tenantId, ...(subTenantId !== undefined && { subTenantId }) };
    await makeAccount(context, account);
    const key = await makeKey(context, account, { scopes: ['traces:write'], expiresInDays });
    keys.set(id, key.key);
  }
  await showKeyStates(context);
  return keys;
}

type Account = Place & { id: string; about: string };

async function makeAccount({ admin: client }: Context, { about, ...account }: Account): Promise<void> {
  const body = {
    ...account,
    name: account.id,
    description: about,
    metadata: { team: account.subTenantId ?? 'platform' },
  };
  await dataOf(createServiceAccount({ client, body }));
}

async function makeKey(
  context: Context,
  { id, tenantId }: Account,
  { scopes, expiresInDays }: { scopes: Scope[]; expiresInDays?: number | undefined },
) {
  const expiresAt = expiresInDays === undefined ? null : daysFrom(context, expiresInDays);
  return dataOf(
    createServiceAccountKey({
      client: context.admin,
      path: { service_account_id: id },
      query: { tenant_id: tenantId },
      body: { name: `${id} key`, scopes, expiresAt },
    }),
  );
}

async function showKeyStates(context: Context): Promise<void> {
  const { admin: client } = context;
  const query = { tenant_id: MAIN_TENANT };
  const make = async (id: string, about: string, scopes: Scope[]) => {
    const account = { id, about, tenantId: MAIN_TENANT };
    await makeAccount(context, account);
    const { id: keyId, key } = await makeKey(context, account, { scopes, expiresInDays: 90 });
    return { account, key, path: { service_account_id: id, key_id: keyId } };
  };
  const deployer = await make('ci-deployer', 'Publishes manifests from the build', ['manifests:write']);
  await dataOf(
    rotateServiceAccountKey({ client, path: deployer.path, query, body: { overlapSeconds: 3 * 24 * 3600 } }),
  );
  const exporter = await make('audit-exporter', 'Copies the audit log', ['audit_events:read']);
  await dataOf(revokeServiceAccountKey({ client, path: exporter.path, query }));
  await makeKey(context, exporter.account, { scopes: ['audit_events:read'], expiresInDays: 6 });
  const chatbot = await make('old-chatbot', 'Replaced by support-triage', ['traces:write']);
  await sendNotUnderstood(context, { service: chatbot.account.id, key: chatbot.key });
  await dataOf(disableServiceAccount({ client, path: { service_account_id: chatbot.account.id }, query }));
}

const MARKER = { id: 'seed', tenantId: MAIN_TENANT };

/** Records that the run completed, so that the next run finds the data. */
export async function markComplete({ admin: client }: Context, options: Record<string, number>): Promise<void> {
  const about = { description: 'Records that the seed filled this server.', metadata: options };
  await dataOf(createServiceAccount({ client, body: { ...MARKER, name: 'seed', status: 'disabled', ...about } }));
}
