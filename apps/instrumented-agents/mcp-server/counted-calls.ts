import { createRequire } from 'node:module';
import { countInto } from '../recorder/truth.ts';

/** The official test server, which the tests of the API install. */
export const EVERYTHING_PROGRAM = createRequire(new URL('../../api/package.json', import.meta.url)).resolve(
  '@modelcontextprotocol/server-everything/dist/index.js',
);

type JsonRpcMessage = { method?: string; params?: { name?: string } };

/** Counts the tool calls in JSON-RPC text that a client sends to the server. Text that is no JSON is the server's to refuse. */
export function countToolCalls(text: string, truthFile: string): void {
  let parsed: JsonRpcMessage | JsonRpcMessage[];
  try {
    parsed = JSON.parse(text) as JsonRpcMessage | JsonRpcMessage[];
  } catch {
    return;
  }
  for (const { method, params } of Array.isArray(parsed) ? parsed : [parsed]) {
    if (method !== 'tools/call') continue;
    const name = params?.name ?? '';
    countInto(truthFile, { kind: 'tool', name, server: 'everything', runsAt: null, failed: false });
  }
}
