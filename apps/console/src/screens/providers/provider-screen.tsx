import { deleteProvider, type Provider, syncProviderInventory, updateProvider } from '@quartermaster/client';
import { getProviderOptions } from '@quartermaster/client/@tanstack/react-query.gen.ts';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { DangerButton } from '../../components/danger-button.tsx';
import { CopyId } from '../../components/copy.tsx';
import { Views } from '../../components/filters.tsx';
import { formatInterval, plural } from '../../components/format.ts';
import { MeaningMark, StateMark, Tag } from '../../components/marks.tsx';
import { placeOf } from '../../components/place.tsx';
import { Screen } from '../../components/screen.tsx';
import { Failed, Loading, MissingScope } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useAction } from '../../components/use-action.ts';
import { UsedBy } from '../../components/used-by.tsx';
import { idempotencyKey, ifMatch } from '../../data/client.ts';
import { useMe } from '../../data/me.ts';
import { holds } from '../../data/rights.ts';
import { problemOf } from '../../data/problem.ts';
import { useUrlState } from '../../data/url-state.ts';
import { apiPath } from '../../data/curl.ts';
import { CANNOT_SYNC } from './cannot-sync.ts';
import { CredentialTab } from './credential-tab.tsx';
import { HealthNote } from './health-note.tsx';
import { InventoryTab } from './inventory-tab.tsx';
import { McpNote } from './mcp-note.tsx';
import { ObservationsTab } from './observations-tab.tsx';
import { ProviderForm } from './provider-form.tsx';
import { SyncsTab } from './syncs-tab.tsx';

const TABS = [
  { value: 'inventory', label: 'Inventory' },
  { value: 'observations', label: 'Observed' },
  { value: 'credential', label: 'Credential' },
  { value: 'syncs', label: 'Syncs' },
];

export function ProviderScreen(): ReactNode {
  const { providerId } = useParams({ from: '/providers/$providerId' });
  const path = { provider_id: providerId };
  const { data: provider, error, refetch } = useQuery(getProviderOptions({ path }));
  if (provider === undefined) {
    return (
      <Screen title="Provider">
        {error === null ? <Loading /> : <Failed problem={problemOf(error)} retry={() => void refetch()} />}
      </Screen>
    );
  }
  return <Loaded key={provider.id} provider={provider} />;
}

function Loaded({ provider }: { provider: Provider }): ReactNode {
  const [state, setState] = useUrlState();
  const { id, name, displayName, status } = provider;
  const tab = state['view'] ?? 'inventory';
  const me = useMe();
  return (
    <Screen
      title={displayName ?? name}
      above={<Link to="/providers">Providers</Link>}
      heading={
        <>
          {displayName ?? name}
          <MeaningMark meaning={status === 'discovered' ? 'unknown' : 'declared'}>
            {status === 'discovered' ? 'discovered, not declared' : 'declared'}
          </MeaningMark>
        </>
      }
      summary={<Summary provider={provider} />}
      request={{ method: 'GET', path: apiPath`/v1/providers/${id}` }}
      actions={<Actions provider={provider} />}
      toolbar={<Views label="Part" views={TABS} />}
    >
      {tab === 'inventory' && <InventoryTab provider={provider} />}
      {tab === 'observations' && <ObservationsTab provider={provider} />}
      {tab === 'credential' &&
        (holds(me, 'credentials:read', provider) ? (
          <CredentialTab provider={provider} />
        ) : (
          <MissingScope scope="credentials:read" />
        ))}
      {tab === 'syncs' && <SyncsTab provider={provider} />}
      {state['edit'] !== undefined && <ProviderForm provider={provider} close={() => setState({ edit: undefined })} />}
    </Screen>
  );
}

function Summary({ provider }: { provider: Provider }): ReactNode {
  const { id, aliases, kind, status, baseUrl, headers, description } = provider;
  const { inventorySyncedAt, syncIntervalSeconds, mcp } = provider;
  return (
    <div className="row">
      <Tag>{kind.replaceAll('_', ' ')}</Tag>
      <StateMark state={status} tone={status === 'active' ? 'live' : 'quiet'} />
      <HealthNote {...provider} />
      <span>
        synced <Time at={inventorySyncedAt} />
        {syncIntervalSeconds !== null && `, ${formatInterval(syncIntervalSeconds)}`}
      </span>
      {mcp !== null && <McpNote mcp={mcp} />}
      {baseUrl !== null && <span className="mono truncate">{baseUrl}</span>}
      {headers.length > 0 && (
        <span className="truncate">sends {headers.map(({ name, value }) => `${name}: ${value}`).join(', ')}</span>
      )}
      {aliases.length > 0 && <span className="truncate">also called {aliases.join(', ')}</span>}
      {placeOf(provider)}
      <CopyId id={id} />
      {description !== null && <span className="truncate">{description}</span>}
    </div>
  );
}

function Actions({ provider }: { provider: Provider }): ReactNode {
  const [, setState] = useUrlState();
  const navigate = useNavigate();
  const { id, name, status, baseUrl, kind, mcp } = provider;
  const path = { provider_id: id };
  const sync = useAction({
    run: async () => (await syncProviderInventory({ path, headers: idempotencyKey(), throwOnError: true })).data,
    done: ({ added, pending, updated, removed, held, errorCount }) =>
      `Synced: ${added} added${pending > 0 ? ` (${pending} wait for a decision)` : ''}, ${updated} changed, ${removed} lost${held > 0 ? `, ${held} no longer listed and kept until you decide` : ''}${errorCount > 0 ? `, ${plural(errorCount, 'error')}` : ''}.`,
  });
  const headers = () => ({ ...idempotencyKey(), ...ifMatch(`/v1/providers/${id}`) });
  const toggle = useAction({
    run: async () => {
      const body = { status: status === 'disabled' ? ('active' as const) : ('disabled' as const) };
      return (await updateProvider({ path, body, headers: headers(), throwOnError: true })).data;
    },
    done: (saved) =>
      saved.status === 'disabled'
        ? `${name} is disabled. Sessions grant nothing of it, and a use of it is a high risk.`
        : `${name} is enabled.`,
  });
  const isTrusted = mcp?.headerChecks === 'trusted';
  const trust = useAction({
    run: async () => {
      const body = { mcp: isTrusted ? null : { headerChecks: 'trusted' as const } };
      return (await updateProvider({ path, body, headers: headers(), throwOnError: true })).data;
    },
    done: (saved) =>
      saved.mcp?.headerChecks === 'trusted'
        ? `The headers of requests to ${name} are trusted.`
        : `The next sync tries whether ${name} compares headers with bodies.`,
  });
  const remove = useAction({
    run: () => deleteProvider({ path, headers: headers(), throwOnError: true }),
    done: () => `${name} was deleted.`,
    onDone: () => navigate({ to: '/providers', replace: true }),
  });
  return (
    <>
      <DangerButton
        scope="providers:write"
        place={provider}
        title={`Delete ${name}?`}
        consequence={
          <>
            <p>
              Its inventory goes with it, and gateways no longer list it. Observations and traces stay. It is used by:
            </p>
            <UsedBy used={{ providerId: id }} />
          </>
        }
        confirm="Delete the provider"
        action={remove}
      >
        Delete
      </DangerButton>
      <DangerButton
        scope="providers:write"
        place={provider}
        title={`Disable ${name}?`}
        consequence={
          <>
            <p>
              New sessions grant nothing of it, introspection leaves it out of open ones, and a use of it is a high
              risk. Gateways that verify tokens offline allow it until the sessions expire. It is used by:
            </p>
            <UsedBy used={{ providerId: id }} />
          </>
        }
        confirm="Disable the provider"
        action={toggle}
        opposite={status === 'disabled' ? { label: 'Enable', action: toggle } : null}
      >
        Disable
      </DangerButton>
      {kind === 'mcp' && mcp?.headerChecks !== 'verified' && (
        <DangerButton
          scope="providers:write"
          place={provider}
          title={`Trust the headers of requests to ${name}?`}
          consequence={
            <p>
              Reverse proxies then decide by headers alone, whatever syncs find. If the server does not compare them
              with the body, an agent can name one tool in the headers and call another one.
            </p>
          }
          confirm="Trust the headers"
          action={trust}
          opposite={isTrusted ? { label: 'Stop trusting headers', action: trust } : null}
        >
          Trust headers
        </DangerButton>
      )}
      <ActionButton scope="providers:write" place={provider} variant="default" onClick={() => setState({ edit: '1' })}>
        Change
      </ActionButton>
      <ActionButton
        scope="providers:write"
        place={provider}
        variant="default"
        disabledReason={baseUrl === null ? CANNOT_SYNC : null}
        loading={sync.isPending}
        onClick={() => sync.mutate()}
      >
        Sync now
      </ActionButton>
      <ActionButton
        scope="recommendations:read"
        place={provider}
        onClick={() => void navigate({ to: '/providers/$providerId/plan', params: { providerId: id } })}
      >
        Plan changes
      </ActionButton>
    </>
  );
}
