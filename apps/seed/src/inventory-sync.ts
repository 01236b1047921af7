import { createProvider, syncProviderInventory, updateProvider } from '@quartermaster/client';
import { dataOf, detailOf, failureOf } from './calls.ts';
import { FAILING, SYNCED } from './company.ts';
import type { Context } from './context.ts';
import { startToolServer, type ToolServer } from './tool-server.ts';

/** A provider whose inventory is really synced, from an MCP server that the seed runs. */
export type SyncedProvider = {
  /** Changes a tool and removes another one at the MCP server, and syncs again, which causes drift. */
  syncChangedTools(): Promise<void>;
  /** Stops the MCP server, and gives the providers addresses that look like a company's. */
  stop(): Promise<void>;
  /** False if the server could not reach the MCP server, so that nothing was synced. */
  isReachable: boolean;
};

export async function makeSyncedProvider(context: Context): Promise<SyncedProvider> {
  const { admin: client } = context;
  const tools = await startToolServer();
  try {
    const provider = await dataOf(createProvider({ client, body: { ...SYNCED, baseUrl: tools.url } }));
    const path = { provider_id: provider.id };
    const isReachable = await firstSync(context, provider.id);
    const failing = isReachable ? await makeFailingProvider(context, tools) : undefined;
    return {
      isReachable,
      async syncChangedTools() {
        if (!isReachable) return;
        tools.changeTools();
        await dataOf(syncProviderInventory({ client, path }));
      },
      async stop() {
        await tools.stop();
        await dataOf(updateProvider({ client, path, body: { baseUrl: 'https://kb.northwind.example/mcp' } }));
        if (failing === undefined) return;
        const body = { baseUrl: 'https://crm.northwind.example/mcp' };
        await dataOf(updateProvider({ client, path: { provider_id: failing }, body }));
      },
    };
  } catch (error) {
    await tools.stop();
    throw error;
  }
}

async function firstSync({ admin: client, notes }: Context, providerId: string): Promise<boolean> {
  const answer = await syncProviderInventory({ client, path: { provider_id: providerId } });
  if (answer.data !== undefined) return true;
  if (answer.response?.status !== 502) throw failureOf(answer);
  notes.push(`No drift was made, because the server cannot sync from this machine: ${detailOf(answer.error)}`);
  return false;
}

/** A provider whose last sync failed. */
async function makeFailingProvider({ admin: client }: Context, tools: ToolServer): Promise<string> {
  const { id } = await dataOf(createProvider({ client, body: { ...FAILING, baseUrl: tools.refusingUrl } }));
  const answer = await syncProviderInventory({ client, path: { provider_id: id } });
  if (answer.response?.status !== 502) throw failureOf(answer);
  return id;
}
