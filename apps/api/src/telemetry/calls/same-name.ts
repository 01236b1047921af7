import { folded } from '@quartermaster/db/queries.ts';
import type { CallUse } from './call-span.ts';

/** The spellings of a use, made comparable. Compute it once for each use. */
export type Spellings = { kind: CallUse['kind']; forms: readonly string[]; server: string | null };

export function spellingsOf(use: CallUse): Spellings {
  const { kind, name, written, responseModel, server } = use;
  const names = responseModel === null || kind !== 'model' ? [name, written] : [name, written, responseModel];
  const forms = [...new Set(names.map((one) => comparable(kind, one)))];
  return { kind, forms, server: server === null ? null : comparable('tool', server) };
}

/**
 * Whether two uses may mean one thing. Frameworks rewrite the names of tools (`get_sum` for `get-sum`) and put the server
 * in front (`mcp__everything__echo`); models are named with and without their vendor and date.
 */
export function isSameName(a: Spellings, b: Spellings): boolean {
  if (a.kind !== b.kind) return false;
  if (a.forms.some((form) => b.forms.includes(form))) return true;
  if (a.kind !== 'tool') return false;
  const servers = [a.server, b.server];
  return a.forms.some((one) =>
    b.forms.some((other) => isPrefixed(one, other, servers) || isPrefixed(other, one, servers)),
  );
}

/** Whether `long` is `short` with the name of a server in front. */
function isPrefixed(long: string, short: string, servers: readonly (string | null)[]): boolean {
  if (short === '' || !long.endsWith(`_${short}`)) return false;
  const prefix = long.slice(0, -short.length - 1);
  return prefix === 'mcp' || prefix.startsWith('mcp_') || servers.includes(prefix);
}

/** A date or snapshot behind the name of a model: `-2026-01-01`, `-20260101`, `@20260101`. */
const SNAPSHOT = /[-@](\d{4}-\d{2}-\d{2}|\d{8})$/;

function comparable(kind: CallUse['kind'], name: string): string {
  if (kind === 'model')
    return folded(name)
      .replace(/^.*\/(?=.)/, '')
      .replace(SNAPSHOT, '');
  if (kind === 'tool' || kind === 'agent') {
    const words = folded(name)
      .replaceAll(/[^\p{L}\p{N}]+/gu, '_')
      .replaceAll(/^_|_$/g, '');
    // A name of signs alone is compared as it is.
    return words === '' ? name : words;
  }
  return name;
}
