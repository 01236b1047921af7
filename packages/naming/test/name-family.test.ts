import { canBlockOrAllow, findDecidingItem, findExactOrBlockingItem, type Item } from '../src/deciding-item.ts';
import { coverageRuleOf } from '../src/coverage.ts';
import { nameFamily, rewrittenName } from '../src/name-family.ts';
import { nameKey } from '../src/name-key.ts';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

const OPENAI = { name: 'openai', aliases: [], baseUrl: null };
const BEDROCK = { name: 'aws.bedrock', aliases: ['corp-models'], baseUrl: null };
const VERTEX = { name: 'gcp.vertex_ai', aliases: [], baseUrl: null };

type Provider = typeof OPENAI | typeof BEDROCK;

/** Whether a declared name covers an observed one: `yes`, `no`, or `block` if only a blocked item covers it. */
function coverage(provider: Provider, declared: string, seen: string): string {
  const key = (name: string) => nameKey('model', name, provider.name);
  const found = coverageRuleOf(provider, 'model')(key(declared), key(seen));
  if (found) expect(nameFamily('model', key(declared)), seen).toBe(nameFamily('model', key(seen)));
  return found ? (found.doubtful ? 'block' : 'yes') : 'no';
}

describe('a declaration of a model covers', () => {
  test.each<[string, string, Provider?]>([
    ['gpt-5-mini', 'gpt-5-mini-2026-01-01'],
    ['gpt-5-mini', 'GPT-5-Mini-20260101'],
    ['gpt-5-mini', 'gpt-5-mini@20260101'],
    ['gpt-5-mini', 'gpt-5-mini-202601'],
    ['gpt-5-mini', 'gpt-5-mini-01-2026'],
    ['gpt-5-mini', 'gpt-5-mini-latest'],
    ['gpt-5-mini', 'gpt-5-mini:latest'],
    ['gpt-5-mini', 'openai:gpt-5-mini'],
    ['gpt-5-mini', 'models/gpt-5-mini'],
    ['gpt-5-mini', 'openai/gpt-5-mini-2026-01-01'],
    ['gpt-5-mini', 'litellm_proxy/gpt-5-mini'],
    ['gpt-5-mini', 'LiteLLM/openai/gpt-5-mini-2026-01-01'],
    ['litellm_proxy/gpt-5-mini', 'gpt-5-mini'],
    ['gpt-5-mini', 'openai/responses/gpt-5-mini'],
    ['gpt-5-mini', 'text-completion-openai/gpt-5-mini'],
    ['gpt-5-mini', '@openai/gpt-5-mini'],
    ['gpt-5-mini-latest', 'gpt-5-mini'],
    ['gpt-5-mini-2026-01-01', 'gpt-5-mini@20260101'],
    ['gpt-3.5-turbo', 'gpt-35-turbo'],
    ['gpt-3.5-turbo', 'gpt-35-turbo-2026-01-01'],
    ['gpt-4.1', 'gpt-4-1'],
    ['claude-sonnet-5', 'claude-sonnet-5-20260101', BEDROCK],
    ['claude-sonnet-5', 'claude-sonnet-5-20260101[1m]', BEDROCK],
    ['claude-sonnet-5', 'anthropic.claude-sonnet-5', BEDROCK],
    ['claude-sonnet-5', 'anthropic.claude-sonnet-5-v1', BEDROCK],
    ['claude-sonnet-5', 'us.anthropic.claude-sonnet-5-20260101-v1:0', BEDROCK],
    ['claude-sonnet-5', 'global.anthropic.claude-sonnet-5-20260101-v1:0', BEDROCK],
    ['claude-sonnet-5', 'bedrock/converse/us.anthropic.claude-sonnet-5-20260101-v1:0', BEDROCK],
    ['claude-sonnet-5', 'bedrock/us-east-1/anthropic.claude-sonnet-5-20260101-v1:0', BEDROCK],
    [
      'claude-sonnet-5',
      'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-5-20260101-v1:0',
      BEDROCK,
    ],
    ['anthropic.claude-sonnet-5-20260101-v1:0', 'eu.anthropic.claude-sonnet-5-20260101-v1:0', BEDROCK],
    ['nova-pro', 'amazon.nova-pro-v1:0', BEDROCK],
    ['claude-sonnet-5', 'corp-models/claude-sonnet-5', BEDROCK],
    ['claude-sonnet-5', 'projects/p/locations/us-east5/publishers/anthropic/models/claude-sonnet-5@20260101', VERTEX],
    ['gemini-3-flash', 'models/gemini-3-flash', VERTEX],
    ['gemini-3-flash', 'google-vertex:gemini-3-flash-latest', VERTEX],
  ])('%s covers %s', (declared, seen, provider = OPENAI) => {
    expect(coverage(provider, declared, seen)).toBe('yes');
  });

  test.each<[string, string, Provider?]>([
    ['gpt-4', 'gpt-4-0613'],
    ['gemini-1.5-pro', 'gemini-1.5-pro-002'],
    ['mistral-large', 'mistral-large-2411'],
    ['gemini-3-flash-preview', 'gemini-3-flash-preview-05-20'],
    ['llama3', 'llama3:70b'],
    ['deepseek-r1', 'deepseek-r1:free'],
    ['us.anthropic.claude-sonnet-5-20260101-v1:0', 'claude-sonnet-5-20260101-v1:0', BEDROCK],
    ['anthropic.claude-sonnet-5-20260101-v1:0', 'claude-sonnet-5-20260101', BEDROCK],
  ])('only a block of %s covers %s, because it may be another model', (declared, seen, provider = OPENAI) => {
    expect(coverage(provider, declared, seen)).toBe('block');
  });

  test.each<[string, string, Provider?]>([
    ['gpt-5', 'gpt-5-mini'],
    ['gpt-5-mini', 'gpt-5'],
    ['gpt-5-mini-2026-01-01', 'gpt-5-mini'],
    ['gpt-5-mini-2026-01-01', 'gpt-5-mini-2026-01-02'],
    ['gpt-5', 'gpt-5.1'],
    ['llama-3', 'meta-llama/llama-3'],
    ['llama-3', 'litellm_proxy/meta-llama/llama-3'],
    ['llama-3', '@cf/meta/llama-3'],
    ['gpt-4o-mini', 'ft:gpt-4o-mini-2024-07-18:org:name:id'],
    ['deepseek', 'deepseek-v3'],
    ['us.anthropic.claude-sonnet-5', 'eu.anthropic.claude-sonnet-5', BEDROCK],
    ['us.anthropic.claude-sonnet-5', 'anthropic.claude-sonnet-5', BEDROCK],
    ['us.anthropic.claude-sonnet-5-20260101-v1:0', 'claude-sonnet-5-20260202-v1:0', BEDROCK],
    ['arn:aws:bedrock:us-east-1:123456789012:inference-profile/m', 'm', BEDROCK],
    ['gpt-5', 'gpt-5-20261399'],
  ])('%s does not cover %s', (declared, seen, provider = OPENAI) => {
    expect(coverage(provider, declared, seen)).toBe('no');
  });
});

const ITEM = { kind: 'model', source: 'manual', status: 'available' } as const;
const item = (name: string, fields: Partial<Item> = {}): Item => ({ ...ITEM, nameKey: name, ...fields });
const blocked = { status: 'blocked' } as const;
const decide = (items: readonly Item[], name: string) => findDecidingItem(items, coverageRuleOf(OPENAI, 'model'), name);

test('the most exact item decides for a name', () => {
  const [base, dated] = [item('gpt-5'), item('gpt-5-2026-01-01', blocked)];
  expect(decide([base, dated], 'gpt-5-2026-01-01')).toBe(dated);
  expect(decide([base, dated], 'gpt-5@20260101')).toBe(dated);
  expect(decide([base, dated], 'gpt-5-2026-02-02')).toBe(base);
  expect(decide([base, dated], 'gpt-5')).toBe(base);
  expect(decide([dated], 'gpt-5')).toBeUndefined();
});

test('a block covers dated spellings unless a person declared them; synced and retired items do not count', () => {
  const block = item('gpt-5', blocked);
  expect(decide([block], 'gpt-5-2026-01-01')).toBe(block);
  const declared = item('gpt-5-2026-01-01');
  expect(decide([block, declared], 'gpt-5-2026-01-01')).toBe(declared);
  for (const fields of [{ source: 'sync' }, { status: 'retired' }] as const) {
    expect(decide([block, item('gpt-5-2026-01-01', fields)], 'gpt-5-2026-01-01')).toBe(block);
  }
});

test('of equally exact items a blocked one decides; if none is blocked, no item decides', () => {
  const [one, other] = [item('us.anthropic.claude'), item('claude-2026-01-01')];
  expect(decide([one, other], 'us.anthropic.claude-2026-01-01')).toBeUndefined();
  const block = { ...other, ...blocked };
  expect(decide([one, block], 'us.anthropic.claude-2026-01-01')).toBe(block);
});

test('tool names that frameworks write alike cover each other; if only the case differs, only a block covers', () => {
  const tools = coverageRuleOf(OPENAI, 'tool');
  expect(tools('get-sum', 'get_sum')).toMatchObject({ doubtful: false });
  expect(tools('get_sum', 'get-sum')).toMatchObject({ doubtful: false });
  expect(tools('getSum', 'getsum')).toMatchObject({ doubtful: true });
  expect(tools('get-sum', 'get-sums')).toBeNull();
  expect(coverageRuleOf(OPENAI, 'agent')('a-b', 'a_b')).toBeNull();
  expect(rewrittenName('__Get  Sum!')).toBe('get_sum');
  expect(rewrittenName('日本')).toBe('日本');
});

const piece = fc.oneof(
  fc.constantFrom(
    '/',
    ':',
    '-',
    '.',
    '@',
    'openai',
    'azure',
    'us.',
    'anthropic.',
    'gpt-5',
    'models/',
    '-latest',
    'ft:',
  ),
  fc.constantFrom('-2026-01-01', '@20260101', '-v1:0', '[1m]', ':70b', '-0613', 'arn:aws:bedrock:x/', 'converse/', ' '),
  fc.string({ unit: 'binary', maxLength: 3 }),
);
const text = fc.array(piece, { minLength: 1, maxLength: 7 }).map((pieces) => pieces.join(''));

test('a name that covers another one has the same family, and each name covers itself', () => {
  fc.assert(
    fc.property(text, text, fc.constantFrom(OPENAI, BEDROCK), (one, other, provider) => {
      const keys = [one, other, `${one}-2026-01-01`, `openai/${one}`, `us.anthropic.${one}`].map((name) =>
        nameKey('model', name, provider.name),
      );
      const covering = coverageRuleOf(provider, 'model');
      for (const declared of keys) {
        expect(covering(declared, declared)).not.toBeNull();
        for (const seen of keys) {
          if (covering(declared, seen)) expect(nameFamily('model', declared)).toBe(nameFamily('model', seen));
        }
      }
    }),
    { numRuns: 1500 },
  );
});

/** A few names of one family, so that they often cover one another. */
const someItem: fc.Arbitrary<Item> = fc.record({
  nameKey: fc.constantFrom(
    'gpt-5',
    'gpt-5-2026-01-01',
    'gpt-5@20260101',
    'openai/gpt-5',
    'gpt-5-latest',
    'gpt-5-2026-02-02',
    'gpt-5:free',
  ),
  status: fc.constantFrom('available', 'missing', 'blocked', 'retired'),
  source: fc.constantFrom('manual', 'sync', 'manifest', 'recommendation'),
});

test('whether a name is blocked depends on blocks and on what a person declared, on no other item', () => {
  fc.assert(
    fc.property(fc.array(someItem, { maxLength: 8 }), someItem, (items, { nameKey: seen }) => {
      const isBlocked = (among: readonly Item[]) => decide(among, seen)?.status === 'blocked';
      expect(isBlocked(items.filter(canBlockOrAllow))).toBe(isBlocked(items));
    }),
    { numRuns: 1500 },
  );
});

test('the item with exactly the name, the blocks and the declared items are enough for a name that has an item or is blocked', () => {
  const distinct = fc.uniqueArray(someItem, { maxLength: 8, selector: ({ nameKey }) => nameKey });
  fc.assert(
    fc.property(distinct, someItem, (items, { nameKey: seen }) => {
      const exactItem = items.find(({ nameKey }) => nameKey === seen);
      const decisive = items.filter(canBlockOrAllow);
      const found = findExactOrBlockingItem({ exactItem, decisive }, coverageRuleOf(OPENAI, 'model'), seen);
      const isCoveredByBlock = items.some(({ nameKey, status }) => {
        return status === 'blocked' && coverageRuleOf(OPENAI, 'model')(nameKey, seen) !== null;
      });
      expect(found).toBe(exactItem || isCoveredByBlock ? decide(items, seen) : undefined);
    }),
    { numRuns: 1500 },
  );
});
