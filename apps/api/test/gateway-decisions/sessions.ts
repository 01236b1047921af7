import { accountWithKey, type Place, unique } from '../support/people.ts';
import type { Body, TestServer } from '../support/server.ts';

/** A gateway with a provider whose inventory has some items, and a session at it. */
export type DecidingWorld = {
  as: { key: string };
  accountId: string;
  tenantId: string;
  gatewayId: string;
  /** The provider's id and name. */
  providerId: string;
  providerName: string;
  session: Body;
  token: string;
};

type Options = {
  items?: readonly { kind: string; name: string; status?: string }[];
  gateway?: object;
  provider?: object;
  session?: object;
  place?: Place;
};

/**
 * @param options.items default: the tool `search`
 * @param options.place default: a new tenant
 */
export async function decidingWorld(
  server: Pick<TestServer, 'ok' | 'services' | 'admin'>,
  options: Options = {},
): Promise<DecidingWorld> {
  const { place = { tenantId: unique('deciding') } } = options;
  const { tenantId } = place;
  const { id: accountId, key } = await accountWithKey(server as TestServer, place);
  const as = { key };
  const providerName = unique('provider');
  const { id: providerId } = await server.ok('POST', '/v1/providers', {
    as,
    body: { name: providerName, kind: 'mcp', ...options.provider },
  });
  for (const item of options.items ?? [{ kind: 'tool', name: 'search' }]) {
    await server.ok('POST', `/v1/providers/${providerId}/inventory`, { as, body: item });
  }
  const { id: gatewayId } = await server.ok('POST', '/v1/gateways', {
    as,
    body: { name: unique('gateway'), providerIds: [providerId], enforcement: 'enforce', ...options.gateway },
  });
  const session = await server.ok('POST', `/v1/gateways/${gatewayId}/sessions`, { as, body: options.session ?? {} });
  return { as, accountId, tenantId, gatewayId, providerId, providerName, session, token: session.token };
}

/** A text in the form of a token, with a header that says it was signed by the given key. Nobody signed it. */
export function unsignedToken(typ: string, kid: unknown): string {
  const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  return `${encoded({ alg: 'ES256', typ, kid })}.${encoded({})}.AAAA`;
}

/** What the header of a token may have as the id of a key, besides a text that can be looked up. */
export const ODD_KEY_IDS: readonly unknown[] = [
  [],
  ['sig'],
  {},
  5,
  true,
  null,
  '',
  'sig_\0',
  '\ud800',
  'x'.repeat(2000),
];
