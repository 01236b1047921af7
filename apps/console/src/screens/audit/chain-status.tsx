import { type AuditVerification, type Me, verifyAuditEvents } from '@quartermaster/client';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { formatNumber, plural } from '../../components/format.ts';
import { Icon } from '../../components/icons.tsx';
import { Time } from '../../components/time.tsx';
import { useMe } from '../../data/me.ts';
import { problemOf } from '../../data/problem.ts';
import { useTenantFilter } from '../../data/tenant.ts';
import classes from './audit.module.css';

/** How many events the first look checks. The rest is checked when the user asks for it. */
const FIRST_LOOK = 10_000;
const STALE_MS = 5 * 60_000;

type Checked = AuditVerification & { at: string };

/** Whether the hash chain of the tenant is intact, and as of when. Only who reads a whole tenant can verify its chain. */
export function ChainStatus(): ReactNode {
  const me = useMe();
  const { tenant_id: tenantId } = useTenantFilter();
  const isWhole = (held: Me['places'][number]) =>
    held.subTenantId === null && (tenantId === undefined || held.tenantId === tenantId);
  if (me.platformAdministrator || me.places.some(isWhole)) return <Verification />;
  return <div className={classes.chain}>The chain can be verified by those who see the whole tenant.</div>;
}

function Verification(): ReactNode {
  const filter = useTenantFilter();
  const [isWhole, setWhole] = useState(false);
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ['audit-chain', filter, isWhole],
    queryFn: ({ signal }) => verify(filter, isWhole, signal),
    staleTime: STALE_MS,
    refetchOnWindowFocus: false,
    retry: false,
  });
  const again = (
    <Button
      size="compact-xs"
      variant="subtle"
      color="gray"
      loading={isFetching}
      onClick={() => void refetch()}
      leftSection={<Icon name="refresh" size={13} />}
    >
      Verify again
    </Button>
  );
  const whose = filter.tenant_id === undefined ? '' : ` of ${filter.tenant_id}`;
  if (error !== null) {
    return (
      <div className={classes.chain}>
        The chain{whose} was not verified: {problemOf(error).message} {again}
      </div>
    );
  }
  if (data === undefined) return <div className={classes.chain}>Verifying the chain{whose}</div>;
  const { status, checked, size, sealedAt, faults, nextCursor, unsealed, tenantId, at } = data;
  return (
    <>
      <div className={classes.chain} role="status">
        {status === 'intact' ? (
          <strong className="row">
            <Icon name="check" /> The chain is intact
          </strong>
        ) : (
          <strong className="danger row">
            <Icon name="warning" /> The chain is broken
          </strong>
        )}
        <span>
          {tenantId === null ? 'Chain of the platform' : `Chain of ${tenantId}`}: {formatNumber(checked)} of{' '}
          {plural(size, 'event')} checked <Time at={at} />, sealed <Time at={sealedAt} />
          {unsealed > 0 && `, ${formatNumber(unsealed)} not sealed yet`}
        </span>
        {nextCursor === null ? (
          again
        ) : (
          <Button size="compact-xs" variant="default" onClick={() => setWhole(true)}>
            Check the rest
          </Button>
        )}
      </div>
      {faults.length > 0 && (
        <ul className={classes.faults} aria-label="Faults">
          {faults.slice(0, 5).map(({ kind, position, eventId, detail }) => (
            <li key={`${kind}-${position ?? ''}-${eventId ?? ''}`}>
              <strong>{kind.replaceAll('_', ' ')}</strong>
              {position !== null && ` at ${formatNumber(position)}`}: {detail}
            </li>
          ))}
          {faults.length > 5 && <li>And {formatNumber(faults.length - 5)} more. Copy as curl to read them all.</li>}
        </ul>
      )}
    </>
  );
}

async function verify(filter: { tenant_id?: string }, isWhole: boolean, signal: AbortSignal): Promise<Checked> {
  const ask = async (cursor: string | undefined) => {
    const query = { ...filter, limit: FIRST_LOOK, ...(cursor !== undefined && { cursor }) };
    return (await verifyAuditEvents({ query, signal, throwOnError: true })).data;
  };
  let latest = await ask(undefined);
  const faults = [...latest.faults];
  if (isWhole) {
    while (latest.nextCursor !== null) {
      latest = await ask(latest.nextCursor);
      faults.push(...latest.faults);
    }
  }
  return { ...latest, faults, at: new Date().toISOString() };
}
