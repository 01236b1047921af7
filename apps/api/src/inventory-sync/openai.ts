import type { Provider } from '@quartermaster/contracts/providers.ts';
import { z } from 'zod';
import { OutboundFailure, statusFailure } from '../outbound/failure.ts';
import type { Outbound } from '../outbound/outbound.ts';
import { type ListedItem, type Listing, listingOf, unreadable } from './listing.ts';
import { type ListedPage, readPages } from './pages.ts';

const text = z.string().optional().catch(undefined);

const ModelSchema = z.object({
  id: z.string(),
  owned_by: text,
  created: z.number().optional().catch(undefined),
  display_name: text,
  description: text,
});

const ModelListSchema = z.object({
  object: text,
  data: z.array(z.unknown()),
  has_more: z.boolean().nullish(),
  last_id: z.string().nullish(),
});

/** Lists the models of an OpenAI-compatible server: `GET {baseUrl}/models`, all pages. */
export async function listModels(
  outbound: Outbound,
  provider: Provider & { baseUrl: string },
  { now, onProgress }: { now: () => Date; onProgress: (phase: string, done: number) => void },
): Promise<Listing> {
  const listing = listingOf(provider, ['model']);
  // Lists of OpenAI's API go on `after` an id, Anthropic's, which say no `object`, `after_id`.
  let parameter = 'after';
  const fetchPage = async (cursor: string | null): Promise<ListedPage<ListedItem>> => {
    const url = modelsUrl(provider.baseUrl);
    if (cursor !== null) url.searchParams.set(parameter, cursor);
    const answer = await outbound.fetch(url, { headers: { accept: 'application/json' } });
    if (!answer.ok) {
      await answer.body?.cancel();
      throw statusFailure(answer.status, answer.headers, now());
    }
    const list = parsed(await answer.text());
    parameter = list.object === 'list' ? 'after' : 'after_id';
    const items = list.data.map(itemOf);
    return { items, next: list.has_more === true ? (list.last_id ?? items.at(-1)?.name ?? null) : null };
  };
  for await (const models of readPages('models', fetchPage)) {
    await listing.add(models);
    onProgress('models', listing.count());
  }
  return listing.finished();
}

function itemOf(raw: unknown): ListedItem {
  const model = ModelSchema.safeParse(raw);
  if (!model.success) return unreadable('model', raw, 'id');
  const { id, owned_by, created, display_name, description } = model.data;
  return { kind: 'model', name: id, title: display_name, description, attributes: { owned_by, created } };
}

function modelsUrl(baseUrl: string): URL {
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/models`;
  return url;
}

function parsed(body: string): z.infer<typeof ModelListSchema> {
  try {
    const list = ModelListSchema.safeParse(JSON.parse(body));
    if (list.success) return list.data;
  } catch (error) {
    if (!(error instanceof SyntaxError) && !(error instanceof RangeError)) throw error;
  }
  throw new OutboundFailure('it did not answer with a list of models');
}
