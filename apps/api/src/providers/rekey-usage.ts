import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey, plainName } from '@quartermaster/db/name-key.ts';
import { findSeriesOfProvider, renameSeries } from '@quartermaster/db/repositories/usage-series.ts';

/** Series renamed before the event loop gets a turn. */
const BATCH_SIZE = 200;

/** Gives the usage of a renamed provider's models the names that the models have under its new name. */
export async function rekeyUsage(
  trx: Database,
  { provider, formerName }: { provider: Provider; formerName: string },
): Promise<void> {
  const all = await findSeriesOfProvider(trx, provider, { providerId: provider.id, kind: 'model' });
  for (const [index, series] of all.entries()) {
    if (index % BATCH_SIZE === BATCH_SIZE - 1) await yieldToEventLoop();
    const key = nameKey('model', series.nameKey, provider.name);
    const plain = plainName('model', series.name, formerName);
    const name = nameKey('model', plain, provider.name) === key ? plain : series.nameKey;
    if (key !== series.nameKey || name !== series.name) await renameSeries(trx, series, { name, nameKey: key });
  }
}
