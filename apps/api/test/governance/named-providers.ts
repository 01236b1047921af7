import { expect } from 'vitest';
import { accountWithKey } from '../support/people.ts';
import type { Body, TestServer } from '../support/server.ts';
import { newTenant } from './loop-support.ts';

export type Caller = { key: string };

/** What the tests of names in manifests do on their server. */
export function namedProviders(server: () => TestServer) {
  /** A tenant with the provider `openai`, and a sub-tenant whose operator has a provider `shadow`. Both offer `run`. */
  async function tenantWithTeam() {
    const { tenantId, operator: wide, path } = await newTenant(server());
    const team = await accountWithKey(server(), { tenantId, subTenantId: 'team' });
    const offer = (as: Caller, provider: string) =>
      server().ok('POST', `${provider}/inventory`, { as, body: { kind: 'tool', name: 'run' } });
    const provide = async (as: Caller, name: string): Promise<Body> => {
      const provider = await server().ok('POST', '/v1/providers', { as, body: { name, kind: 'mcp' } });
      await offer(as, `/v1/providers/${provider.id}`);
      return provider;
    };
    await offer(wide, path);
    const shadow = await provide(team, 'shadow');
    return {
      tenantId,
      wide,
      team,
      shadow,
      provide,
      openaiId: path.slice('/v1/providers/'.length),
      rename: (as: Caller, { id }: Body, name: string) =>
        server().ok('PUT', `/v1/providers/${id}`, { as, body: { name } }),
      publish: async (as: Caller, kind: string, spec: object): Promise<string> =>
        (await server().ok('POST', '/v1/manifests', { as, body: { name: 'policy', kind, spec } })).id,
      gateway: async (as: Caller, manifestId: string, providerIds: string[]): Promise<string> => {
        const body = { name: 'edge', manifestId, providerIds };
        return `/v1/gateways/${(await server().ok('POST', '/v1/gateways', { as, body })).id}`;
      },
    };
  }

  /** The ids of the providers whose items a new session may use. Expects introspection of its token to return the same grants. */
  async function granted(as: Caller, gateway: string): Promise<string[]> {
    const { token, grants } = await server().ok('POST', `${gateway}/sessions`, { as });
    const introspected = await server().ok('POST', `${gateway}/sessions/introspect`, { as, body: { token } });
    expect(introspected.grants).toEqual(grants);
    return grants.filter(({ items }: Body) => items.length > 0).map(({ providerId }: Body) => providerId);
  }

  return { tenantWithTeam, granted };
}
