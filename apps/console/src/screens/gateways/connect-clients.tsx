import type { Gateway } from '@quartermaster/client';
import { Select } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { CopyBlock } from '../../components/copy.tsx';
import { plural } from '../../components/format.ts';
import { RowLink } from '../../components/row-link.tsx';
import { Empty } from '../../components/states.tsx';
import { providerLabel, useProviders } from '../../data/names.ts';
import { useUrlState } from '../../data/url-state.ts';
import { AccountStep, type NewKey } from '../connect/account-step.tsx';
import classes from './gateways.module.css';

type Target = { url: string; name: string };

/** How a client reaches an MCP server through the gateway. `$QM_SESSION` holds the token of a session. */
const CLIENTS: Record<string, (target: Target) => string> = {
  'Claude Code': ({ url, name }) =>
    `claude mcp add --transport http ${name} ${url} \\\n  --header "Authorization: Bearer $QM_SESSION"`,
  Cursor: ({ url, name }) => mcpServers(name, { url, headers: { Authorization: `Bearer \${env:QM_SESSION}` } }),
  'VS Code': ({ url, name }) =>
    JSON.stringify(
      {
        inputs: [{ id: 'qm-session', type: 'promptString', description: 'Session token', password: true }],
        servers: { [name]: { type: 'http', url, headers: { Authorization: `Bearer \${input:qm-session}` } } },
      },
      null,
      2,
    ),
  Codex: ({ url, name }) => `[mcp_servers.${name}]\nurl = "${url}"\nbearer_token_env_var = "QM_SESSION"`,
  LangChain: ({ url, name }) =>
    `import { MultiServerMCPClient } from '@langchain/mcp-adapters';\n\nconst client = new MultiServerMCPClient({\n  ${JSON.stringify(name)}: { url: '${url}', headers: { Authorization: \`Bearer \${process.env.QM_SESSION}\` } },\n});\nconst tools = await client.getTools();`,
  'AI SDK': ({ url }) =>
    `import { createMCPClient } from '@ai-sdk/mcp';\n\nconst client = await createMCPClient({\n  transport: { type: 'http', url: '${url}', headers: { Authorization: \`Bearer \${process.env.QM_SESSION}\` } },\n});\nconst tools = await client.tools();`,
  'MCP SDK': ({ url }) =>
    `import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';\n\nconst client = new Client({ name: 'my-agent', version: '1.0.0' });\nconst headers = { Authorization: \`Bearer \${process.env.QM_SESSION}\` };\nawait client.connect(new StreamableHTTPClientTransport(new URL('${url}'), { requestInit: { headers } }));\nconst { tools } = await client.listTools();`,
  curl: ({ url }) =>
    `curl ${url} -H "Authorization: Bearer $QM_SESSION" -H 'Content-Type: application/json' \\\n  -H 'Accept: application/json, text/event-stream' \\\n  -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`,
};

function mcpServers(name: string, server: object): string {
  return JSON.stringify({ mcpServers: { [name]: server } }, null, 2);
}

/** The service as agents reach it: the console is below `/console`. */
function serviceUrl(): string {
  return window.location.href.replace(/\/console(?:[/?#].*)?$/, '');
}

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
  const url = `${serviceUrl()}/v1/gateways/${gateway.id}/mcp/${encodeURIComponent(server.name)}`;
  const name = server.name.replaceAll(/[^\w-]+/g, '-');
  const snippet = CLIENTS[client] ?? CLIENTS['curl'];
  const key = made?.secret ?? '<key>';
  // Without jq: the token has no quotation mark.
  const open = `export QM_SESSION=$(curl -fsS -X POST ${serviceUrl()}/v1/gateways/${gateway.id}/sessions \\\n  -H 'X-API-Key: ${key}' -H 'Content-Type: application/json' -d '{}' | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')`;
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
          data={Object.keys(CLIENTS)}
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
      <CopyBlock label="Open a session" text={open} />
      <p>Then point the client at the gateway, not at the server, in the same shell:</p>
      <CopyBlock label={`Set-up of ${client}`} text={snippet?.({ url, name }) ?? ''} />
    </div>
  );
}
