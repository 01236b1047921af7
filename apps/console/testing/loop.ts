import { accountWithKey, memberWithToken, type Person, unique } from '@quartermaster/api/test/support/people.ts';
import type { TestServer } from '@quartermaster/api/test/support/server.ts';
import { chat, sendSpans } from '@quartermaster/api/test/telemetry/traces/sending.ts';

/** A tenant with one declared provider, an agent that uses models of it, and people who decide. */
export type Loop = {
  tenantId: string;
  providerId: string;
  /** Lets the agent call the models once each, now. */
  use: (...models: string[]) => Promise<void>;
  /** A person who decides and applies. */
  operator: () => Promise<Person>;
  /** The observation about a model. */
  observationOf: (model: string) => Promise<{ id: string; status: string; review: { decision: string } | null }>;
  /** The inventory of the provider, as `name: status`. */
  inventory: () => Promise<string[]>;
};

export async function startLoop(server: TestServer): Promise<Loop> {
  const tenantId = unique('loop');
  const agent = await accountWithKey(server, { tenantId }, ['traces:write']);
  const as = server.admin;
  const provider = { name: 'openai', kind: 'llm', baseUrl: 'https://api.openai.com/v1', tenantId };
  const { id: providerId } = await server.ok('POST', '/v1/providers', { as, body: provider });
  await server.ok('POST', `/v1/providers/${providerId}/inventory`, { as, body: { kind: 'model', name: 'gpt-5' } });
  const where = { 'gen_ai.provider.name': 'openai', 'server.address': 'api.openai.com' };
  return {
    tenantId,
    providerId,
    use: async (...models) => {
      const start = BigInt(server.services.now().getTime()) * 1_000_000n;
      await sendSpans(
        server,
        agent,
        models.map((model) => ({ ...chat(model, where), start })),
      );
    },
    operator: () => memberWithToken(server, { tenantId }, 'operator'),
    observationOf: async (model) => {
      const path = `/v1/runtime-observations?tenant_id=${tenantId}&name=${model}`;
      return (await server.ok('GET', path, { as })).items[0];
    },
    inventory: async () => {
      const { items } = await server.ok('GET', `/v1/providers/${providerId}/inventory`, { as });
      return items.map(({ name, status }: { name: string; status: string }) => `${name}: ${status}`).toSorted();
    },
  };
}
