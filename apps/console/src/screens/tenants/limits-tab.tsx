import type { Tenant, TenantQuota } from '@quartermaster/client';
import { getTenantUsageOptions } from '@quartermaster/client/@tanstack/react-query.gen.ts';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { formatBytes, formatNumber } from '../../components/format.ts';
import { PrincipalName } from '../../components/principal.tsx';
import { Failed, Loading } from '../../components/states.tsx';
import { useMe } from '../../data/me.ts';
import { problemOf } from '../../data/problem.ts';
import { useUrlState } from '../../data/url-state.ts';
import classes from './limits.module.css';
import { type LimitName, LimitsForm } from './limits-form.tsx';

const LABELS: Record<LimitName, string> = {
  requestsPerMinute: 'Requests in this minute',
  storedBytes: 'Stored',
  subTenants: 'Sub-tenants',
  memberships: 'Members and invitations',
  serviceAccounts: 'Service accounts',
  apiKeys: 'API keys',
  providers: 'Providers',
  inventoryItems: 'Inventory items',
  gateways: 'Gateways',
  openSessions: 'Open sessions',
};

/** What a tenant uses of what it may use. */
export function LimitsTab({ tenant }: { tenant: Tenant }): ReactNode {
  const me = useMe();
  const [state, setState] = useUrlState();
  const { data, error, refetch } = useQuery(getTenantUsageOptions({ path: { tenant_id: tenant.id } }));
  if (error !== null) return <Failed problem={problemOf(error)} retry={() => void refetch()} />;
  if (data === undefined) return <Loading rows={8} />;
  return (
    <div className={classes.frame}>
      <table className={classes.limits}>
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">Used</th>
            <th scope="col">Limit</th>
            <th scope="col">Share</th>
          </tr>
        </thead>
        <tbody>
          {Object.entries(LABELS).map(([name, label]) => (
            <Quota
              key={name}
              label={label}
              quota={data[name as keyof typeof LABELS]}
              format={name === 'storedBytes' ? formatBytes : formatNumber}
            />
          ))}
        </tbody>
      </table>
      <div className={classes.change}>
        <ActionButton
          scope="tenants:write"
          place={{ tenantId: tenant.id }}
          variant="default"
          disabledReason={me.platformAdministrator ? null : 'Only platform administrators set limits.'}
          onClick={() => setState({ edit: '1' })}
        >
          Change the limits
        </ActionButton>
      </div>
      {data.largestAccounts.length > 0 && (
        <table className={classes.limits}>
          <caption>Accounts whose spans take the most stored bytes</caption>
          <thead>
            <tr>
              <th scope="col">Account</th>
              <th scope="col">Stored</th>
              <th scope="col">Of the limit</th>
            </tr>
          </thead>
          <tbody>
            {data.largestAccounts.map(({ account, storedBytes }) => (
              <tr key={account}>
                <th scope="row">
                  <PrincipalName principal={account} />
                </th>
                <td className="num">{formatBytes(storedBytes)}</td>
                <td className="num">{shareText(storedBytes, data.storedBytes.limit)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {state['edit'] !== undefined && (
        <LimitsForm tenant={tenant} usage={data} labels={LABELS} close={() => setState({ edit: undefined })} />
      )}
    </div>
  );
}

function shareText(used: number, limit: number): string {
  const percent = Math.round((limit === 0 ? 1 : used / limit) * 100);
  return percent === 0 && used > 0 ? '<1%' : `${percent}%`;
}

type QuotaProps = { label: string; quota: TenantQuota; format: (value: number) => string };

function Quota({ label, quota: { used, limit, isDefault }, format }: QuotaProps): ReactNode {
  const share = limit === 0 ? 1 : used / limit;
  return (
    <tr>
      <th scope="row">{label}</th>
      <td className="num">{format(used)}</td>
      <td className="num">
        {format(limit)} {isDefault && <span className="dim">default</span>}
      </td>
      <td>
        <meter min={0} max={1} high={0.8} value={share} aria-label={`${label}: share of the limit`} />{' '}
        <span className="num dim">{shareText(used, limit)}</span>
      </td>
    </tr>
  );
}
