import { ValidationFailure, valueError } from '../../platform/errors.ts';

export const FORM_MEDIA_TYPE = 'application/x-www-form-urlencoded';

/** Whether a Content-Type is that of a form, with any parameters. */
export function isForm(contentType: string | undefined): boolean {
  const name = contentType?.split(';')[0] ?? '';
  return name.trim().toLowerCase() === FORM_MEDIA_TYPE;
}

/**
 * Parses a form into an object with the known parameters as texts. Ignores the others, because clients of RFC 7662 may send
 * their `client_id` as well (RFC 6749, section 3.2). Refuses bytes that are not UTF-8 and incomplete escapes instead of
 * replacing them: a text that two parsers decode differently could be checked in one form and used in the other. Refuses
 * repeated parameters (RFC 6749, section 3.2).
 *
 * @throws ValidationFailure that repeats no value
 */
export function formIn(bytes: Uint8Array, known: readonly string[]): Record<string, string> {
  const fields = new Map<string, string>();
  for (const pair of textOf(bytes).split('&')) {
    if (pair === '') continue;
    const mark = pair.indexOf('=');
    // A name without a value may be a secret that was sent without its name, and answers repeat names.
    if (mark < 0) throw malformed('should consist of name=value pairs');
    const name = decoded(pair.slice(0, mark));
    const value = decoded(pair.slice(mark + 1));
    if (fields.has(name))
      throw valueError(['body', name.slice(0, 128).toWellFormed()], 'parameter should be sent only once');
    fields.set(name, value);
  }
  return Object.fromEntries([...fields].filter(([name]) => known.includes(name)));
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw malformed('should be UTF-8');
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw malformed('should have only complete percent escapes of UTF-8');
  }
}

function malformed(rule: string): ValidationFailure {
  return valueError(['body'], `form ${rule}`);
}
