import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { findProviderUses, type ProviderUse, recordProviderUse } from '@quartermaster/db/repositories/provider-uses.ts';

export type ProviderUses = Awaited<ReturnType<typeof findProviderUses>>;

/**
 * Remembers that an account used a provider, and tells who used it since when: by when the first span was received, since
 * the times in spans are their sender's choice. For one batch: what it knows of a provider is looked up once.
 */
export function firstUses(db: Database, account: string) {
  const known = new Map<string, { first: ProviderUse | undefined; uses: Map<string, ProviderUse | undefined> }>();
  return {
    async record(provider: Provider, now: Date): Promise<void> {
      const own = await load(provider, [account]);
      if (own.uses.get(account)) return;
      const use = { account, firstUsedAt: now.toISOString() };
      await recordProviderUse(db, provider, provider.id, use);
      own.uses.set(account, use);
      own.first ??= use;
    },

    async of(provider: Provider, accounts: readonly string[]): Promise<ProviderUses> {
      const { first, uses } = await load(provider, accounts);
      return { first, uses: accounts.flatMap((name) => uses.get(name) ?? []) };
    },
  };

  async function load(provider: Provider, accounts: readonly string[]) {
    const own = known.get(provider.id) ?? { first: undefined, uses: new Map<string, ProviderUse | undefined>() };
    const missing = accounts.filter((name) => !own.uses.has(name));
    if (missing.length === 0) return own;
    const found = await findProviderUses(db, provider, provider.id, missing);
    own.first ??= found.first;
    for (const name of missing) {
      own.uses.set(
        name,
        found.uses.find((use) => use.account === name),
      );
    }
    known.set(provider.id, own);
    return own;
  }
}
