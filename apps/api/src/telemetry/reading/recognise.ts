import type { Attributes, OtlpSpan } from '../otlp/span.ts';
import { memoizeByName } from '../memoize-by-name.ts';
import type { Dialect } from './dialect.ts';
import { endingTest } from './endings.ts';

type Recogniser = {
  /** The dialect of a span: by its exact scope, a pattern of its scope, or its attributes in the order of the list. */
  dialectOf: (scope: OtlpSpan['scope'], attributes: Attributes) => Dialect | null;
  /**
   * The dialect to try next if `dialect` reads nothing in a span. Null if there is none. There are two reasons: an exporter may
   * keep the scope of a framework and replace its attributes, and a tool that decorates spans may have led to the wrong
   * dialect.
   */
  nextAfter: (dialect: Dialect, scope: OtlpSpan['scope'], attributes: Attributes) => Dialect | null;
};

export function recogniser(dialects: readonly Dialect[]): Recogniser {
  const exactNames = new Map<string, number>();
  const prefixes: [string, number][] = [];
  for (const [index, { signature = [] }] of dialects.entries()) {
    for (const name of signature) {
      if (name.endsWith('.*')) prefixes.push([name.slice(0, -1), index]);
      else if (!exactNames.has(name)) exactNames.set(name, index);
    }
  }
  const endingTests = dialects.map(({ endings }) => (endings === undefined ? () => false : endingTest(endings)));
  const byScope = memoizeByName((scope: string) => {
    const isExact = ({ scopes = [] }: Dialect) => scopes.includes(scope);
    const isMatch = ({ scopes = [] }: Dialect) => scopes.some((one) => one instanceof RegExp && one.test(scope));
    return dialects.find(isExact) ?? dialects.find(isMatch) ?? null;
  });
  // The index of the first dialect that has the name in its signature, or an ending of it; `dialects.length` if none has.
  const bySignature = memoizeByName((name: string) => {
    const indexes = prefixes.filter(([prefix]) => name.startsWith(prefix)).map(([, index]) => index);
    return Math.min(exactNames.get(name) ?? dialects.length, ...indexes);
  });
  const byEnding = memoizeByName((name: string) => {
    const index = endingTests.findIndex((hasEnding) => hasEnding(name));
    return index === -1 ? dialects.length : index;
  });
  const byAttribute = memoizeByName((name: string) => Math.min(bySignature(name), byEnding(name)));

  function firstBy(indexOf: (name: string) => number, attributes: Attributes): Dialect | null {
    let first = dialects.length;
    for (const name in attributes) first = Math.min(first, indexOf(name));
    return dialects[first] ?? null;
  }

  return {
    dialectOf: (scope, attributes) => byScope(scope.name) ?? firstBy(byAttribute, attributes),
    nextAfter(dialect, scope, attributes) {
      if (dialect.readsAlone === true) return null;
      const next = firstBy(byScope(scope.name) === null ? byEnding : bySignature, attributes);
      return next === dialect ? null : next;
    },
  };
}
