import type { Dialect } from '../dialects/dialect.ts';
import { sourcesOf } from '../dialects/fact-slots.ts';
import { genai } from '../dialects/genai.ts';
import { DIALECTS } from '../dialects/table.ts';
import { remembering } from '../remembering.ts';
import { CONTENT_BY_LAST_PART, GENERAL_CONTENT, SECRET, URLS } from './content-names.ts';
import { SAFE_NAMES } from './safe-names.ts';
import { isWord } from '../words.ts';
import type { TextForm } from './text-forms.ts';

/**
 * What an attribute is, by its dotted name and the dialect of its span:
 * - a form: a text in this form cannot be content, and is safe.
 * - `url`: a URL, of which scheme, host and port are safe.
 * - `content`: holds content, in numbers too.
 * - `secret`: a text under it is never stored, even where content is.
 * - `probably content`: unknown, and named like content.
 * - `unknown`: in no list. Its numbers and booleans are not content.
 * - `unsafe name`: the name is no word, and may be content itself.
 */
export type Handling = TextForm | 'unsafe name' | 'url' | 'content' | 'secret' | 'probably content' | 'unknown';

const NOT_SAFE: ReadonlySet<Handling> = new Set([
  'url',
  'content',
  'secret',
  'probably content',
  'unknown',
  'unsafe name',
]);

export function isSafe(handling: Handling): handling is TextForm {
  return !NOT_SAFE.has(handling);
}

/** Tells the handling of a name in the dialect with a name; null and names of no dialect are for unknown ones. */
export function handlingIn(dialectName: string | null): (name: string) => Handling {
  return (dialectName === null ? undefined : ofDialects.get(dialectName)) ?? ofUnknown;
}

/**
 * Whether a framework's own instrumentation made the span, which is known by the scope. Applications write the attributes of
 * a dialect on spans of their own, and name these as they like.
 */
export function isOfFramework(dialectName: string | null, scopeName: string): boolean {
  if (dialectName === null) return false;
  const scopes = frameworkScopes.get(dialectName) ?? [];
  return scopes.some((one) => (typeof one === 'string' ? one === scopeName : one.test(scopeName)));
}

function handlingsOf(dialect: Dialect | undefined): (name: string) => Handling {
  const safe = new Map([...formsOf(genai), ...(dialect ? formsOf(dialect) : []), ...SAFE_NAMES]);
  const own = dialect?.content ?? [];
  // What another dialect calls content is content here too, unless this dialect says that it is safe.
  const foreign = DIALECTS.flatMap(({ content = [] }) => content);
  const ownContent = contentPattern([...GENERAL_CONTENT, ...own]);
  const content = contentPattern([...GENERAL_CONTENT, ...own, ...foreign]);

  return remembering((name) => {
    const form = safe.get(name);
    if (form !== undefined && !ownContent.isExact(name)) return form;
    if (SECRET.test(name)) return 'secret';
    if (content.covers(name)) return 'content';
    if (URLS.has(name)) return 'url';
    if (CONTENT_BY_LAST_PART.test(name)) return 'probably content';
    return isWord(name) ? 'unknown' : 'unsafe name';
  });
}

/** What a dialect declares safe, and the attributes whose whole value is a fact. */
function formsOf(dialect: Dialect): [string, TextForm][] {
  const declared = (dialect.safe ?? []).map((name): [string, TextForm] => [name, 'label']);
  const facts = Object.entries(sourcesOf(dialect)).flatMap(([fact, names]) =>
    names.filter((name) => !name.includes('#')).map((name): [string, TextForm] => [name, FORM_OF_FACT[fact] ?? 'name']),
  );
  return [...facts, ...declared.filter(([name]) => !facts.some(([of]) => of === name))];
}

/** The other facts are names that governance knows anyway. */
const FORM_OF_FACT: Readonly<Record<string, TextForm>> = {
  operation: 'identifier',
  mcpMethod: 'identifier',
  callId: 'identifier',
  conversationId: 'identifier',
  inputTokens: 'identifier',
  outputTokens: 'identifier',
  serverPort: 'identifier',
  serverAddress: 'address',
  errorType: 'error name',
};

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
const frameworkScopes = new Map(DIALECTS.map(({ name, scopes }) => [name, scopes ?? []]));
