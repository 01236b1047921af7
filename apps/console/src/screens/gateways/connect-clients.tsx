import type { Gateway } from '@quartermaster/client';
import { Select } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { CopyBlock } from '../../components/copy.tsx';
import { plural } from '../../components/format.ts';
import { RowLink } from '../../components/row-link.tsx';
import { Empty } from '../../components/states.tsx';
import { BASE_PATH } from '../../data/base-path.ts';
import { providerLabel, useProviders } from '../../data/names.ts';
import { useUrlState } from '../../data/url-state.ts';
import { AccountStep, type NewKey } from '../connect/account-step.tsx';
import { CLIENT_NAMES, clientSnippet, sessionCommand } from './client-snippets.ts';
import classes from './gateways.module.css';

/** The address of each MCP server at the gateway, and a snippet for each client. */
export function ConnectClients({ gateway }: { gateway: Gateway }): ReactNode {
  const { byId } = useProviders();
  const [{ client = 'Claude Code', server: chosen }, setState] = useUrlState();
  const [made, setMade] = useState<NewKey | null>(null);
  const servers = gateway.providerIds.flatMap((id) => {
    const provider = byId.get(id);
    return provider?.kind === 'mcp' ? [{ id, name: provider.name, label: providerLabel(provider, id) }] : [];
  });
  const [first] = servers;
  const server = servers.find(({ id }) => id === chosen) ?? first;
  if (server === undefined) {
    return (
      <Empty title="No MCP server yet">
        The gateway lists no MCP server. <RowLink path="/providers">Declare one</RowLink> with its address, and add it
        to the gateway with Change.
      </Empty>
    );
  }
  const at = { service: window.location.origin + BASE_PATH, gatewayId: gateway.id };
  return (
    <div className={classes.connect}>
      {gateway.mcpProxy === 'off' && (
        <p className="danger">
          The MCP proxy of this gateway is off. Turn it on with Change, or agents get no answer here.
        </p>
      )}
      <div className="pair">
        <Select
          label="MCP server"
          data={servers.map((one) => ({ value: one.id, label: one.label }))}
          value={server.id}
          allowDeselect={false}
          onChange={(value) => setState({ server: value ?? undefined })}
        />
        <Select
          label="Client"
          data={CLIENT_NAMES}
          value={client}
          allowDeselect={false}
          onChange={(value) => setState({ client: value ?? undefined })}
        />
      </div>
      {gateway.enforcement === 'observe' && (
        <p className="dim">
          This gateway only observes: every call is permitted, and the view Denied lists what it would deny. Press
          Enforce to deny it.
        </p>
      )}
      <p>
        First, the agent needs a key. The key opens sessions, and the agent uses what the gateway allows its account.
      </p>
      <AccountStep
        use="gateway"
        place={{ tenantId: gateway.tenantId, subTenantId: gateway.subTenantId }}
        created={(next) => {
          setMade(next);
          setState({ account: next.accountId, with: 'existing' });
        }}
      />
      <p>
        Then open a session with it. The token lasts {plural(gateway.sessionTtlSeconds / 60, 'minute')}; after that the
        agent opens another one.{made !== null && ' The key is shown this once.'}
      </p>
      <CopyBlock label="Open a session" text={sessionCommand({ ...at, key: made?.secret ?? '<key>' })} />
      <p>Then point the client at the gateway, not at the server, in the same shell:</p>
      <CopyBlock label={`Set-up of ${client}`} text={clientSnippet(client, { ...at, provider: server.name })} />
    </div>
  );
}
