import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { type Match, providerMatcher, type SeenSpan } from '../../runtime-observations/provider-match.ts';
import type { Use } from '../dialects/facts.ts';

/** The matcher of a batch, with the providers that it answered so far, by their ids. */
export type MatchedUses = {
  matchOf(span: SeenSpan, use: Use): Match;
  providers: Map<string, Provider>;
  /** Discovered providers that are not stored yet. */
  made: ReadonlySet<Provider>;
};

export async function matchUses(
  db: Database,
  place: TenantPlace,
  batch: readonly SeenSpan[],
  now: Date,
): Promise<MatchedUses> {
  const { match, made } = await providerMatcher(db, place, batch, now);
  const providers = new Map<string, Provider>();
  return {
    providers,
    made,
    matchOf(span, use) {
      const found = match(span, use);
      providers.set(found.provider.id, found.provider);
      return found;
    },
  };
}
