import type { ServiceAccount } from '@quartermaster/client';
import { listTelemetryHealthOptions } from '@quartermaster/client/@tanstack/react-query.gen.ts';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { RowLink } from '../../components/row-link.tsx';
import { Health, stateOf } from './health.tsx';
import classes from './accounts.module.css';

/** How the telemetry of an account arrives, for each of its keys. It is open if something of it needs to be mended. */
export function AccountTelemetry({ account: { id, tenantId } }: { account: ServiceAccount }): ReactNode {
  const query = { ...(tenantId !== null && { tenant_id: tenantId }), service_account_id: id };
  const { data } = useQuery(listTelemetryHealthOptions({ query }));
  if (data === undefined) return null;
  const keys = data.items[0]?.keys ?? [];
  if (keys.length === 0) {
    return (
      <p className="dim">
        It has sent no telemetry.{' '}
        <RowLink path="/connect" search={{ account: id, of: tenantId ?? undefined, with: 'existing' }}>
          Connect an agent
        </RowLink>
      </p>
    );
  }
  const needsMending = keys.some(({ fix, problems }) => fix !== null || problems.length > 0);
  return (
    <details open={needsMending}>
      <summary>Telemetry{needsMending && ': something needs to be mended'}</summary>
      {keys.map((key) => (
        <section key={key.keyId}>
          <h3 className={classes.key}>
            {key.keyId === null ? (
              'Keys that are no longer counted separately'
            ) : (
              <RowLink path={`/accounts/${id}`} search={{ of: tenantId ?? undefined, item: key.keyId }}>
                <code>{key.keyId}</code>
              </RowLink>
            )}
          </h3>
          <Health health={key} {...stateOf(key)} />
        </section>
      ))}
    </details>
  );
}
