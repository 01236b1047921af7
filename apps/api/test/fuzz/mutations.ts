import type { Arbitrary } from 'fast-check';
import * as fc from 'fast-check';

/** A change at one place of a value. */
export type Mutation =
  | { do: 'replace'; at: number; by: unknown }
  | { do: 'remove'; at: number }
  | { do: 'add'; at: number; name: string; by: unknown };

/** More levels of nesting than a body may have. */
const TOO_DEEP = 70;

/** Values that few schemas accept: other types, limits of types, empty, huge, invisible or deeply nested values. */
const junk: Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, 0, -0, -1, 1.5, 25, 1e308, -1e308, 5e-324),
  fc.constantFrom(2 ** 31, 2 ** 53 - 1, 2 ** 53, -(2 ** 53), 1e21),
  fc.constantFrom<unknown>('', ' ', '0', 'null', 'true', [], {}, [[]], [null], { '': '' }),
  fc.constantFrom('\0', 'a\0b', '\ud800', '\udfff\ud800', '\u202e\u200b', '\ufeff', '💩'.repeat(50), 'e\u0301'),
  fc.constantFrom("' or 1=1--", '%00', '../../etc/passwd', '${7*7}', '<script>', 'a\r\nb: c', '_%\\'),
  fc.constantFrom('0000-01-01T00:00:00Z', '9999-12-31T23:59:59-23:59', '2025-02-30T00:00:00Z', '2025-01-01'),
  fc.constantFrom('x'.repeat(201), 'x'.repeat(20_000), 'ß'.repeat(8_200)),
  fc.nat({ max: TOO_DEEP }).map(nested),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.double(),
  fc.jsonValue({ maxDepth: 4 }),
);

/** Names with a meaning in JavaScript, or elsewhere in the service. */
const names = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'toString', 'id', 'tenantId', 'status', 'platformAdministrator', ''),
  fc.string({ unit: 'binary', maxLength: 10 }),
);

const at = fc.nat({ max: 999 });

export const mutations: Arbitrary<Mutation[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ do: fc.constant('replace' as const), at, by: junk }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), at }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('add' as const), at, name: names, by: junk }) },
  ),
  { minLength: 1, maxLength: 3 },
);

/** Node refuses a request head of more than 16 KiB before the service sees it, so texts in the head are cut. */
const MAX_HEAD_TEXT = 400;

/** Texts for queries, paths and headers. */
export const junkTexts: Arbitrary<string> = fc.oneof(
  junk.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, MAX_HEAD_TEXT)),
  fc.string({ unit: 'binary', maxLength: 20 }),
);

/** A mutated copy of a JSON value. It is a JSON value too. */
export function mutated(value: unknown, changes: readonly Mutation[]): unknown {
  return changes.reduce((current, change) => {
    const places = placesOf(current);
    const place = places[change.at % places.length] ?? [];
    return changedAt(current, place, change);
  }, value);
}

type Place = readonly (string | number)[];

/** The paths to the value itself and to each of its parts. */
function placesOf(value: unknown, way: Place = []): Place[] {
  if (typeof value !== 'object' || value === null) return [way];
  const members: [string | number, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [way, ...members.flatMap(([key, member]) => placesOf(member, [...way, key]))];
}

function changedAt(value: unknown, [key, ...rest]: Place, change: Mutation): unknown {
  if (key === undefined) {
    if (change.do === 'replace') return change.by;
    if (change.do === 'remove' || typeof value !== 'object' || value === null) return value;
    return Array.isArray(value) ? [...value, change.by] : withMember(value, change.name, change.by);
  }
  const removed = change.do === 'remove' && rest.length === 0;
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => {
      if (index !== key) return [item];
      return removed ? [] : [changedAt(item, rest, change)];
    });
  }
  const members = Object.entries(value as object);
  if (removed) return Object.fromEntries(members.filter(([name]) => name !== key));
  return Object.fromEntries(members.map(([name, m]) => [name, name === key ? changedAt(m, rest, change) : m]));
}

function withMember(value: object, name: string, member: unknown): unknown {
  return Object.fromEntries([...Object.entries(value), [name, member]]);
}

function nested(levels: number): unknown {
  let value: unknown = 'deep';
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}
