import { accountWithKey, type Place, unique } from '../support/people.ts';
import type { Body, TestServer } from '../support/server.ts';
import { all, chat, sendSpans } from '../telemetry/traces/sending.ts';

/** A tenant with a declared provider `openai`, and a sender that may only send spans. */
export type Tenant = Awaited<ReturnType<typeof newTenant>>;

export async function newTenant(server: TestServer, tenantId = unique('loop')) {
  const place: Place = { tenantId };
  const sender = await accountWithKey(server, place, ['traces:write']);
  const operator = await accountWithKey(server, place);
  const provider = await server.ok('POST', '/v1/providers', {
    as: operator,
    body: { name: 'openai', kind: 'llm', baseUrl: 'https://api.openai.com/v1' },
  });
  const path = `/v1/providers/${provider.id}`;
  const as = operator;
  return {
    tenantId,
    sender,
    operator,
    provider,
    path,
    /** Sends one span of a model at the provider. */
    see: (model: string, from: { key: string } = sender) => sendSpans(server, from, [atOpenai(model)]),
    observation: async (name: string, subTenantId: string | null = null): Promise<Body> => {
      const found = await all(server, `/v1/runtime-observations?name=${encodeURIComponent(name)}`, as);
      return found.find((one) => one.subTenantId === subTenantId);
    },
    recommendations: (status = 'open'): Promise<Body[]> => all(server, `${path}/recommendations?status=${status}`, as),
    tasks: (status = 'open'): Promise<Body[]> => all(server, `/v1/operator/tasks?status=${status}`, as),
    items: async (): Promise<Body[]> => all(server, `${path}/inventory?limit=100`, as),
    review: (id: string, decision: string, by: { key: string } = as, note?: string): Promise<Body> =>
      server.ok('POST', `/v1/runtime-observations/${id}/review`, { as: by, body: { decision, ...(note && { note }) } }),
    apply: (body: object = {}, by: { key: string } = as): Promise<Body> =>
      server.ok('POST', `${path}/recommendations/apply`, { as: by, body }),
  };
}

export function atOpenai(model: string) {
  return chat(model, { 'gen_ai.provider.name': 'openai' });
}

/** A record without `updatedAt`. */
export function untimed(record: Body): Body {
  const { updatedAt: _, ...rest } = record;
  return rest;
}
