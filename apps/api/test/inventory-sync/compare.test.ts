import type { FoundItem, KnownItem } from '@quartermaster/db/repositories/inventory-sync.ts';
import { expect, test } from 'vitest';
import { type Comparison, compare } from '../../src/resources/inventory-sync/compare.ts';
import { type ListedItem, MAX_ITEMS, type ReadItem, readItem } from '../../src/resources/inventory-sync/item.ts';
import { type Listing, listingOf } from '../../src/resources/inventory-sync/listing.ts';

const NOW = new Date('2026-03-01T12:00:00.000Z');
const detectedAt = NOW.toISOString();

const FOUND: FoundItem = {
  kind: 'tool',
  name: 'search',
  nameKey: 'search',
  title: 'Search',
  description: 'Searches',
  schemaDigest: 'sha256:a',
  attributes: { inputSchema: {} },
};
const KNOWN: KnownItem = {
  ...FOUND,
  id: 'inv_1',
  status: 'available',
  source: 'sync',
  drift: null,
  confirmed: true,
  listed: true,
};
const OTHER = { schemaDigest: 'sha256:b', description: 'Sends', title: 'Search', attributes: { inputSchema: {} } };
const DRIFT = { ...OTHER, detectedAt: '2026-02-01T12:00:00.000Z' };

/** A comparison that changes nothing. */
const NOTHING: Comparison = {
  added: [],
  updated: [],
  removed: [],
  held: [],
  doubtful: [],
  withdrawn: [],
  undecided: [],
  unchanged: [],
  newlyListed: [],
  noLongerListed: [],
};

type Row = [string, Partial<KnownItem>, Partial<FoundItem>, object | null];

/** Columns: the case, the known item, the found item, the expected changes (null if there are none). */
const FOUND_AGAIN: Row[] = [
  ['an unchanged item', {}, {}, null],
  ['another title', {}, { title: 'Find' }, { title: 'Find' }],
  ['other attributes with the same digest', {}, { attributes: {} }, { attributes: {} }],
  ['a missing item', { status: 'missing' }, {}, { status: 'available' }],
  ['a blocked item', { status: 'blocked' }, {}, null],
  ['a retired item', { status: 'retired' }, {}, null],
  ['a retired item that was not listed', { status: 'retired', listed: false }, {}, { status: 'pending' }],
  ['a pending item', { status: 'pending' }, {}, null],
  ['an item without a digest', { schemaDigest: null }, {}, { schemaDigest: 'sha256:a' }],
  ['an item whose digest disappeared', {}, { schemaDigest: null }, null],
  ['another digest', {}, OTHER, { drift: { ...OTHER, detectedAt } }],
  [
    'a missing item with another digest',
    { status: 'missing' },
    OTHER,
    { status: 'available', drift: { ...OTHER, detectedAt } },
  ],
  ['a blocked item with another digest', { status: 'blocked' }, OTHER, { drift: { ...OTHER, detectedAt } }],
  ['a drift that is already known', { drift: DRIFT }, OTHER, null],
  [
    'another change of a drifted item',
    { drift: DRIFT },
    { schemaDigest: 'sha256:c' },
    { drift: { ...OTHER, schemaDigest: 'sha256:c', description: 'Searches', detectedAt } },
  ],
  ['the accepted definition, after drift', { drift: DRIFT }, {}, { drift: null }],
  [
    'a declared item without texts',
    { source: 'manual', title: null, description: null },
    {},
    { title: 'Search', description: 'Searches' },
  ],
  ['a declared item with texts', { source: 'manual', title: 'Ours', attributes: { ours: 1 } }, {}, null],
  [
    'a declared item without attributes',
    { source: 'recommendation', attributes: {} },
    {},
    { attributes: { inputSchema: {} } },
  ],
];

test.each(FOUND_AGAIN)('found again: %s', async (_, known, found, change) => {
  const listing = { kinds: ['tool' as const], items: [{ ...FOUND, ...found }], errors: [], errorCount: 0, notes: [] };
  const result = await compare([{ ...KNOWN, ...known }], listing, NOW);
  expect({ ...result, undecided: [] }).toEqual({
    ...NOTHING,
    updated: change === null ? [] : [{ id: 'inv_1', change }],
    unchanged: change === null ? ['inv_1'] : [],
  });
});

/** Columns: the case, the known item, the found item, the expected change, and whether the decision is about another definition. */
const UNDECIDED: [string, Partial<KnownItem>, Partial<FoundItem>, object, boolean | null][] = [
  ['an available item with another digest', {}, OTHER, { drift: { ...OTHER, detectedAt } }, null],
  ['a pending item with another title', { status: 'pending' }, { title: 'Find' }, { title: 'Find' }, null],
  ['a pending item with another digest', { status: 'pending' }, OTHER, { ...OTHER, drift: null }, true],
  ['a retired item that is back', { status: 'retired', listed: false }, {}, { status: 'pending' }, false],
  [
    'a retired item that is back with another digest',
    { status: 'retired', listed: false },
    OTHER,
    { ...OTHER, status: 'pending', drift: null },
    true,
  ],
];

test.each(UNDECIDED)('waits for a decision anew: %s', async (_, known, found, change, isRedefined) => {
  const listing = { kinds: ['tool' as const], items: [{ ...FOUND, ...found }], errors: [], errorCount: 0, notes: [] };
  const { updated, undecided } = await compare([{ ...KNOWN, ...known }], listing, NOW);
  expect(updated).toEqual([{ id: 'inv_1', change }]);
  expect(undecided).toEqual(isRedefined === null ? [] : [{ id: 'inv_1', isRedefined }]);
});

/** Columns: the case, the known items, the new item, and the name that it is renamed from. */
const RENAMED: [string, Partial<KnownItem>[], Partial<FoundItem>, string | null][] = [
  ['the definition of an item that is gone', [{}], {}, 'search'],
  [
    'the new definition of an item that is gone',
    [{ schemaDigest: 'sha256:z', drift: { ...DRIFT, schemaDigest: 'sha256:a' } }],
    {},
    'search',
  ],
  ['the definition of a blocked item that is gone', [{ status: 'blocked' }], {}, 'search'],
  ['the definition of a missing item', [{ status: 'missing', listed: false }], {}, 'search'],
  ['the definition of a retired item', [{ status: 'retired', listed: false }], {}, null],
  ['another definition', [{}], { schemaDigest: 'sha256:b' }, null],
  ['no digest', [{ schemaDigest: null }], { schemaDigest: null }, null],
  ['the definition of an item of another kind', [{ kind: 'prompt' }], {}, null],
  ['the definition of two items that are gone', [{}, { id: 'inv_2', name: 'find', nameKey: 'find' }], {}, null],
];

test.each(RENAMED)('a new item with %s', async (_, known, found, renamedFrom) => {
  const items = [{ ...FOUND, name: 'lookup', nameKey: 'lookup', ...found }];
  const listing = { kinds: ['tool' as const], items, errors: [], errorCount: 0, notes: [] };
  const { added } = await compare(
    known.map((one) => ({ ...KNOWN, ...one })),
    listing,
    NOW,
  );
  expect(added).toMatchObject([{ name: 'lookup', renamedFrom }]);
});

test('a new item with the definition of an item that is still listed is no renamed one', async () => {
  const items = [FOUND, { ...FOUND, name: 'lookup', nameKey: 'lookup' }];
  const listing = { kinds: ['tool' as const], items, errors: [], errorCount: 0, notes: [] };
  expect((await compare([KNOWN], listing, NOW)).added).toMatchObject([{ name: 'lookup', renamedFrom: null }]);
});

test('an unchanged item that the last sync did not find is newly listed', async () => {
  const listing = { kinds: ['tool' as const], items: [FOUND], errors: [], errorCount: 0, notes: [] };
  const { unchanged, newlyListed } = await compare([{ ...KNOWN, listed: false }], listing, NOW);
  expect([unchanged, newlyListed]).toEqual([['inv_1'], ['inv_1']]);
});

/** Columns: the case, the known item, what happens to it. */
const GONE: [string, Partial<KnownItem>, 'removed' | 'withdrawn' | null][] = [
  ['an available item', {}, 'removed'],
  ['a declared item that a sync had found', { source: 'manual' }, 'removed'],
  ['a declared item that no sync ever found', { source: 'manual', confirmed: false }, null],
  ['a missing item', { status: 'missing' }, null],
  ['a pending item', { status: 'pending' }, 'withdrawn'],
  ['a blocked item', { status: 'blocked' }, null],
  ['a retired item', { status: 'retired' }, null],
  ['an available item of another kind', { kind: 'model' }, null],
];

test.each(GONE)('not found: %s', async (_, known, outcome) => {
  const kept = { ...KNOWN, id: 'inv_2', name: 'kept', nameKey: 'kept' };
  const items = [{ ...FOUND, name: 'kept', nameKey: 'kept' }];
  const listing = { kinds: ['tool' as const], items, errors: [], errorCount: 0, notes: [] };
  const result = await compare([{ ...KNOWN, ...known }, kept], listing, NOW);
  const changed = outcome === null ? {} : { [outcome]: ['inv_1'] };
  expect(result).toEqual({ ...NOTHING, unchanged: ['inv_2'], ...changed, noLongerListed: ['inv_1'] });
});

test('not found: the only available item is held', async () => {
  const listing = { kinds: ['tool' as const], items: [], errors: [], errorCount: 0, notes: [] };
  const result = await compare([KNOWN], listing, NOW);
  const doubtful = [{ kind: 'tool', heldCount: 1, keptCount: 0 }];
  expect(result).toEqual({ ...NOTHING, held: ['inv_1'], doubtful, noLongerListed: ['inv_1'] });
});

test('not found: all tools are held although more prompts stay, and one prompt is not', async () => {
  const prompts = ['a', 'b', 'c'].map((name) => ({ ...FOUND, kind: 'prompt' as const, name, nameKey: name }));
  const known = [KNOWN, ...prompts.map((prompt) => ({ ...KNOWN, ...prompt, id: prompt.name }))];
  const kinds = ['tool' as const, 'prompt' as const];
  const listing = { kinds, items: prompts.slice(1), errors: [], errorCount: 0, notes: [] };
  const result = await compare(known, listing, NOW);
  const doubtful = [{ kind: 'tool', heldCount: 1, keptCount: 0 }];
  expect(result).toMatchObject({ held: ['inv_1'], removed: ['a'], doubtful, unchanged: ['b', 'c'] });
});

test('not found: an item that the last sync had not found either', async () => {
  const listing = { kinds: ['tool' as const], items: [], errors: [], errorCount: 0, notes: [] };
  const { noLongerListed } = await compare([{ ...KNOWN, status: 'missing', listed: false }], listing, NOW);
  expect(noLongerListed).toEqual([]);
});

const PROVIDER = { name: 'mcp' };

async function listed(item: Partial<ListedItem>): Promise<Listing> {
  const listing = listingOf(['tool']);
  await listing.add([readItem({ kind: 'tool', name: 'search', attributes: {}, ...item }, PROVIDER)]);
  return listing.finished();
}

/** The only item of a listing. */
async function only(item: Partial<ListedItem>): Promise<FoundItem> {
  const { items } = await listed(item);
  const [found] = items;
  if (!found || items.length > 1) throw new Error(`there are ${items.length} items`);
  // Attributes are kept as text until they are stored.
  return JSON.parse(JSON.stringify(found)) as FoundItem;
}

test('texts are truncated to the limits of their fields, not within a character, and cannot contain NUL', async () => {
  const item = await only({ title: `${'x'.repeat(198)}😀😀`, description: 'a\0b\ud800c' });
  expect(item.title).toBe(`${'x'.repeat(198)}…`);
  expect(item.description).toBe('a\ufffdb\ufffdc');
  expect((await only({ title: '' })).title).toBeNull();
});

test('the digest covers the whole definition, even parts that are truncated', async () => {
  const schema = (count: number) => {
    const names = Array.from({ length: count }, (_, index) => `property-${index}`);
    const properties = Object.fromEntries(names.map((name) => [name, { type: 'string', description: 'x' }]));
    return { type: 'object', properties };
  };
  const of = (count: number) => {
    const inputSchema = schema(count);
    return only({ attributes: { inputSchema, annotations: { readOnlyHint: true } }, definition: { inputSchema } });
  };
  const large = await of(1000);
  expect(large.attributes).toEqual({ annotations: { readOnlyHint: true }, truncated: true });
  expect((await of(1001)).schemaDigest).not.toBe(large.schemaDigest);
  const small = await of(1);
  expect(small.attributes).toEqual({ inputSchema: schema(1), annotations: { readOnlyHint: true } });
  const turned = { properties: schema(1).properties, type: 'object' };
  expect((await only({ definition: { inputSchema: turned } })).schemaDigest).toBe(small.schemaDigest);
});

test('a definition that is nested too deeply is an error of the item, not of the service', async () => {
  let nested: unknown = {};
  for (let depth = 0; depth < 200_000; depth += 1) nested = [nested];
  const { items, errors } = await listed({ attributes: { inputSchema: nested }, definition: { inputSchema: nested } });
  expect(items).toEqual([]);
  expect(errors).toEqual([{ kind: 'tool', name: 'search', reason: 'its definition is nested too deeply' }]);
});

test('attributes have as many levels as a request may have, and keep a member __proto__', async () => {
  const nestedIn = (levels: number): unknown => (levels === 0 ? 'leaf' : { a: nestedIn(levels - 1) });
  // With the attributes themselves: 62 and 63 levels.
  const fitting = await listed({ attributes: { inputSchema: nestedIn(61) } });
  expect(fitting.errors).toEqual([]);
  const refused = await listed({ attributes: { inputSchema: nestedIn(62) } });
  expect(refused.errors).toEqual([{ kind: 'tool', name: 'search', reason: 'its definition is nested too deeply' }]);
  const item = await only({ attributes: JSON.parse('{"__proto__":{"hidden":true},"b":1}') });
  expect(JSON.stringify(item.attributes)).toBe('{"__proto__":{"hidden":true},"b":1}');
});

test('all errors are counted and the first hundred shown; the number of items is bounded', async () => {
  const listing = listingOf(['tool']);
  const tools = (count: number, name: (index: number) => string): ReadItem[] =>
    Array.from({ length: count }, (_, index) =>
      readItem({ kind: 'tool', name: name(index), attributes: {} }, PROVIDER),
    );
  await listing.add(tools(150, () => 'same'));
  const { items, errors, errorCount } = listing.finished();
  expect([items.length, errors.length, errorCount]).toEqual([1, 100, 149]);
  await expect(listing.add(tools(MAX_ITEMS, String))).rejects.toThrow('it lists more than 5000 items');
});
