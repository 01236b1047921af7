import type { Attributes, OtlpSpan } from '../otlp/span.ts';
import { memoizeByName } from '../memoize-by-name.ts';
import type { Dialect } from './dialect.ts';
import { endingTest } from './endings.ts';

/** Returns a function that finds the dialect of a span: by its scope, otherwise by its attributes in the order of the table. */
export function recogniser(
  dialects: readonly Dialect[],
): (scope: OtlpSpan['scope'], attributes: Attributes) => Dialect | null {
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
    return dialects.find(({ scopes = [] }) => scopes.some((one) => isName(one, scope))) ?? null;
  });
  // The index of the first dialect whose signature has the name, or `dialects.length` if none has it.
  const byAttribute = memoizeByName((name: string) => {
    const indexes = prefixes.filter(([prefix]) => name.startsWith(prefix)).map(([, index]) => index);
    const ending = endingTests.findIndex((hasEnding) => hasEnding(name));
    return Math.min(exactNames.get(name) ?? dialects.length, ...indexes, ending === -1 ? dialects.length : ending);
  });

  return (scope, attributes) => {
    const known = byScope(scope.name);
    if (known !== null) return known;
    let first = dialects.length;
    for (const name in attributes) first = Math.min(first, byAttribute(name));
    return dialects[first] ?? null;
  };
}

function isName(pattern: string | RegExp, name: string): boolean {
  return typeof pattern === 'string' ? pattern === name : pattern.test(name);
}
