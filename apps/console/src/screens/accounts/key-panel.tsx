import type { Credential, ServiceAccount } from '@quartermaster/client';
import { listTelemetryHealthOptions } from '@quartermaster/client/@tanstack/react-query.gen.ts';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { CopyId } from '../../components/copy.tsx';
import { PrincipalName } from '../../components/principal.tsx';
import { Facts, Section, SidePanel } from '../../components/side-panel.tsx';
import { Time } from '../../components/time.tsx';
import { AccessLink } from '../access/access-link.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { problemOf } from '../../data/problem.ts';
import { Expiry } from './expiry.tsx';
import { Health, stateOf } from './health.tsx';
import { KeyStatus } from './key-status.tsx';

type Props = {
  account: ServiceAccount;
  credential: Credential;
  rotate: () => void;
  revoke: () => void;
  close: () => void;
};

export function KeyPanel({ account, credential, rotate, revoke, close }: Props): ReactNode {
  const { id, name, prefix, status, scopes, expiresAt, lastUsedAt, createdAt, createdBy, revokedAt } = credential;
  const isOver = status === 'revoked' || status === 'expired';
  const overReason = isOver ? `It is ${status} already.` : null;
  return (
    <SidePanel
      label={`Key ${name ?? prefix ?? id}`}
      close={close}
      heading={
        <>
          <h2>{name ?? 'without a name'}</h2>
          <KeyStatus status={status} />
        </>
      }
      footer={
        <div className="row">
          <ActionButton scope="credentials:write" place={account} isDanger disabledReason={overReason} onClick={revoke}>
            Revoke
          </ActionButton>
          <ActionButton
            scope="credentials:write"
            place={account}
            variant="default"
            disabledReason={account.status === 'active' ? overReason : 'The account is not active.'}
            onClick={rotate}
          >
            Rotate
          </ActionButton>
        </div>
      }
    >
      <Section title="Key">
        <Facts
          facts={[
            ['Begins with', <code key="prefix">{prefix}</code>],
            ['Expires', <Expiry key="expires" at={expiresAt} isSoon={status === 'expiring'} />],
            ['Last used', <Time key="used" at={lastUsedAt} />],
            ['Created', <Time key="created" at={createdAt} />],
            ['Created by', <PrincipalName key="by" principal={createdBy} />],
            ['Rotations', credential.rotationCount === 0 ? null : String(credential.rotationCount)],
            ['Revoked', revokedAt === null ? null : <Time key="revoked" at={revokedAt} />],
            [
              'Access it gave',
              <AccessLink key="access" source={`api_key:${id}`}>
                What was created with it
              </AccessLink>,
            ],
            ['Id', <CopyId key="id" id={id} />],
          ]}
        />
      </Section>
      <Section title="Telemetry">
        <KeyHealth account={account} keyId={id} />
      </Section>
      <Section title="What it may do">
        <ul>
          {scopes.map((scope) => (
            <li key={scope} className="mono">
              {scope === '*' ? 'everything' : scope}
            </li>
          ))}
        </ul>
      </Section>
    </SidePanel>
  );
}

/** What was sent with the key. */
function KeyHealth({ account: { id, tenantId }, keyId }: { account: ServiceAccount; keyId: string }): ReactNode {
  const query = { ...(tenantId !== null && { tenant_id: tenantId }), service_account_id: id, key_id: keyId };
  const { data, error } = useQuery(listTelemetryHealthOptions({ query }));
  if (error !== null) return <p>{problemOf(error).message}</p>;
  const health = data?.items[0]?.keys[0];
  if (health !== undefined) return <Health health={health} {...stateOf(health)} />;
  return (
    <p className="dim">
      {data === undefined ? 'Loading' : 'Nothing was sent with it. '}
      {data !== undefined && (
        <RowLink path="/connect" search={{ account: id, of: tenantId ?? undefined, key: keyId, with: 'existing' }}>
          Connect an agent
        </RowLink>
      )}
    </p>
  );
}
