import type { Gateway } from '@quartermaster/client';
import { Select } from '@mantine/core';
import type { ReactNode } from 'react';
import { CopyBlock } from '../../components/copy.tsx';
import { Empty } from '../../components/states.tsx';
import { BASE_PATH } from '../../data/base-path.ts';
import { providerLabel, useProviders } from '../../data/names.ts';
import { useUrlState } from '../../data/url-state.ts';
import { CLIENT_NAMES, clientSnippet, sessionCommand } from './client-snippets.ts';
import classes from './gateways.module.css';

/** The address of each MCP server at the gateway, and a snippet for each client. */
export function ConnectClients({ gateway }: { gateway: Gateway }): ReactNode {
  const { byId } = useProviders();
  const [{ client = 'Claude Code', of }, setState] = useUrlState();
  const servers = gateway.providerIds.flatMap((id) => {
    const provider = byId.get(id);
    return provider?.kind === 'mcp' ? [{ id, name: provider.name, label: providerLabel(provider, id) }] : [];
  });
  const [first] = servers;
  const server = servers.find(({ id }) => id === of) ?? first;
  if (server === undefined) {
    return <Empty title="No MCP server yet">The gateway lists no provider of the kind mcp.</Empty>;
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
          onChange={(value) => setState({ of: value ?? undefined })}
        />
        <Select
          label="Client"
          data={CLIENT_NAMES}
          value={client}
          allowDeselect={false}
          onChange={(value) => setState({ client: value ?? undefined })}
        />
      </div>
      <p>First, open a session with an API key of the agent. The token lasts as long as the session.</p>
      <CopyBlock label="Open a session" text={sessionCommand(at)} />
      <p>Then point the client at the gateway, not at the server:</p>
      <CopyBlock label={`Set-up of ${client}`} text={clientSnippet(client, { ...at, provider: server.name })} />
    </div>
  );
}
