import type { Price } from '@quartermaster/contracts/prices.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import type { TokenPrice } from './token-price.ts';

/** A price that was set, prepared to be compared with names. */
export type SetPrice = {
  validFrom: string;
  price: TokenPrice;
  /** How many characters of the pattern are not `*`. */
  specificity: number;
  /** @param name case-folded */
  matches: (name: string) => boolean;
};

export function toSetPrice(price: Price): SetPrice {
  const { id, tenantId, validFrom, modelPattern, inputPrice, outputPrice, cacheReadPrice, cacheWritePrice } = price;
  const parts = caseFolded(modelPattern).split('*');
  return {
    validFrom,
    specificity: parts.reduce((sum, part) => sum + part.length, 0),
    matches: (name) => matchesPattern(parts, name),
    price: {
      match: { source: tenantId === null ? 'platform' : 'tenant', id, version: null },
      input: inputPrice,
      output: outputPrice,
      cacheRead: cacheReadPrice ?? inputPrice,
      cacheWrite: cacheWritePrice ?? inputPrice,
    },
  };
}

/** The most specific of some prices of one owner that are valid on a day, and of these the latest. */
export function bestOf(prices: readonly SetPrice[], day: string): TokenPrice | null {
  let best: SetPrice | undefined;
  for (const one of prices) {
    if (one.validFrom > day) continue;
    if (best === undefined || isBetter(one, best)) best = one;
  }
  return best?.price ?? null;
}

function isBetter(one: SetPrice, best: SetPrice): boolean {
  if (one.specificity !== best.specificity) return one.specificity > best.specificity;
  return one.validFrom > best.validFrom;
}

/**
 * Whether a name has the texts between the asterisks of a pattern, in their order. It takes linear time, where a regular expression
 * with many asterisks may take very long.
 */
function matchesPattern(parts: readonly string[], name: string): boolean {
  const [first = '', ...others] = parts;
  const last = others.pop();
  if (last === undefined) return name === first;
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  let at = first.length;
  for (const part of others) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= name.length - last.length;
}
