import { apiPath, shellQuoted } from '../../data/curl.ts';

type Target = { url: string; name: string };

/**
 * How a client reaches an MCP server through the gateway. `$QM_SESSION` holds the token of a session. Address and name have parts that
 * people chose, so each of them is quoted for the language that it stands in.
 */
const CLIENTS: Record<string, (target: Target) => string> = {
  'Claude Code': ({ url, name }) =>
    `claude mcp add --transport http ${shellQuoted(name)} ${shellQuoted(url)} \\\n  --header "Authorization: Bearer $QM_SESSION"`,
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
  Codex: ({ url, name }) => `[mcp_servers.${name}]\nurl = ${JSON.stringify(url)}\nbearer_token_env_var = "QM_SESSION"`,
  LangChain: ({ url, name }) =>
    `import { MultiServerMCPClient } from '@langchain/mcp-adapters';\n\nconst client = new MultiServerMCPClient({\n  ${JSON.stringify(name)}: { url: ${JSON.stringify(url)}, headers: { Authorization: \`Bearer \${process.env.QM_SESSION}\` } },\n});\nconst tools = await client.getTools();`,
  'AI SDK': ({ url }) =>
    `import { createMCPClient } from '@ai-sdk/mcp';\n\nconst client = await createMCPClient({\n  transport: { type: 'http', url: ${JSON.stringify(url)}, headers: { Authorization: \`Bearer \${process.env.QM_SESSION}\` } },\n});\nconst tools = await client.tools();`,
  'MCP SDK': ({ url }) =>
    `import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';\n\nconst client = new Client({ name: 'my-agent', version: '1.0.0' });\nconst headers = { Authorization: \`Bearer \${process.env.QM_SESSION}\` };\nawait client.connect(new StreamableHTTPClientTransport(new URL(${JSON.stringify(url)}), { requestInit: { headers } }));\nconst { tools } = await client.listTools();`,
  curl: ({ url }) =>
    `curl ${shellQuoted(url)} -H "Authorization: Bearer $QM_SESSION" -H 'Content-Type: application/json' \\\n  -H 'Accept: application/json, text/event-stream' \\\n  -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`,
};

export const CLIENT_NAMES = Object.keys(CLIENTS);

type McpServer = { service: string; gatewayId: string; provider: string };

/** The set-up of a client for an MCP server at a gateway. `service`: the address of the service. */
export function clientSnippet(client: string, { service, gatewayId, provider }: McpServer): string {
  const snippet = CLIENTS[Object.hasOwn(CLIENTS, client) ? client : 'curl'];
  const url = service + apiPath`/v1/gateways/${gatewayId}/mcp/${provider}`;
  return snippet?.({ url, name: localNameOf(provider) }) ?? '';
}

type Opening = Omit<McpServer, 'provider'> & { key: string };

/** Opens a session, and keeps its token in `$QM_SESSION`. Without jq, because the token has no quotation mark. */
export function sessionCommand({ service, gatewayId, key }: Opening): string {
  const url = service + apiPath`/v1/gateways/${gatewayId}/sessions`;
  return `export QM_SESSION=$(curl -fsS -X POST ${shellQuoted(url)} \\\n  -H ${shellQuoted(`X-API-Key: ${key}`)} -H 'Content-Type: application/json' -d '{}' | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')`;
}

/** The name of the server in the settings of a client. It begins with no hyphen: a command line would read an option. */
function localNameOf(provider: string): string {
  return provider.replaceAll(/[^\w-]+/g, '-').replace(/^-+/, '') || 'server';
}

function mcpServers(name: string, server: object): string {
  return JSON.stringify({ mcpServers: { [name]: server } }, null, 2);
}
