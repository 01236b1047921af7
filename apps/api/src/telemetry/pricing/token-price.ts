import { type Cost, MAX_MATCHED_PRICES, type MatchedPrice } from '@quartermaster/contracts/prices.ts';
import type { UsageSums } from '@quartermaster/db/repositories/usage-rollups.ts';

/** Prices in millionths of a US dollar for a million tokens. Null: such tokens have no price. */
export type TokenPrice = {
  match: MatchedPrice;
  input: number | null;
  output: number | null;
  cacheRead: number | null;
  cacheWrite: number | null;
};

/** A million tokens, the unit of prices. */
const MILLION = 1_000_000n;

/**
 * The cost of calls, added up exactly: in millionths of a millionth of a dollar. It is rounded only when it is answered.
 */
export class CostSum {
  #amount = 0n;
  #isPriced = false;
  #hasModelCalls = false;
  #unpricedCalls = 0;
  /** Null until a price is used: a query may have a sum for each of 200,000 hours. */
  #matches: Map<string, MatchedPrice> | null = null;

  /** Adds the model calls of one hour or day. */
  add(price: TokenPrice | null, sums: UsageSums): void {
    this.#hasModelCalls ||= sums.calls > 0 || sums.inputTokens > 0 || sums.outputTokens > 0;
    const amount = price && amountOf(price, sums);
    if (price === null || amount === null) {
      this.#unpricedCalls += sums.calls;
      return;
    }
    this.#amount += amount;
    this.#isPriced = true;
    this.#addMatch(price.match);
  }

  merge(other: CostSum): void {
    this.#amount += other.#amount;
    this.#isPriced ||= other.#isPriced;
    this.#hasModelCalls ||= other.#hasModelCalls;
    this.#unpricedCalls += other.#unpricedCalls;
    for (const match of other.#matches?.values() ?? []) this.#addMatch(match);
  }

  /** The cost to answer. Null if there are no model calls. */
  toCost(): Cost | null {
    if (!this.#hasModelCalls) return null;
    return {
      microUsd: this.#isPriced ? this.#rounded() : null,
      unpricedCalls: Math.min(this.#unpricedCalls, Number.MAX_SAFE_INTEGER),
      prices: [...(this.#matches ?? [])]
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .slice(0, MAX_MATCHED_PRICES)
        .map(([, match]) => match),
    };
  }

  /** What costs are sorted by: 0 without model calls, 1 without a price, and above that the higher, the more was spent. */
  rank(): number {
    if (!this.#hasModelCalls) return 0;
    return this.#isPriced ? Math.min(this.#rounded() + 2, Number.MAX_SAFE_INTEGER) : 1;
  }

  #rounded(): number {
    return Math.min(Number((this.#amount + MILLION / 2n) / MILLION), Number.MAX_SAFE_INTEGER);
  }

  #addMatch(match: MatchedPrice): void {
    this.#matches ??= new Map();
    this.#matches.set(`${match.source} ${match.id}`, match);
  }
}

/** What tokens cost. Null if no tokens are reported, or if some of them have no price. */
function amountOf({ input, output, cacheRead, cacheWrite }: TokenPrice, sums: UsageSums): bigint | null {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = sums;
  if (inputTokens === 0 && outputTokens === 0) return null;
  // Sums stop at a limit, so the parts of very large ones may not fit.
  const uncached = Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens);
  let amount = 0n;
  for (const [tokens, price] of [
    [uncached, input],
    [cacheReadTokens, cacheRead],
    [cacheWriteTokens, cacheWrite],
    [outputTokens, output],
  ] as const) {
    if (tokens === 0) continue;
    if (price === null) return null;
    amount += BigInt(tokens) * BigInt(price);
  }
  return amount;
}
