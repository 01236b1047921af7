import type { Dialect } from '../dialects/dialect.ts';
import { sourcesOf } from '../dialects/fact-slots.ts';
import { genai } from '../dialects/genai.ts';
import { DIALECTS } from '../dialects/table.ts';
import { remembering } from '../remembering.ts';
import { CONTENT_BY_LAST_PART, GENERAL_CONTENT, SECRET, URLS } from './content-names.ts';
import { ERROR_NAMES, SAFE_NAMES } from './safe-names.ts';

/**
 * What an attribute is, by its dotted name and the dialect of its span:
 * - `safe`: cannot hold content.
 * - `error name`: safe if it is one word.
 * - `url`: a URL, of which scheme, host and port are safe.
 * - `content`: holds content, in numbers too.
 * - `secret`: a text under it is never stored, even where content is.
 * - `probably content`: unknown, and named like content.
 * - `unknown`: in no list. Its numbers and booleans are not content.
 */
export type Handling = 'safe' | 'error name' | 'url' | 'content' | 'secret' | 'probably content' | 'unknown';

/** Tells the handling of a name in the dialect with a name; null and names of no dialect are for unknown ones. */
export function handlingIn(dialectName: string | null): (name: string) => Handling {
  return (dialectName === null ? undefined : ofDialects.get(dialectName)) ?? ofUnknown;
}

/**
 * Whether a dialect is of one framework, which names its spans itself. Conventions are written by any code: a dialect without
 * scopes is one.
 */
export function isOfFramework(dialectName: string | null): boolean {
  return frameworks.has(dialectName);
}

function handlingsOf(dialect: Dialect | undefined): (name: string) => Handling {
  const safe = nameList([...SAFE_NAMES, ...ERROR_NAMES, ...namesOfFacts(genai), ...safeNamesOf(dialect)]);
  const own = dialect?.content ?? [];
  // What another dialect calls content is content here too, unless this dialect says that it is safe.
  const foreign = DIALECTS.flatMap(({ content = [] }) => content);
  const ownContent = contentPattern([...GENERAL_CONTENT, ...own]);
  const content = contentPattern([...GENERAL_CONTENT, ...own, ...foreign]);

  return remembering((name) => {
    if (safe.names.has(name) && !ownContent.isExact(name)) return ERROR_NAMES.has(name) ? 'error name' : 'safe';
    if (SECRET.test(name)) return 'secret';
    if (content.covers(name)) return 'content';
    if (URLS.has(name)) return 'url';
    if (safe.prefixes.some((prefix) => name.startsWith(prefix))) return 'safe';
    return CONTENT_BY_LAST_PART.test(name) ? 'probably content' : 'unknown';
  });
}

function safeNamesOf(dialect: Dialect | undefined): string[] {
  return dialect ? [...(dialect.safe ?? []), ...namesOfFacts(dialect)] : [];
}

/** The attributes whose whole value is a fact: a name that governance knows anyway. */
function namesOfFacts(dialect: Dialect): string[] {
  return Object.values(sourcesOf(dialect)).flatMap((names) => names.filter((name) => !name.includes('#')));
}

function nameList(names: readonly string[]): { names: ReadonlySet<string>; prefixes: readonly string[] } {
  const prefixes = names.filter((name) => name.endsWith('.*')).map((name) => name.slice(0, -1));
  return { names: new Set(names), prefixes };
}

/** A name stands for itself and for what follows it after `.`, `:` or `/`; `*` for any characters but these. */
function contentPattern(names: readonly string[]): {
  isExact: (name: string) => boolean;
  covers: (name: string) => boolean;
} {
  const patterns = names.map((name) => name.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[^.:/]*'));
  const exact = new RegExp(`^(?:${patterns.join('|')})$`);
  const covering = new RegExp(`^(?:${patterns.join('|')})(?:[.:/]|$)`);
  return { isExact: (name) => exact.test(name), covers: (name) => covering.test(name) };
}

const ofUnknown = handlingsOf(undefined);
const ofDialects = new Map(DIALECTS.map((dialect) => [dialect.name, handlingsOf(dialect)]));
const frameworks: ReadonlySet<string | null> = new Set(
  DIALECTS.filter(({ scopes }) => scopes !== undefined).map(({ name }) => name),
);
