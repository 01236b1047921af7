import type { Credential, SearchCredentialsInput } from '@quartermaster/contracts/credentials.ts';
import type { Page, PageRequest } from '@quartermaster/db/queries.ts';
import { countExpiring, searchCredentialsByExpiry } from '@quartermaster/db/repositories/credential-expiry.ts';
import { searchCredentials } from '@quartermaster/db/repositories/credentials.ts';
import type { TenantScope } from '@quartermaster/db/tenancy.ts';
import type { CallerContext } from '../../auth/context.ts';
import { noteReads } from '../../platform/audit/reads.ts';
import { valueError } from '../../platform/errors.ts';

/** Filters on the list by expiry read every credential that expires. */
const MAX_SORTED = 20_000;

/** One page of the metadata of keys and secrets. @throws 422 if there are too many to sort by expiry */
export async function listCredentials(
  ctx: CallerContext,
  scope: TenantScope,
  body: SearchCredentialsInput,
  page: PageRequest,
): Promise<Page<Credential>> {
  const found = await readPage(ctx, scope, body, page);
  await noteReads(ctx, found.items, null);
  return found;
}

async function readPage(
  { services: { db, now } }: CallerContext,
  scope: TenantScope,
  {
    sort,
    tenantId: _tenantId,
    subTenantId: _subTenantId,
    limit: _limit,
    cursor: _cursor,
    ...filter
  }: SearchCredentialsInput,
  page: PageRequest,
): Promise<Page<Credential>> {
  const time = now();
  if (sort !== 'expires_at') return searchCredentials(db, scope, filter, page, time);
  const before = filter.expiresBefore ?? null;
  if ((await countExpiring(db, scope, { before, limit: MAX_SORTED + 1 }, time)) > MAX_SORTED) {
    const advice = 'name a tenant, or send expiresBefore';
    throw valueError(['body', 'sort'], `there are more than ${MAX_SORTED} credentials that expire: ${advice}`);
  }
  return searchCredentialsByExpiry(db, scope, filter, page, time);
}
