import { defineMcpClientConnection } from 'eve/connections';

export default defineMcpClientConnection({
  url: process.env['MCP_URL'] ?? '',
  description: 'content-marker-tool-description',
  protocolVersionDiscovery: false,
});
