import { valueError } from '../errors.ts';
import { MAX_DEPTH } from './limits.ts';

type Loc = (string | number)[];

/**
 * Refuses values that no schema looks at, and that no record should hold: NUL (Postgres has no place for it), lone
 * surrogates (they are not Unicode, and UTF-8 replaces them silently), a key `__proto__` (a free-form object would
 * drop it silently), numbers out of range (JSON has no infinity to keep them as), and nesting deeper than {@link MAX_DEPTH}, which would overflow stacks further in.
 *
 * @param raw `{ path, query, body }` as sent.
 * @throws ValidationFailure with the first of them.
 */
export function checkValues(raw: unknown): void {
  if (typeof raw !== 'object' || raw === null) return;
  const parts = raw as Record<string, unknown>;
  for (const part of ['path', 'query', 'body']) check(parts[part], [part], 1);
}

/** The recursion is bounded by the depth that it enforces. `loc` is worked on in place, and copied when thrown. */
function check(value: unknown, loc: Loc, depth: number): void {
  if (typeof value === 'string') {
    const fault = faultOf(value);
    if (fault !== null) throw valueError([...loc], fault);
    return;
  }
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw valueError([...loc], 'a number should be within the range of a double');
  }
  if (typeof value !== 'object' || value === null) return;
  if (depth > MAX_DEPTH) throw valueError(loc.slice(0, 1), `should nest at most ${MAX_DEPTH} levels deep`);
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      loc.push(index);
      check(value[index], loc, depth + 1);
      loc.pop();
    }
    return;
  }
  const members = value as Record<string, unknown>;
  for (const key of Object.keys(members)) {
    const fault = faultOf(key);
    if (fault !== null) throw valueError([...loc, printable(key)], `a key ${fault}`);
    if (key === '__proto__') throw valueError([...loc, key], 'a key should not be __proto__');
    loc.push(key);
    check(members[key], loc, depth + 1);
    loc.pop();
  }
}

function faultOf(text: string): string | null {
  if (text.includes('\0')) return 'should not contain the character U+0000';
  return text.isWellFormed() ? null : 'should not contain a lone surrogate';
}

function printable(key: string): string {
  return key.toWellFormed().replaceAll('\0', '\uFFFD').slice(0, 128).toWellFormed();
}
