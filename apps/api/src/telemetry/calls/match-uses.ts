import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { plainName } from '@quartermaster/db/name-key.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { providerMatcher, type SeenSpan } from '../../runtime-observations/provider-match.ts';
import type { Use } from '../dialects/facts.ts';
import type { Match } from './make-call-span.ts';

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
      const { provider, name } = match(span, use);
      providers.set(provider.id, provider);
      return { provider, name: plainName(use.kind, name, provider.name) };
    },
  };
}
