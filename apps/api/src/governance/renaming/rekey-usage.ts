import { inBatches } from '@quartermaster/db/batches.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { findSeriesOfProvider, renameSeries } from '@quartermaster/db/repositories/usage-series.ts';
import { type Renamed, renamedModels } from './renamed-model.ts';

/** Series that are renamed before the event loop gets a turn. */
const BATCH_SIZE = 200;

/** Renames the usage series of a renamed provider's models, as `rekeyModels` does with the models. */
export async function rekeyUsage(trx: Database, renamed: Renamed): Promise<void> {
  const { provider } = renamed;
  const all = await findSeriesOfProvider(trx, provider, { providerId: provider.id, kind: 'model' });
  for await (const batch of inBatches(all, BATCH_SIZE)) {
    await renameSeries(trx, provider, renamedModels(batch, renamed));
  }
}
