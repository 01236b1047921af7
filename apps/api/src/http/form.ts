import { ValidationFailure, valueError } from '../errors.ts';

export const FORM_MEDIA_TYPE = 'application/x-www-form-urlencoded';

/** Whether a Content-Type, with any parameters, is that of a form. */
export function isForm(contentType: string | undefined): boolean {
  const name = contentType?.split(';')[0] ?? '';
  return name.trim().toLowerCase() === FORM_MEDIA_TYPE;
}

/**
 * Reads a form: an object of texts, of the parameters that are known. Others are ignored, as clients of RFC 7662 expect who
 * send their `client_id` along (RFC 6749, section 3.2: "unrecognized request parameters"). Else stricter than browsers are, since what decodes in two ways may be checked in one
 * and used in the other: bytes that are not UTF-8 and incomplete escapes are refused, not replaced; and so is a
 * parameter that is sent twice (RFC 6749, section 3.2).
 *
 * @throws ValidationFailure that repeats no value
 */
export function formIn(bytes: Uint8Array, known: readonly string[]): Record<string, string> {
  const fields = new Map<string, string>();
  for (const pair of textOf(bytes).split('&')) {
    if (pair === '') continue;
    const mark = pair.indexOf('=');
    // A name alone may well be a secret that was sent bare, and names are repeated in answers.
    if (mark < 0) throw malformed('should be pairs of name=value');
    const name = decoded(pair.slice(0, mark));
    const value = decoded(pair.slice(mark + 1));
    if (fields.has(name))
      throw valueError(['body', name.slice(0, 128).toWellFormed()], 'a parameter should be sent once');
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
    throw malformed('should have complete escapes, of UTF-8');
  }
}

function malformed(rule: string): ValidationFailure {
  return valueError(['body'], `a form ${rule}`);
}
