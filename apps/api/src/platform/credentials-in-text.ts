/**
 * API keys and tokens that a caller wrote where they do not belong, such as a path or the id of a request. The id of a key is
 * kept. A key is recognised with or without its prefix, and in upper and lower case, because some programs change the case of
 * texts.
 */
const API_KEY = /(key_[0-9a-z]{26}_)[^/]+/gi;
const TOKEN = /eyJ[\w-]+\.[\w-]+\.[\w-]*/g;

/** The maximum number of layers of percent-encoding that are removed from a text. */
const MAX_ENCODINGS = 5;

/**
 * Makes a text safe to log. If the text contains a credential, also percent-encoded, this returns the decoded text with `***`
 * in place of the credential.
 */
export function withoutCredentials(text: string): string {
  let decoded = text;
  for (let round = 0; round <= MAX_ENCODINGS; round += 1) {
    const masked = decoded.replace(API_KEY, '$1***').replace(TOKEN, '***');
    if (masked !== decoded) return masked;
    const next = percentDecoded(decoded);
    if (next === decoded) break;
    decoded = next;
  }
  return text;
}

/**
 * Decodes the bytes that are ASCII characters. All of a credential is ASCII, and an invalid sequence elsewhere must not hide
 * it.
 */
function percentDecoded(text: string): string {
  return text.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
