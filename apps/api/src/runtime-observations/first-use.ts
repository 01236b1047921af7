import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { findProviderUses, type ProviderUse, recordProviderUse } from '@quartermaster/db/repositories/provider-uses.ts';

export type ProviderUses = Awaited<ReturnType<typeof findProviderUses>>;

/**
 * Remembers that an account used a provider, and tells who used it since when. For one batch: what it knows of a
 * provider is looked up once.
 */
export function firstUses(db: Database, account: string) {
  const known = new Map<string, Map<string, ProviderUse>>();
  const firsts = new Map<string, ProviderUse | undefined>();
  return {
    /** @param time of the use; an earlier one than was known counts. */
    async record(provider: Provider, time: string): Promise<void> {
      const uses = await load(provider, [account]);
      const before = uses.get(account);
      if (before && before.firstUsedAt <= time) return;
      const use = { account, firstUsedAt: time };
      await recordProviderUse(db, provider, provider.id, use);
      uses.set(account, use);
      const first = firsts.get(provider.id);
      if (!first || first.account === account || time < first.firstUsedAt) firsts.set(provider.id, use);
    },

    async of(provider: Provider, accounts: readonly string[]): Promise<ProviderUses> {
      const uses = await load(provider, accounts);
      return { first: firsts.get(provider.id), uses: accounts.flatMap((name) => uses.get(name) ?? []) };
    },
  };

  async function load(provider: Provider, accounts: readonly string[]): Promise<Map<string, ProviderUse>> {
    const uses = known.get(provider.id) ?? new Map<string, ProviderUse>();
    const missing = accounts.filter((name) => !uses.has(name));
    if (missing.length === 0 && known.has(provider.id)) return uses;
    const found = await findProviderUses(db, provider, provider.id, missing);
    if (!known.has(provider.id)) firsts.set(provider.id, found.first);
    for (const use of found.uses) uses.set(use.account, use);
    known.set(provider.id, uses);
    return uses;
  }
}
