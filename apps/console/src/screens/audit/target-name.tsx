import type { AuditEvent, AuditTarget } from '@quartermaster/client';
import type { ReactNode } from 'react';
import { words } from '../../components/format.ts';
import { UserName } from '../../components/principal.tsx';
import { RowLink } from '../../components/row-link.tsx';
import type { UrlState } from '../../data/url-state.ts';

type Place = Pick<AuditEvent, 'tenantId'>;

type Address = { path: string; search?: UrlState };

/** The screens that show a record, by its type. */
const SCREENS: Readonly<Record<string, (target: AuditTarget, place: Place) => Address | null>> = {
  provider: ({ id }) => ({ path: `/providers/${id}` }),
  inventory_item: ({ id, parentId }) => ({ path: `/providers/${parentId}`, search: { view: 'inventory', item: id } }),
  provider_credential: ({ parentId }) => ({ path: `/providers/${parentId}`, search: { view: 'credential' } }),
  runtime_observation: ({ id }) => ({ path: '/inbox', search: { view: 'all', item: id } }),
  recommendation: ({ id }) => ({ path: '/changes', search: { view: 'applied', item: id } }),
  gateway: ({ id }) => ({ path: `/gateways/${id}` }),
  gateway_session: ({ id, parentId }) => ({ path: `/gateways/${parentId}`, search: { view: 'all', item: id } }),
  manifest: ({ id }) => ({ path: `/manifests/${id}` }),
  operator_task: ({ id }) => ({ path: '/tasks', search: { view: 'all', item: id } }),
  service_account: ({ id }, { tenantId }) => ({ path: accountPath(id), search: { of: tenantId ?? undefined } }),
  api_key: ({ id, parentId }, { tenantId }) =>
    parentId === null ? null : { path: accountPath(parentId), search: { of: tenantId ?? undefined, item: id } },
  tenant: ({ id }) => ({ path: `/tenants/${id}` }),
  price: (_, { tenantId }) => (tenantId === null ? null : { path: `/tenants/${tenantId}`, search: { view: 'prices' } }),
};

function accountPath(id: string): string {
  return `/accounts/${encodeURIComponent(id)}`;
}

/** What an event is about by its name, which leads to its screen. A deleted record has only a name. */
export function TargetName({ event: { target, tenantId } }: { event: AuditEvent }): ReactNode {
  if (target === null) return '';
  const { type, id, name, deleted } = target;
  // The membership of a user has the id of the user.
  if (type === 'user' || type === 'membership') return <Named type={type} name={<UserName id={id} />} />;
  // People choose the ids of sub-tenants.
  if (type === 'sub_tenant') return <Named type={type} name={id} />;
  if (name === null) return <Named type={type} name={null} />;
  const address = deleted ? null : (SCREENS[type]?.(target, { tenantId }) ?? null);
  return (
    <Named
      type={deleted ? `deleted ${type}` : type}
      name={
        address === null ? (
          name
        ) : (
          <RowLink path={address.path} search={address.search ?? {}}>
            {name}
          </RowLink>
        )
      }
    />
  );
}

function Named({ type, name }: { type: string; name: ReactNode }): ReactNode {
  return (
    <span className="row">
      <span className="dim">{words(type)}</span>
      {name !== null && <span className="truncate">{name}</span>}
    </span>
  );
}
