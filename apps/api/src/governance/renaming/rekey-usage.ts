import type { Provider } from '@quartermaster/contracts/providers.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey, plainName } from '@quartermaster/db/name-key.ts';
import { findSeriesOfProvider, renameSeries } from '@quartermaster/db/repositories/usage-series.ts';

/** Series that are renamed before the event loop gets a turn. */
const BATCH_SIZE = 200;

/** Renames the usage series of a renamed provider's models, as `rekeyModels` does with the models. */
export async function rekeyUsage(
  trx: Database,
  { provider, formerName }: { provider: Provider; formerName: string },
): Promise<void> {
  const all = await findSeriesOfProvider(trx, provider, { providerId: provider.id, kind: 'model' });
  for await (const batch of inBatches(all, BATCH_SIZE)) {
    const renamed = batch.flatMap((series) => {
      const key = nameKey('model', series.nameKey, provider.name);
      const plain = plainName('model', series.name, formerName);
      const name = nameKey('model', plain, provider.name) === key ? plain : series.nameKey;
      return key !== series.nameKey || name !== series.name ? [{ ...series, name, nameKey: key }] : [];
    });
    await renameSeries(trx, provider, renamed);
  }
}
