import type { Price } from '@quartermaster/contracts/prices.ts';
import { NO_USAGE } from '@quartermaster/db/repositories/usage-rollups.ts';
import { describe, expect, test } from 'vitest';
import { loadPriceList } from '../../../src/telemetry/pricing/list-prices.ts';
import { bestOf, toSetPrice } from '../../../src/telemetry/pricing/set-prices.ts';
import { CostSum, type TokenPrice } from '../../../src/telemetry/pricing/token-price.ts';

const idOf = async (name: string, model: string, baseUrl: string | null = null) =>
  (await loadPriceList()).pricesOf({ name, baseUrl }, model).at(-1)?.price?.match.id ?? null;

describe('list prices', () => {
  test.each([
    ['openai', 'gpt-5', 'openai/gpt-5'],
    ['openai', 'gpt-5-2025-08-07', 'openai/gpt-5'],
    ['anthropic', 'claude-sonnet-4-5', 'anthropic/claude-sonnet-4-5'],
    ['gcp.gemini', 'gemini-2.5-pro', 'google/gemini-2.5-pro'],
    ['azure.ai.openai', 'gpt-5', 'azure/gpt-5'],
    ['mistral_ai', 'mistral-large', 'mistral/mistral-large'],
    ['groq', 'llama-3.3-70b-versatile', 'groq/llama-3.3-70b-versatile'],
    // A gateway of the company: the model tells the vendor.
    ['llm-gateway', 'gpt-5', 'openai/gpt-5'],
    ['llm-gateway', 'openai/gpt-5', 'openai/gpt-5'],
    ['openai', 'no-such-model', null],
    // Models on the company's own machines have no list price.
    ['ollama', 'deepseek-r1:7b', null],
    ['llm-gateway', 'o9-preview', null],
  ])('of %s %s are those of %s', async (provider, model, id) => {
    expect(await idOf(provider, model)).toBe(id);
  });

  test('know the regions of Bedrock', async () => {
    const url = 'https://bedrock-runtime.eu-west-1.amazonaws.com';
    const id = 'aws/regional.anthropic.claude-sonnet-4-5-20250929-v1:0';
    expect(await idOf('aws.bedrock', 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0')).toBe(id);
    expect(await idOf('models', 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0', url)).toBe(id);
  });

  test('are those of the smallest requests and of the day', async () => {
    const list = await loadPriceList();
    const priceOf = (name: string, model: string) => list.pricesOf({ name, baseUrl: null }, model).at(-1)?.price;
    // Twice as much from 200,000 tokens on.
    expect(priceOf('gcp.gemini', 'gemini-2.5-pro')).toMatchObject({ input: 1_250_000, output: 10_000_000 });
    // Half as much at night.
    expect(priceOf('deepseek', 'deepseek-reasoner')).toMatchObject({ input: 550_000, cacheRead: 140_000 });
  });
});

function priceOf(modelPattern: string, validFrom = '2026-01-01'): Price {
  const times = { createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' };
  const amounts = { inputPrice: 1, outputPrice: 1, cacheReadPrice: null, cacheWritePrice: null };
  return { id: `${modelPattern} ${validFrom}`, tenantId: 'acme', modelPattern, validFrom, ...amounts, ...times };
}

describe('prices that were set', () => {
  test.each([
    ['gpt-5', 'gpt-5', true],
    ['GPT-5', 'gpt-5', true],
    ['gpt-5', 'gpt-5-mini', false],
    ['gpt-*', 'gpt-5', true],
    ['*-mini', 'gpt-5-mini', true],
    ['g*5*i', 'gpt-5-mini', true],
    ['g*5*mini*i', 'gpt-5-mini', false],
    ['gpt*t', 'gpt', false],
    ['*', '', true],
    ['g.t', 'gpt', false],
  ])('%s of %s: %s', (pattern, name, matches) => {
    expect(toSetPrice(priceOf(pattern)).matches(name)).toBe(matches);
  });

  test('a pattern with many asterisks takes no long time', () => {
    const started = performance.now();
    toSetPrice(priceOf(`${'a*'.repeat(99)}b`)).matches('a'.repeat(256));
    expect(performance.now() - started).toBeLessThan(50);
  });

  test('the more specific pattern wins, then the latest day that is not after the use', () => {
    const prices = [
      priceOf('gpt-*'),
      priceOf('gpt-5*', '2025-01-01'),
      priceOf('gpt-5*'),
      priceOf('gpt-5*', '2027-01-01'),
    ];
    const best = bestOf(prices.map(toSetPrice), '2026-06-01');
    expect(best?.match.id).toBe('gpt-5* 2026-01-01');
    expect(bestOf(prices.map(toSetPrice), '2024-01-01')).toBeNull();
  });
});

describe('costs', () => {
  const price = (input: number | null, output: number | null): TokenPrice => ({
    match: { source: 'list', id: 'x', version: '1' },
    input,
    output,
    cacheRead: input,
    cacheWrite: input,
  });

  test('are exact for sums that a number cannot hold', () => {
    const cost = new CostSum();
    cost.add(price(75_000_001, 0), { ...NO_USAGE, calls: 1, inputTokens: 9e13 });
    cost.add(price(0, 1), { ...NO_USAGE, calls: 1, outputTokens: 500_000 });
    expect(cost.toCost()).toMatchObject({ microUsd: 6_750_000_090_000_001, unpricedCalls: 0 });
  });

  test('stop at the largest number that JSON carries exactly', () => {
    const cost = new CostSum();
    cost.add(price(1e12, 0), { ...NO_USAGE, calls: 1, inputTokens: 9e14 });
    expect(cost.toCost()?.microUsd).toBe(Number.MAX_SAFE_INTEGER);
  });

  test('leave out tokens of a kind that has no price', () => {
    const cost = new CostSum();
    cost.add(price(1_000_000, null), { ...NO_USAGE, calls: 2, inputTokens: 3 });
    cost.add(price(1_000_000, null), { ...NO_USAGE, calls: 1, inputTokens: 3, outputTokens: 1 });
    expect(cost.toCost()).toMatchObject({ microUsd: 3, unpricedCalls: 1 });
  });
});
