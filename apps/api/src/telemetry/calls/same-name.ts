import { nameFamily, rewrittenName } from '@quartermaster/naming/name-family.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import { CacheByParts } from '../cache-by-parts.ts';
import type { CallUse } from './call-span.ts';

/** The names of a use in comparable form, and the server of a tool. */
export type Spellings = { kind: CallUse['kind']; forms: readonly string[]; server: string | null };

/** Returns a function that computes the spellings of uses, and caches them by name. Use one for each batch. */
export function spellingsReader(): (use: CallUse) => Spellings {
  const known = new CacheByParts<Spellings>();
  return (use) => {
    const { kind, name, written, responseModel, server } = use;
    return known.get([kind, server, responseModel, written, name], () => spellingsOf(use));
  };
}

function spellingsOf(use: CallUse): Spellings {
  const { kind, name, written, responseModel, server } = use;
  const names = responseModel === null || kind !== 'model' ? [name, written] : [name, written, responseModel];
  const forms = [...new Set(names.map((one) => comparableName(kind, one)))];
  return { kind, forms, server: server === null ? null : comparableName('tool', server) };
}

/**
 * Whether two uses may be of the same subject. Frameworks rewrite the names of tools (`get_sum` for `get-sum`) and put the
 * server in front (`mcp__everything__echo`). Models are named with or without their vendor and date.
 */
export function isSameName(a: Spellings, b: Spellings): boolean {
  if (a.kind !== b.kind) return false;
  // Loops, because the names of a span's uses are compared in pairs.
  for (const form of a.forms) if (b.forms.includes(form)) return true;
  if (a.kind !== 'tool') return false;
  for (const one of a.forms) {
    for (const other of b.forms) {
      if (isPrefixed(one, other, [a, b]) || isPrefixed(other, one, [a, b])) return true;
    }
  }
  return false;
}

/** Whether `long` is `short` with the name of a server in front. */
function isPrefixed(long: string, short: string, [a, b]: readonly [Spellings, Spellings]): boolean {
  const prefixEnd = long.length - short.length - 1;
  if (short === '' || prefixEnd < 0 || long[prefixEnd] !== '_' || !long.endsWith(short)) return false;
  const prefix = long.slice(0, prefixEnd);
  return prefix === 'mcp' || prefix.startsWith('mcp_') || a.server === prefix || b.server === prefix;
}

/** A name without the differences that frameworks make. */
export function comparableName(kind: CallUse['kind'], name: string): string {
  if (kind === 'model') return nameFamily('model', caseFolded(name).replace(/^.*\/(?=.)/, ''));
  return kind === 'tool' || kind === 'agent' ? rewrittenName(name) : name;
}
