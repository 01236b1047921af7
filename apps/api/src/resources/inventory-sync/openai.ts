import { SYNCED_KINDS } from '@quartermaster/contracts/inventory-syncs.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import { OutboundFailure, statusFailure } from '../../platform/outbound/failure.ts';
import type { Outbound } from '../../platform/outbound/outbound.ts';
import { askThread } from './ask-thread.ts';
import type { ReadItem } from './item.ts';
import { type Listing, listingOf } from './listing.ts';
import { type ListedPage, readPages } from './pages.ts';
import type { NextModels } from './read-answer.ts';

/** Lists the models of an OpenAI-compatible server: `GET {baseUrl}/models`, all pages. */
export async function listModels(
  outbound: Outbound,
  provider: Provider & { baseUrl: string },
  { now, onProgress }: { now: () => Date; onProgress: (phase: string, done: number) => void },
): Promise<Listing> {
  const listing = listingOf(SYNCED_KINDS.llm);
  let parameter: NextModels['parameter'] = 'after';
  const fetchPage = async (cursor: string | null): Promise<ListedPage<ReadItem>> => {
    const url = modelsUrl(provider.baseUrl);
    if (cursor !== null) url.searchParams.set(parameter, cursor);
    const answer = await outbound.fetch(url, { headers: { accept: 'application/json' } });
    if (!answer.ok) {
      await answer.body?.cancel();
      throw statusFailure(answer.status, answer.headers, now());
    }
    const question = { providerName: provider.name, room: listing.room(), request: null };
    const { items, next } = await askThread(new Uint8Array(await answer.arrayBuffer()), question, outbound.signal);
    if (next === null) throw new OutboundFailure('it did not answer with a list of models');
    parameter = next.parameter;
    return { items, next: next.after };
  };
  for await (const models of readPages('models', fetchPage)) {
    await listing.add(models);
    onProgress('models', listing.count());
  }
  return listing.finished();
}

function modelsUrl(baseUrl: string): URL {
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/models`;
  return url;
}
