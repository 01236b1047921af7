import type { Provider } from '@quartermaster/contracts/providers.ts';
import { SESSION_TTL_MAX_SECONDS } from '@quartermaster/contracts/gateways.ts';
import type { Database } from '../database.ts';
import { lowestIdAt } from '../ids.ts';
import type { TenantPlace } from '../tenancy.ts';
import { toProvider } from './providers.ts';

const PAGE_SIZE = 200;

/**
 * The providers of sub-tenants that a session may grant which is still open. In pages, in the order of their ids, with deleted
 * providers.
 */
export async function* subTenantProvidersInSessions(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  now: Date,
  pageSize = PAGE_SIZE,
): AsyncGenerator<readonly Provider[], void, undefined> {
  // Ids are in the order of time, and sessions that began earlier have expired.
  const firstSession = lowestIdAt('ses', new Date(now.getTime() - SESSION_TTL_MAX_SECONDS * 1000));
  const rows = db
    .selectFrom('providers')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('sub_tenant_id', '<>', '')
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('gateway_session_grants as granted')
          .select('granted.session_id')
          .whereRef('granted.tenant_id', '=', 'providers.tenant_id')
          .whereRef('granted.provider_id', '=', 'providers.id')
          .where('granted.session_id', '>', firstSession),
      ),
    )
    .orderBy('id')
    .limit(pageSize);
  for (let afterId: string | undefined = ''; afterId !== undefined; ) {
    const page: Provider[] = (await rows.where('id', '>', afterId).execute()).map(toProvider);
    yield page;
    afterId = page.length < pageSize ? undefined : page.at(-1)?.id;
  }
}
