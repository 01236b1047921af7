import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';

/** What each tool answers. */
const ANSWERS = {
  list_bookings: 'One booking: five nights.',
  cancel_booking: 'The booking is cancelled.',
} as const;

/** The tool that the server offers from the start, and the one that its owner adds later. */
export const FIRST_TOOL = 'list_bookings';
export const ADDED_TOOL = 'cancel_booking';

/** A small MCP server on loopback, in this process. Its owner can add a tool while it runs. */
export type BookingsServer = { url: string; addTool: () => void; stop: () => Promise<void> };

export async function startBookingsServer(): Promise<BookingsServer> {
  const tools: (keyof typeof ANSWERS)[] = [FIRST_TOOL];
  const handler = createMcpHandler(() => {
    const mcp = new McpServer({ name: 'bookings', version: '1.0.0' });
    for (const tool of tools) mcp.registerTool(tool, {}, () => ({ content: [{ type: 'text', text: ANSWERS[tool] }] }));
    return mcp;
  });
  const handle = toNodeHandler(handler);
  const server = createServer((request, response) => {
    void handle(request as Parameters<typeof handle>[0], response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    addTool: () => void tools.push(ADDED_TOOL),
    async stop() {
      await handler.close();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}
