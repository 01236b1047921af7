import { mintApiKey } from '../../src/auth/api-key-format.ts';
import { type Answered, type Credential, serverOfTest, type TestServer } from '../support/server.ts';

export const ON = { QM_RATE_LIMITS: 'on' };

/** A server whose clock is frozen at the beginning of a minute. */
export async function limited(
  environment: Record<string, string>,
  parts: { sharedLimits?: boolean; sharedLimitsWaitMs?: number } = {},
): Promise<TestServer> {
  const server = await serverOfTest({ ...ON, ...environment }, parts);
  server.freeze();
  server.travel(60_000 - (server.services.now().getTime() % 60_000));
  return server;
}

/** A well-formed key that does not exist. */
export function wrongKey(): { key: string } {
  return { key: mintApiKey(`key_${'1'.repeat(26)}`).key };
}

export async function times(count: number, ask: () => Promise<Answered>): Promise<number[]> {
  const statuses: number[] = [];
  for (let turn = 0; turn < count; turn += 1) statuses.push((await ask()).status);
  return statuses;
}

export function repeated(...runs: [number, number][]): number[] {
  return runs.flatMap(([count, status]) => Array.from({ length: count }, () => status));
}

export const list = (server: TestServer, as: Credential) => server.call('GET', '/v1/providers', { as });

/** How many points an answer says are left. */
export async function pointsLeft(answer: Promise<{ headers: Headers }>): Promise<number> {
  return Number(/r=(\d+)/.exec((await answer).headers.get('ratelimit') ?? '')?.[1]);
}
