import { hasEncodedText, withoutEncodedText } from '../encoded-text.ts';
import { memoizeByName } from '../memoize-by-name.ts';
import { hostAndPort, withPublicUrls } from '../urls.ts';
import { isProse, isWord } from '../words.ts';

/**
 * The form that a text must have to be stored under a safe name:
 * - `name`: any text. A name that observations have anyway. Its URLs are reduced to scheme, host and path, and encoded content
 *   is replaced.
 * - `label`: at most four words, or JSON with counts or a list of identifiers.
 * - `identifier`: one word of ASCII.
 * - `address`: reduced to host and port.
 * - `route`: a path of templates and short words.
 * - `error name`: the name of a class, or a code.
 */
export type TextForm = 'name' | 'label' | 'identifier' | 'address' | 'route' | 'error name';

const REDUCE: Readonly<Record<TextForm, (text: string) => string | null>> = {
  name: memoizeByName((text) => withPublicUrls(withoutEncodedText(text))),
  label: memoizeByName((text) => (isLabel(text) && !hasEncodedText(text) ? withPublicUrls(text) : null)),
  // Not memoized, because ids hardly ever repeat.
  identifier: (text) => (isIdentifier(text) && !hasEncodedText(text) ? withPublicUrls(text) : null),
  address: memoizeByName((text) => (hasEncodedText(text) ? null : hostAndPort(text) || null)),
  route: memoizeByName((text) => (isRoute(text) && !hasEncodedText(text) ? text : null)),
  'error name': memoizeByName((text) => (ERROR_NAME.test(text) && !hasEncodedText(text) ? text : null)),
};

/** The text as it may be stored, or null if it does not have the form. Encoded content has no form. */
export function reduceToForm(text: string, form: TextForm): string | null {
  return REDUCE[form](text);
}

const IDENTIFIER = /^[\w.:/@#+~()<>$[\]{}=*&|%,?-]{1,512}$/;

export function isIdentifier(text: string): boolean {
  return IDENTIFIER.test(text);
}

const ERROR_NAME = /^(?:\d{1,5}|[A-Za-z_$][\w$-]{0,63}(?:(?:\.|::|#)[A-Za-z_$][\w$-]{0,63}){0,12})$/;

const MAX_LABEL_CHARACTERS = 512;
const MAX_LABEL_WORDS = 4;

function isLabel(text: string): boolean {
  if (text.length > MAX_LABEL_CHARACTERS) return false;
  if (/^\s*(?:\[\s*["[{\d]|\{\s*["}])/.test(text)) return isJsonOfCounts(text);
  return !/["!;]|\?(?!\S)/.test(text) && !isProse(text, MAX_LABEL_WORDS);
}

function isJsonOfCounts(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    const isList = Array.isArray(value) && value.every((item) => typeof item === 'string');
    return isList ? value.every((item) => isIdentifier(item)) : holdsCounts(value);
  } catch {
    return false;
  }
}

function holdsCounts(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return typeof value !== 'string';
  return Object.entries(value).every(([key, inner]) => isWord(key) && holdsCounts(inner));
}

const ROUTE_PART =
  /^(?:[A-Za-z][A-Za-z_.-]{0,31}|v\d{1,2}(?:\.\d{1,2})?|:[A-Za-z_]\w{0,31}\??|\{[\w:.*-]{1,48}\}|<[\w:]{1,48}>|\[{1,2}(?:\.{3})?\w{1,32}\]{1,2}|\*{1,2})$/;
const MAX_ROUTE_CHARACTERS = 256;

/** Whether a path consists of templates and words. Such a path contains no user name and no token. */
export function isRoute(path: string): boolean {
  if (path === '/') return true;
  const parts = path.replace(/^\/|\/$/g, '').split('/');
  return path.length <= MAX_ROUTE_CHARACTERS && parts.every((part) => ROUTE_PART.test(part));
}
