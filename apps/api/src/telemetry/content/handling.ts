import type { Dialect } from '../reading/dialect.ts';
import { sourcesOf } from '../reading/fact-slots.ts';
import { genai } from '../reading/genai.ts';
import { DIALECTS } from '../frameworks/list.ts';
import { memoizeByName } from '../memoize-by-name.ts';
import { CONTENT_BY_LAST_PART, GENERAL_CONTENT, SECRET, URLS } from './content-names.ts';
import { SAFE_NAMES } from './safe-names.ts';
import { isWord } from '../words.ts';
import type { TextForm } from './text-forms.ts';

/**
 * How an attribute is handled, by its dotted name and the dialect of its span:
 * - a `TextForm`: a text in this form cannot be content, so it is stored.
 * - `url`: only scheme, host and port are stored.
 * - `content`: all values are content, numbers as well.
 * - `secret`: a text is never stored, even if the tenant captures content.
 * - `probably content`: in no list, but named like content.
 * - `unknown`: in no list. Texts may be content, numbers and booleans are not.
 * - `unsafe name`: the name is not a single word, so the name itself may be content.
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

/** Returns a function that finds the handling of an attribute in a dialect. @param dialectName null: no dialect */
export function handlingIn(dialectName: string | null): (name: string) => Handling {
  return handlingOf(dialectName ?? '');
}

/**
 * Whether a framework's own instrumentation wrote the span, by its scope. Applications may write a dialect's attributes to
 * their own spans as well, and choose the names of these spans.
 */
export function isOfFramework(dialectName: string | null, scopeName: string): boolean {
  if (dialectName === null) return false;
  const scopes = frameworkScopes.get(dialectName) ?? [];
  return scopes.some((scope) => (typeof scope === 'string' ? scope === scopeName : scope.test(scopeName)));
}

/** The name of a span without the part that is content in its dialect. */
export function withoutContent(spanName: string, dialectName: string | null): string {
  const content = dialectName === null ? undefined : contentInSpanNames.get(dialectName);
  return content === undefined ? spanName : spanName.replace(content, '');
}

function handlingsOf(dialect: Dialect | undefined): (name: string) => Handling {
  const safe = new Map([...formsOf(genai), ...(dialect ? formsOf(dialect) : []), ...SAFE_NAMES]);
  const dialectContent = dialect?.content ?? [];
  // Content of another dialect is content here as well, unless this dialect declares it safe.
  const foreign = DIALECTS.flatMap(({ content = [] }) => content);
  const ownContent = contentPattern([...GENERAL_CONTENT, ...dialectContent]);
  const content = contentPattern([...GENERAL_CONTENT, ...dialectContent, ...foreign]);

  return memoizeByName((name) => {
    const form = safe.get(name);
    if (form !== undefined && !ownContent.isExact(name)) return form;
    if (SECRET.test(name)) return 'secret';
    if (content.covers(name)) return 'content';
    if (URLS.has(name)) return 'url';
    if (CONTENT_BY_LAST_PART.test(name)) return 'probably content';
    return isWord(name) ? 'unknown' : 'unsafe name';
  });
}

/** The attributes that a dialect declares safe, and those whose whole value is a fact, with their forms. */
function formsOf(dialect: Dialect): [string, TextForm][] {
  const declared = (dialect.safe ?? []).map((name): [string, TextForm] => [name, 'label']);
  const facts = Object.entries(sourcesOf(dialect)).flatMap(([fact, names]) =>
    names.filter((name) => !name.includes('#')).map((name): [string, TextForm] => [name, FACT_FORMS[fact] ?? 'name']),
  );
  return [...facts, ...declared.filter(([name]) => !facts.some(([of]) => of === name))];
}

/** The forms of facts. Facts that are not listed here are names, which observations have anyway. */
const FACT_FORMS: Readonly<Record<string, TextForm>> = {
  operation: 'identifier',
  mcpMethod: 'identifier',
  callId: 'identifier',
  conversationId: 'identifier',
  inputTokens: 'identifier',
  outputTokens: 'identifier',
  cacheReadTokens: 'identifier',
  cacheWriteTokens: 'identifier',
  reasoningTokens: 'identifier',
  serverPort: 'identifier',
  serverAddress: 'address',
  errorType: 'error name',
};

/** A name also covers all names that continue it after `.`, `:` or `/`. `*` matches any characters except these three. */
function contentPattern(names: readonly string[]): {
  isExact: (name: string) => boolean;
  covers: (name: string) => boolean;
} {
  const patterns = names.map((name) => name.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[^.:/]*'));
  const exact = new RegExp(`^(?:${patterns.join('|')})$`);
  const covering = new RegExp(`^(?:${patterns.join('|')})(?:[.:/]|$)`);
  return { isExact: (name) => exact.test(name), covers: (name) => covering.test(name) };
}

/** Made for the first span of a dialect: the patterns take time to compile, and a process gets few dialects. */
const handlingOf = memoizeByName((dialectName) => handlingsOf(DIALECTS.find(({ name }) => name === dialectName)));
const contentInSpanNames = new Map(DIALECTS.map((dialect) => [dialect.name, dialect.contentInSpanNames]));

const frameworkScopes = new Map(DIALECTS.map(({ name, scopes }) => [name, scopes ?? []]));
