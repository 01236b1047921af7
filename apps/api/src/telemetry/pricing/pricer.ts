import type { Database } from '@quartermaster/db/database.ts';
import { findAllPrices, PLATFORM_PRICES } from '@quartermaster/db/repositories/prices.ts';
import { findProviders } from '@quartermaster/db/repositories/providers.ts';
import type { UsageSeries } from '@quartermaster/db/repositories/usage-series.ts';
import { wholeTenant } from '@quartermaster/db/tenancy.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import { type ListPrices, loadPriceList, type PricedProvider } from './list-prices.ts';
import { bestOf, type SetPrice, toSetPrice } from './set-prices.ts';
import type { TokenPrice } from './token-price.ts';

/** The prices of one model over time. */
export type PriceHistory = {
  /** @param time RFC 3339, the start of an hour or day */
  priceAt: (time: string) => TokenPrice | null;
  /** Whether the price changes between two times. */
  changesBetween: (from: string, to: string) => boolean;
};

export type PricedSeries = Pick<UsageSeries, 'id' | 'tenantId' | 'providerId' | 'kind' | 'name'>;

/** Finds the prices of usage series, for the duration of one request. */
export class Pricer {
  readonly #db: Database;
  readonly #histories = new Map<string, PriceHistory>();
  readonly #setPrices = new Map<string, readonly SetPrice[]>();
  readonly #providers = new Map<string, PricedProvider | null>();

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * The prices of the models among some series of a tenant.
   *
   * @returns the histories, by the ids of the series
   */
  async historiesOf(tenantId: string, series: readonly PricedSeries[]): Promise<ReadonlyMap<string, PriceHistory>> {
    const models = series.filter(({ kind }) => kind === 'model');
    if (models.length === 0) return new Map();
    const list = await loadPriceList();
    const ofTenant = await this.#pricesSetBy(tenantId);
    const ofPlatform = await this.#pricesSetBy(null);
    await this.#loadProviders(tenantId, models);
    return new Map(
      models.map(({ id, providerId, name }) => {
        const key = JSON.stringify([tenantId, providerId, name]);
        let history = this.#histories.get(key);
        if (history === undefined) {
          const folded = caseFolded(name);
          const provider = this.#providers.get(`${tenantId} ${providerId}`) ?? null;
          const [tenantPrices, platformPrices] = [ofTenant, ofPlatform].map((prices) =>
            prices.filter(({ matches }) => matches(folded)),
          );
          const listed = list.pricesOf(provider, name);
          history = historyOf([tenantPrices ?? [], platformPrices ?? []], listed);
          this.#histories.set(key, history);
        }
        return [id, history];
      }),
    );
  }

  async #pricesSetBy(tenantId: string | null): Promise<readonly SetPrice[]> {
    const key = tenantId ?? '';
    let prices = this.#setPrices.get(key);
    if (prices === undefined) {
      const scope = tenantId === null ? PLATFORM_PRICES : wholeTenant(tenantId);
      prices = (await findAllPrices(this.#db, scope)).map(toSetPrice);
      this.#setPrices.set(key, prices);
    }
    return prices;
  }

  async #loadProviders(tenantId: string, models: readonly PricedSeries[]): Promise<void> {
    const keyOf = (id: string) => `${tenantId} ${id}`;
    const missing = new Set(
      models.flatMap(({ providerId }) => (this.#providers.has(keyOf(providerId)) ? [] : [providerId])),
    );
    missing.delete('');
    for (const id of missing) this.#providers.set(keyOf(id), null);
    for (const { id, name, baseUrl } of await findProviders(this.#db, wholeTenant(tenantId), [...missing])) {
      this.#providers.set(keyOf(id), { name, baseUrl });
    }
  }
}

/** @param set the prices of each owner that match, those of the tenant first */
function historyOf(set: readonly (readonly SetPrice[])[], listed: ListPrices): PriceHistory {
  const ofDay = new Map<string, TokenPrice | null>();
  const priceOn = (day: string): TokenPrice | null => {
    for (const prices of set) {
      const best = bestOf(prices, day);
      if (best !== null) return best;
    }
    return listed.findLast(({ validFrom }) => validFrom <= day)?.price ?? null;
  };
  const changes = [...set.flat(), ...listed].map(({ validFrom }) => validFrom);
  return {
    priceAt(time) {
      const day = time.slice(0, 10);
      let price = ofDay.get(day);
      if (price === undefined) {
        price = priceOn(day);
        ofDay.set(day, price);
      }
      return price;
    },
    changesBetween: (from, to) => changes.some((day) => day > from.slice(0, 10) && day < to),
  };
}
