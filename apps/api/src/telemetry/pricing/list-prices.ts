import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ModelInfo } from '@pydantic/genai-prices';
import { canonicalVendor } from '@quartermaster/naming/vendors.ts';
import { installation } from '../../installation.ts';
import type { TokenPrice } from './token-price.ts';

/** The provider of a model, as far as it is known. */
export type PricedProvider = { name: string; baseUrl: string | null };

/** The list prices of a model: each is valid from a day on, the first one always was. Empty: the model is not in the list. */
export type ListPrices = readonly { validFrom: string; price: TokenPrice | null }[];

type PriceList = { pricesOf: (provider: PricedProvider | null, model: string) => ListPrices };

let loaded: Promise<PriceList> | undefined;

/**
 * The list prices of `@pydantic/genai-prices`, whose data is inside the package: nothing is read from the network. Loaded when the
 * first cost is computed, because it takes 4 MB of memory.
 */
export function loadPriceList(): Promise<PriceList> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<PriceList> {
  const { calcPrice, findProvider } = await import('@pydantic/genai-prices');
  const manifest = await readFile(join(installation.folderOf('@pydantic/genai-prices'), 'package.json'), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };

  function idOfProvider(provider: PricedProvider | null, model: string): string | undefined {
    const vendor = provider === null ? null : (canonicalVendor(provider.name) ?? provider.name);
    if (vendor !== null && SELF_HOSTED.has(vendor)) return undefined;
    const byUrl = provider?.baseUrl == null ? undefined : findProvider({ providerApiUrl: provider.baseUrl });
    const named = vendor === null ? undefined : findProvider({ providerId: LIST_IDS.get(vendor) ?? vendor });
    // A gateway of the company's own has the models of several vendors.
    return (byUrl ?? named ?? findProvider({ modelId: model }))?.id;
  }

  function priceAt(providerId: string, model: string, day: string) {
    // Discounts at night are not known for the sums of a day.
    const timestamp = new Date(`${day}T12:00:00.000Z`);
    return calcPrice({}, model, { providerId, timestamp });
  }

  return {
    pricesOf(provider, written) {
      const [prefix, ...rest] = written.split('/');
      const isPrefixed = rest.length > 0 && prefix !== undefined && canonicalVendor(prefix) !== null;
      const ways = [
        { provider, model: written },
        ...(isPrefixed ? [{ provider: { name: prefix, baseUrl: null }, model: rest.join('/') }] : []),
      ];
      for (const { provider: at, model } of ways) {
        const providerId = idOfProvider(at, model);
        const found = providerId === undefined ? null : priceAt(providerId, model, FIRST_DAY);
        if (providerId === undefined || found === null) continue;
        const id = `${found.provider.id}/${found.model.id}`;
        return daysOfChanges(found.model.prices).map((validFrom) => ({
          validFrom,
          price: tokenPriceOf(priceAt(providerId, model, validFrom)?.model_price ?? {}, { id, version }),
        }));
      }
      return [];
    },
  };
}

/** Vendors that the list has under names in which it does not find ours. */
const LIST_IDS: ReadonlyMap<string, string> = new Map([
  ['azure.ai.inference', 'azure'],
  ['azure.ai.openai', 'azure'],
  ['gcp.gen_ai', 'google'],
  ['x_ai', 'x-ai'],
]);

/** Programs that run models on the company's own machines, at no list price. */
const SELF_HOSTED: ReadonlySet<string> = new Set(['ollama', 'vllm', 'lmstudio', 'lm_studio', 'llama.cpp', 'llamacpp']);

const FIRST_DAY = '0001-01-01';

/** The days on which the prices of a model change, with the first day of all. */
function daysOfChanges(prices: ModelInfo['prices']): string[] {
  if (!Array.isArray(prices)) return [FIRST_DAY];
  const days = prices.flatMap(({ constraint }) => (constraint?.type === 'start_date' ? [constraint.start_date] : []));
  return [...new Set([FIRST_DAY, ...days])].toSorted();
}

/** The price of tokens, in millionths of a dollar for a million of them. Null for a model that is not priced by tokens. */
function tokenPriceOf(
  prices: Readonly<Record<string, number | { base: number } | undefined>>,
  { id, version }: { id: string; version: string },
): TokenPrice | null {
  const amount = (key: string): number | null => {
    const price = prices[key];
    if (price === undefined) return null;
    // Sums do not tell how large each request was, so the price of the smallest requests counts.
    return Math.round((typeof price === 'number' ? price : price.base) * 1e6);
  };
  const [input, output] = [amount('input_mtok'), amount('output_mtok')];
  if (input === null && output === null) return null;
  const [cacheRead, cacheWrite] = [amount('cache_read_mtok') ?? input, amount('cache_write_mtok') ?? input];
  return { match: { source: 'list', id, version }, input, output, cacheRead, cacheWrite };
}
