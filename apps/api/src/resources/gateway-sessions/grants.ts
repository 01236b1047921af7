import { hash } from 'node:crypto';
import type { Grant } from '@quartermaster/contracts/gateway-sessions.ts';
import type { Gateway } from '@quartermaster/contracts/gateways.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { findGrantedItems, type GrantedItem, itemPages } from '@quartermaster/db/repositories/granted-items.ts';
import type { TenantScope } from '@quartermaster/db/tenancy.ts';
import { valueError } from '../../platform/errors.ts';
import { type ProviderPolicy, providerPolicies } from './policy.ts';

/** Items that one session may grant. Beyond it the session is refused: a cut list would deny access at random. */
const GRANTED_ITEMS_MAX = 10_000;

/** Maximum bytes of JSON of a session's grants, because the response contains them. */
const GRANTS_MAX_BYTES = 1024 * 1024;

/**
 * What a gateway grants of these providers: the available items of the active providers that the manifest allows.
 *
 * @throws 422 for more than {@link GRANTED_ITEMS_MAX} items, or {@link GRANTS_MAX_BYTES}
 */
export async function grantsOf(db: Database, gateway: Gateway, providerIds: readonly string[]): Promise<Grant[]> {
  const { scope, policies } = await providerPolicies(db, gateway, providerIds);
  const grants: Grant[] = [];
  let left = GRANTED_ITEMS_MAX;
  let bytes = 0;
  for (const policy of policies) {
    const { provider } = policy;
    const items = await itemsOf(db, scope, { ...policy, limit: left + 1 });
    left -= items.length;
    if (left < 0) {
      const rule = `a session grants at most ${GRANTED_ITEMS_MAX} items. Choose fewer providers`;
      throw valueError(['body', 'providerIds'], rule, providerIds);
    }
    bytes += Buffer.byteLength(JSON.stringify(items));
    if (bytes > GRANTS_MAX_BYTES) {
      const rule = `a session grants at most ${GRANTS_MAX_BYTES} bytes of items. Choose fewer providers`;
      throw valueError(['body', 'providerIds'], rule, providerIds);
    }
    grants.push({ providerId: provider.id, providerName: provider.name, items });
  }
  return grants;
}

/**
 * `sha256:` and the SHA-256, in hex, of the RFC 8785 form of grants. It is written here by hand, with the members in the order
 * of their names, because with thousands of items a general canonicalizer takes longer than everything else together.
 */
export function digestOfGrants(grants: readonly Grant[]): string {
  const text = grants.map(({ items, providerId, providerName }) => {
    const sorted = items.map(({ kind, name }) => ({ kind, name }));
    return JSON.stringify({ items: sorted, providerId, providerName });
  });
  return `sha256:${hash('sha256', `[${text.join(',')}]`)}`;
}

/** The part of a session's grants that its gateway, the inventories and the manifest still allow. It never adds items. */
export async function stillGranted(db: Database, gateway: Gateway, grants: readonly Grant[]): Promise<Grant[]> {
  const granted = new Map(grants.map((grant) => [grant.providerId, grant]));
  const listed = gateway.providerIds.filter((id) => granted.has(id));
  const { scope, policies } = await providerPolicies(db, gateway, listed);
  const left: Grant[] = [];
  for (const { provider, verdict } of policies) {
    const grant = granted.get(provider.id);
    if (grant === undefined) continue;
    const found = await findGrantedItems(db, scope, provider.id, grant.items);
    const current = new Set(found.filter((item) => verdict(item) === 'allowed').map(identityOf));
    left.push({ ...grant, items: grant.items.filter((item) => current.has(identityOf(item))) });
  }
  return left;
}

async function itemsOf(
  db: Database,
  scope: TenantScope,
  { provider, verdict, limit }: ProviderPolicy & { limit: number },
): Promise<GrantedItem[]> {
  const items: GrantedItem[] = [];
  for await (const page of itemPages(db, { scope, providerId: provider.id })) {
    items.push(...page.filter((item) => verdict(item) === 'allowed').map(({ kind, name }) => ({ kind, name })));
    if (items.length >= limit) break;
  }
  return items;
}

function identityOf({ kind, name }: GrantedItem): string {
  return `${kind}:${name}`;
}
