import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { providerMatcher } from '../matching/provider-match.ts';
import type { Match, MatchableSpan } from '../matching/match.ts';
import type { Use } from '../reading/facts.ts';

export type MatchedUses = {
  matchOf(span: MatchableSpan, use: Use): Match;
  /** The providers that `matchOf` returned so far, by their ids. */
  providers: Map<string, Provider>;
  /** Discovered providers that are not stored yet. */
  newProviders: ReadonlySet<Provider>;
};

/** Builds the provider matcher of a batch. */
export async function matchUses(
  db: Database,
  place: TenantPlace,
  batch: readonly MatchableSpan[],
  now: Date,
): Promise<MatchedUses> {
  const { match, newProviders } = await providerMatcher(db, place, batch, now);
  const providers = new Map<string, Provider>();
  return {
    providers,
    newProviders,
    matchOf(span, use) {
      const found = match(span, use);
      providers.set(found.provider.id, found.provider);
      return found;
    },
  };
}
