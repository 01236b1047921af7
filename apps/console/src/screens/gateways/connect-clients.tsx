import type { Gateway } from '@quartermaster/client';
import { Select } from '@mantine/core';
import type { ReactNode } from 'react';
import { CopyBlock } from '../../components/copy.tsx';
import { Empty } from '../../components/states.tsx';
import { providerLabel, useProviders } from '../../data/names.ts';
import { useUrlState } from '../../data/url-state.ts';
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
  const url = `${serviceUrl()}/v1/gateways/${gateway.id}/mcp/${encodeURIComponent(server.name)}`;
  const name = server.name.replaceAll(/[^\w-]+/g, '-');
  const snippet = CLIENTS[client] ?? CLIENTS['curl'];
  const open = `QM_SESSION=$(curl -s -X POST ${serviceUrl()}/v1/gateways/${gateway.id}/sessions \\\n  -H "X-API-Key: $KEY" -H 'Content-Type: application/json' -d '{}' | jq -r .token)`;
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
          data={Object.keys(CLIENTS)}
          value={client}
          allowDeselect={false}
          onChange={(value) => setState({ client: value ?? undefined })}
        />
      </div>
      <p>First, open a session with an API key of the agent. The token lasts as long as the session.</p>
      <CopyBlock label="Open a session" text={open} />
      <p>Then point the client at the gateway, not at the server:</p>
      <CopyBlock label={`Set-up of ${client}`} text={snippet?.({ url, name }) ?? ''} />
    </div>
  );
}
