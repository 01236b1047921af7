import { accountWithKey, memberWithToken, unique } from '../support/people.ts';
import type { Body, Credential, TestServer } from '../support/server.ts';

const hex = (length: number) => Array.from({ length }, () => Math.floor(Math.random() * 16).toString(16)).join('');
const text = (key: string, value: string) => ({ key, value: { stringValue: value } });

/** One GenAI span, as an OpenTelemetry exporter writes it in JSON. */
export function chatSpan(traceId: string, model: string, provider: string) {
  const start = BigInt(Date.now()) * 1_000_000n;
  return {
    resourceSpans: [
      {
        resource: { attributes: [text('service.name', 'support-agent')] },
        scopeSpans: [
          {
            scope: { name: 'openai', version: '2.1' },
            spans: [
              {
                traceId,
                spanId: hex(16),
                parentSpanId: hex(16),
                name: `chat ${model}`,
                kind: 3,
                startTimeUnixNano: String(start),
                endTimeUnixNano: String(start + 1_500_000n),
                attributes: [
                  text('gen_ai.operation.name', 'chat'),
                  text('gen_ai.provider.name', provider),
                  text('gen_ai.request.model', model),
                  text('gen_ai.conversation.id', 'conversation-1'),
                  { key: 'gen_ai.usage.input_tokens', value: { intValue: '12' } },
                  { key: 'gen_ai.usage.output_tokens', value: { intValue: '34' } },
                ],
                events: [{ timeUnixNano: String(start + 1n), name: 'first_token', attributes: [] }],
                links: [{ traceId: hex(32), spanId: hex(16), attributes: [] }],
                status: { code: 1 },
              },
            ],
          },
        ],
      },
    ],
  };
}

/** The records for calls of the specification's endpoints, created through the API for one caller. */
export type Fixtures = {
  as: Credential;
  tenantId: string;
  subTenantId: string;
  providerId: string;
  gatewayId: string;
  doomedManifestId: string;
  accountId: string;
  keyId: string;
  userId: string;
  doomedUserId: string;
  traceId: string;
  observationsCursor: string;
};

/** Observations of the fixtures' provider as the specification's endpoint 1 filters them. */
export function observationsQuery({ tenantId, subTenantId }: Pick<Fixtures, 'tenantId' | 'subTenantId'>): string {
  return `tenant_id=${tenantId}&sub_tenant_id=${subTenantId}&unknown=true&status=open`;
}

export async function fixturesFor(server: TestServer, as: Credential, tenantId: string): Promise<Fixtures> {
  const { admin } = server;
  const subTenantId = 'eu';
  const agent = await accountWithKey(server, { tenantId, subTenantId });
  const name = unique('provider');
  const provider: Body = await server.ok('POST', '/v1/providers', {
    as: admin,
    body: { name, kind: 'llm', baseUrl: 'https://api.example.com/v1', tenantId },
  });
  const item = { kind: 'model', name: 'gpt-declared', title: 'Declared' };
  await server.ok('POST', `/v1/providers/${provider.id}/inventory`, { as: admin, body: item });
  const traceId = hex(32);
  for (const model of ['model-one', 'model-two']) {
    await server.ok('POST', '/v1/traces', { as: { key: agent.key }, body: chatSpan(traceId, model, name) });
  }
  const publish = (): Promise<Body> =>
    server.ok('POST', '/v1/manifests', {
      as: admin,
      body: { name: unique('manifest'), kind: 'agent', spec: { declares: [] }, tenantId },
    });
  await publish();
  const doomedManifest = await publish();
  const gateway = await server.ok('POST', '/v1/gateways', {
    as: admin,
    body: { name: unique('gateway'), url: 'https://edge.example.com', providerIds: [provider.id], tenantId },
  });
  const user = await memberWithToken(server, { tenantId }, 'viewer');
  const doomedUser = await memberWithToken(server, { tenantId }, 'viewer');
  const observed = `/v1/providers/${provider.id}/observations?${observationsQuery({ tenantId, subTenantId })}&limit=1`;
  const observations = await server.ok('GET', observed, { as });
  return {
    as,
    tenantId,
    subTenantId,
    traceId,
    providerId: provider.id,
    gatewayId: gateway.id,
    doomedManifestId: doomedManifest.id,
    accountId: agent.id,
    keyId: agent.keyId,
    userId: user.id,
    doomedUserId: doomedUser.id,
    observationsCursor: observations.nextCursor,
  };
}
