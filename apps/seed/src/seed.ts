import { makeAccounts, markComplete } from './accounts.ts';
import { clientWith, type Credential } from './calls.ts';
import { type Counts, requireEverything } from './checks.ts';
import type { Context } from './context.ts';
import { blockRejectedItem, decide } from './governance.ts';
import { makeSyncedProvider } from './inventory-sync.ts';
import { makePeople, makeTenants } from './people.ts';
import { makeGateways, makeManifests, makeProviders, openSessions } from './providers.ts';
import { createRandom } from './random.ts';
import { isSeeded, requireServer } from './server.ts';
import { sendTelemetry, useAgain } from './telemetry.ts';

export type SeedOptions = {
  /** The server's URL, without a trailing slash. */
  url: string;
  /** A platform administrator's credential. */
  credential: Credential;
  /** The seed of the pseudo-random generator. The same seed creates the same data. */
  seed?: number;
  /** Multiplies traces and observations. May be below 1. */
  scale?: number;
};

/** `present`: an earlier run created the data, and nothing was changed. */
export type SeedResult = { outcome: 'made' | 'present'; counts: Counts; notes: string[] };

/**
 * Fills a server with demonstration data of a company, unless it already has them.
 *
 * @throws {Failure} if the server or the credential is not usable, or if a part of the data is missing afterwards
 */
export async function seed({ url, credential, seed: number = 1, scale = 1 }: SeedOptions): Promise<SeedResult> {
  await requireServer(url);
  const admin = clientWith(url, credential);
  if (await isSeeded(admin)) return { outcome: 'present', counts: {}, notes: [] };
  const context: Context = { url, admin, random: createRandom(number), scale, now: new Date(), notes: [] };
  await makeTenants(context);
  // Before the people, because the service accounts create the sub-tenants.
  const keys = await makeAccounts(context);
  const people = await makePeople(context);
  const providers = await makeProviders(context);
  const gateways = await makeGateways(context, providers, await makeManifests(context));
  await openSessions(context, gateways);
  const synced = await makeSyncedProvider(context);
  try {
    await sendTelemetry(context, keys);
    await synced.syncChangedTools();
  } finally {
    await synced.stop();
  }
  await useAgain(context, keys, await decide(context, people));
  await blockRejectedItem(context, people);
  // Again, because blocking an item ended the sessions that granted it.
  await openSessions(context, gateways);
  const counts = await requireEverything(context, {
    isDriftExpected: synced.isReachable,
    isSignedIn: people.size > 0,
  });
  await markComplete(context, { seed: number, scale });
  return { outcome: 'made', counts, notes: context.notes };
}
