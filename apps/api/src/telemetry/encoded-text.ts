import { hash } from 'node:crypto';
import { memoizeByName } from './memoize-by-name.ts';

/*
 * Finds content that is encoded, such as a prompt or an image in base64. Its form does not say what it is: it looks like a long id.
 * Ids are random, so they do not decode to a text.
 */

/** Replaces encoded content in a name. */
const LEFT_OUT = '(encoded text left out)';

/** A data URL (RFC 2397) up to the next space or quote. The media type says what was left out. */
const DATA_URL = /data:([a-z]{1,32}\/[\w.+-]{1,64})?(?:;[\w.+-]{1,64}(?:=[\w.+"-]{0,64})?){0,8},[^\s"'<>]*/gi;

/** The shortest text in base64 that is recognised: 18 bytes. In a random text of this length all bytes are hardly ever printable. */
const MIN_BASE64 = 24;

/** The same for hexadecimal digits: 24 bytes. */
const MIN_HEX = 48;

/** From this length on, base64 that does not decode to a text is taken for an image or another file. */
const MIN_FILE = 200;

const RUN = /[\w+/-]{24,}={0,2}/g;
const MAY_BE_DATA_URL = /data:/i;
const HEX = /^[\da-f]+$/i;

/** The first bytes of PNG, JPEG, GIF, PDF, RIFF (WebP, WAV), ZIP and gzip files in base64. */
const FILE_START = /iVBORw0KGgo|\/9j\/|R0lGOD|JVBERi0|UklGR|UEsDB|H4sI/y;

/** An id as it is kept. If it is encoded content, a digest of it: equal ids stay equal, and different ones different. */
export function withoutEncodedId(id: string): string {
  return hasEncodedText(id) ? hash('sha256', id, 'base64url').slice(0, 22) : id;
}

/** Whether a text contains a data URL, a text in base64 or hexadecimal digits, or a file in base64. */
export function hasEncodedText(text: string): boolean {
  return withoutEncodedText(text) !== text;
}

/** Replaces encoded content in a text. A data URL is reduced to its media type. */
export function withoutEncodedText(text: string): string {
  // Quick checks, since most texts have neither.
  const plain =
    text.includes(':') && MAY_BE_DATA_URL.test(text)
      ? text.replace(DATA_URL, (_, mediaType: string | undefined) => `data:${mediaType ?? ''}`)
      : text;
  if (plain.length < MIN_BASE64 || !hasEncodedRun(plain)) return plain;
  return plain.replace(RUN, (run) => (isEncoded(run) ? LEFT_OUT : run));
}

/** Memoized, because each id of a span is checked at least twice: where it is read, and before it is stored. */
const hasEncodedRun = memoizeByName(findEncodedRun);

/** Whether one of the matches of `RUN` is encoded. Finds them without the regular expression, in a quarter of the time. */
function findEncodedRun(text: string): boolean {
  for (let start = 0; text.length - start >= MIN_BASE64; ) {
    let end = start;
    while (end < text.length && (SEXTETS[text.charCodeAt(end)] ?? NO_SEXTET) !== NO_SEXTET) end += 1;
    if (end - start >= MIN_BASE64) {
      let padded = end;
      while (padded < end + 2 && text[padded] === '=') padded += 1;
      if (isEncoded(text.slice(start, padded))) return true;
    }
    start = end + 1;
  }
  return false;
}

function isEncoded(run: string): boolean {
  if (run.length >= MIN_FILE && (HEX.test(run) || changesCaseOften(run))) return true;
  // Where decoding failed, by the alignment of its start. It fails there again from each later start of the same alignment, so the
  // work is linear.
  const failedAt = { base64: [0, 0, 0, 0], hex: [0, 0] };
  const isText = (failures: number[], start: number, findFailure: typeof failureInBase64): boolean => {
    const alignment = start % failures.length;
    if (start < (failures[alignment] ?? 0)) return false;
    const failure = findFailure(run, start);
    if (failure !== null) failures[alignment] = failure;
    return failure === null;
  };
  // The encoded part may follow a prefix: `resp_bGl0ZWxsbTp...`.
  for (let start = 0; run.length - start >= MIN_BASE64; ) {
    if (isText(failedAt.base64, start, failureInBase64) || isFile(run, start)) return true;
    if (run.length - start >= MIN_HEX && isText(failedAt.hex, start, failureInHex)) return true;
    while (start < run.length && !isSeparator(run.charCodeAt(start))) start += 1;
    start += 1;
  }
  return false;
}

/** Whether the rest of a text starts like a file. */
function isFile(text: string, start: number): boolean {
  FILE_START.lastIndex = start;
  return FILE_START.test(text);
}

/** Whether a character separates the parts of an id: `_`, `/` or `-`. */
function isSeparator(code: number): boolean {
  return code === 0x5f || code === 0x2f || code === 0x2d;
}

/** Base64 changes between small and capital letters more often than names do. */
function changesCaseOften(run: string): boolean {
  return (run.match(/[a-z\d][A-Z]/g)?.length ?? 0) > run.length / 8;
}

const NO_SEXTET = 255;

/** The value of each character in base64 and base64url. */
const SEXTETS = new Uint8Array(128).fill(NO_SEXTET);
for (const alphabet of ['+/', '-_'].map(
  (last) => `ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789${last}`,
)) {
  for (const [value, character] of Array.from(alphabet).entries()) SEXTETS[character.charCodeAt(0)] = value;
}

/**
 * Where the rest of a text is not a text in base64. Null if it is one. It is decoded byte by byte, because most are refused at the
 * first bytes.
 */
function failureInBase64(text: string, start: number): number | null {
  let [bits, count, expected] = [0, 0, 0];
  for (let at = start; at < text.length; at += 1) {
    const sextet = SEXTETS[text.charCodeAt(at)] ?? NO_SEXTET;
    // Padding, at the end.
    if (sextet === NO_SEXTET) break;
    bits = ((bits << 6) | sextet) & 0xffff;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    expected = continuationsAfter((bits >>> count) & 0xff, expected);
    if (expected < 0) return at;
  }
  return null;
}

/** Where the rest of a text is not a text in hexadecimal digits. Null if it is one. */
function failureInHex(text: string, start: number): number | null {
  let expected = 0;
  for (let at = start; at + 1 < text.length; at += 2) {
    const byte = Number.parseInt(text.slice(at, at + 2), 16);
    expected = Number.isNaN(byte) ? -1 : continuationsAfter(byte, expected);
    if (expected < 0) return at;
  }
  return null;
}

/**
 * How many continuation bytes of UTF-8 are expected after a byte, if `expected` were before it. -1 if the byte is not part of a
 * text: it is a control character, or not UTF-8.
 */
function continuationsAfter(byte: number, expected: number): number {
  if (expected > 0) return byte >= 0x80 && byte <= 0xbf ? expected - 1 : -1;
  if (byte < 0x20) return byte === 0x09 || byte === 0x0a || byte === 0x0d ? 0 : -1;
  if (byte <= 0x7e) return 0;
  if (byte < 0xc2 || byte > 0xf4) return -1;
  return byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
}
