import type { Scope, Tenant } from '@quartermaster/client';
import { getTenantOptions } from '@quartermaster/client/@tanstack/react-query.gen.ts';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { CopyId } from '../../components/copy.tsx';
import { SelectFilter, TextFilter, Views } from '../../components/filters.tsx';
import { Screen } from '../../components/screen.tsx';
import { Empty, Failed, Loading, MissingScope } from '../../components/states.tsx';
import { useMe } from '../../data/me.ts';
import { holds, holdsWithin } from '../../data/rights.ts';
import { problemOf } from '../../data/problem.ts';
import { useUrlState } from '../../data/url-state.ts';
import { apiPath } from '../../data/curl.ts';
import classes from '../providers/provider.module.css';
import { DeleteTenant } from './delete-tenant.tsx';
import { LimitsTab } from './limits-tab.tsx';
import { MembersTab } from './members-tab.tsx';
import { PricesTab } from './prices-tab.tsx';
import { ROLES } from './roles.ts';
import { SettingsTab } from './settings-tab.tsx';

export function TenantScreen(): ReactNode {
  const { tenantId } = useParams({ from: '/tenants/$tenantId' });
  const { data, error, refetch } = useQuery(getTenantOptions({ path: { tenant_id: tenantId } }));
  if (data === undefined) {
    return (
      <Screen title="Tenant" above={<Link to="/tenants">Tenants and members</Link>}>
        {error === null ? <Loading /> : <Failed problem={problemOf(error)} retry={() => void refetch()} />}
      </Screen>
    );
  }
  return <Loaded key={data.id} tenant={data} />;
}

/** The button of a part. */
const ACTIONS = new Map<string, { scope: Scope; label: string }>([
  ['members', { scope: 'memberships:write', label: 'Invite a person' }],
  ['prices', { scope: 'tenants:write', label: 'Set a price' }],
]);

function Loaded({ tenant }: { tenant: Tenant }): ReactNode {
  const [{ view = 'members' }, setState] = useUrlState();
  const me = useMe();
  const action = ACTIONS.get(view);
  return (
    <Screen
      title={tenant.displayName ?? tenant.id}
      above={<Link to="/tenants">Tenants and members</Link>}
      summary={
        <div className="row">
          <CopyId id={tenant.id} />
          {tenant.subTenantIds.length > 0 && <span>sub-tenants {tenant.subTenantIds.join(', ')}</span>}
        </div>
      }
      request={{ method: 'GET', path: apiPath`/v1/tenants/${tenant.id}` }}
      actions={
        action !== undefined && (
          <ActionButton scope={action.scope} place={{ tenantId: tenant.id }} onClick={() => setState({ new: '1' })}>
            {action.label}
          </ActionButton>
        )
      }
      toolbar={
        <>
          <Views
            label="Part"
            views={[
              { value: 'members', label: 'Members' },
              { value: 'settings', label: 'Settings' },
              { value: 'limits', label: 'Limits' },
              { value: 'prices', label: 'Prices' },
            ]}
          />
          {view === 'members' && (
            <>
              <span className="grow" />
              <TextFilter name="q" label="Search members" width={150} />
              <SelectFilter
                name="status"
                label="Status"
                width={120}
                choices={[
                  { value: 'active', label: 'members' },
                  { value: 'pending', label: 'invited' },
                ]}
              />
              <SelectFilter name="role" label="Role" choices={ROLES} width={120} />
            </>
          )}
        </>
      }
    >
      {view === 'members' &&
        (holdsWithin(me, 'memberships:read', tenant.id) ? (
          <MembersTab tenant={tenant} />
        ) : (
          <MissingScope scope="memberships:read" />
        ))}
      {view === 'settings' && (
        <div className={classes.page}>
          <SettingsTab tenant={tenant} />
          {me.platformAdministrator && <DeleteTenant tenant={tenant} />}
        </div>
      )}
      {view === 'limits' &&
        (holds(me, 'tenants:read', { tenantId: tenant.id }) ? (
          <LimitsTab tenant={tenant} />
        ) : (
          <Empty title="The limits are those of the whole tenant">Members of a sub-tenant alone do not see them.</Empty>
        ))}
      {view === 'prices' &&
        (holdsWithin(me, 'usage:read', tenant.id) ? (
          <PricesTab tenant={tenant} />
        ) : (
          <MissingScope scope="usage:read" />
        ))}
    </Screen>
  );
}
