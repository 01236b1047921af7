import { expect } from 'vitest';
import { type Body, startTestServer } from '../support/server.ts';
import { type DecidingWorld, decidingWorld } from './sessions.ts';

export type Denying = Awaited<ReturnType<typeof startDenying>>;

/** A server that reads again what a decision needs each time. */
export async function startDenying() {
  const server = await startTestServer({}, { decisionsFreshMs: 0 });
  const decide = async (
    { gatewayId, providerName, token }: DecidingWorld,
    name: string,
    more: object = {},
  ): Promise<Body> => {
    const answer = await server.call('POST', `/v1/gateways/${gatewayId}/decisions`, {
      headers: { Authorization: `Bearer ${token}` },
      body: { provider: providerName, kind: 'tool', name, ...more },
    });
    expect(answer.status).toBe(200);
    return answer.body;
  };
  const observationsOf = async ({ as, providerId }: DecidingWorld): Promise<Body[]> =>
    (await server.ok('GET', `/v1/runtime-observations?provider_id=${providerId}`, { as })).items;
  // The first batch of a server takes longer than a denial waits for the id of its observation.
  await decide(await decidingWorld(server), 'first');
  await server.decisions.flush();
  return { server, decide, observationsOf };
}
