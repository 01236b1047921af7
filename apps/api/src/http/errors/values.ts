import { storable } from '@quartermaster/db/storable-text.ts';
import { valueError } from '../../platform/errors.ts';
import { MAX_DEPTH } from '../messages/limits.ts';

type Loc = (string | number)[];

/**
 * Refuses values that schemas do not check, and that no record may contain: NUL (PostgreSQL cannot store it), lone
 * surrogates (UTF-8 replaces them silently), a key `__proto__` (a free-form object would drop it silently), numbers out of
 * range (JSON cannot express infinity), and nesting deeper than {@link MAX_DEPTH} (it would overflow the stack of recursive
 * code).
 *
 * @param raw `{ path, query, body }` as sent.
 * @throws ValidationFailure with the first of them.
 */
export function checkValues(raw: unknown): void {
  if (typeof raw !== 'object' || raw === null) return;
  const parts = raw as Record<string, unknown>;
  for (const part of ['path', 'query', 'body']) check(parts[part], [part], 1);
}

/** The recursion is bounded by the depth that it enforces. `loc` is changed in place, and copied into an error. */
function check(value: unknown, loc: Loc, depth: number): void {
  if (typeof value === 'string') {
    const fault = faultOf(value);
    if (fault !== null) throw valueError([...loc], fault);
    return;
  }
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw valueError([...loc], 'number should be within the range of a double');
  }
  if (typeof value !== 'object' || value === null) return;
  if (depth > MAX_DEPTH) throw valueError(loc.slice(0, 1), `input should have at most ${MAX_DEPTH} nested levels`);
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
    if (fault !== null) throw valueError([...loc, printable(key)], `key ${fault}`);
    if (key === '__proto__') throw valueError([...loc, key], 'key should not be __proto__');
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
  return storable(key).slice(0, 128).toWellFormed();
}
