/** How much of an invalid value an answer repeats, in bytes of JSON. */
const INPUT_MAX_BYTES = 1024;

/** Includes every name that registration treats as a password. */
const SECRET = /pass(word|wd|phrase|code)|pwd|secret|token|key|credential|authorization/i;

/** Whether a field name suggests a secret. False positives are fine. */
function soundsSecret(name: string | number): boolean {
  return typeof name === 'string' && SECRET.test(name);
}

/**
 * The `input` of a validation error, without anything that may be secret. Omits values of fields that suggest a secret, also
 * inside objects, and URLs with a user or password. Truncates texts at {@link INPUT_MAX_BYTES}, and omits larger objects and
 * lists. It reads no more of the value than it repeats.
 */
export function safeInput(loc: readonly (string | number)[], value: unknown): { input?: unknown } {
  if (loc.some(soundsSecret)) return {};
  if (typeof value === 'string') return holdsCredentials(value) ? {} : { input: cut(value) };
  const input = copied(value, { left: INPUT_MAX_BYTES });
  return input === undefined ? {} : { input };
}

/** Whether a text may be a URL with a user or password, however malformed: an `@` after a `:` or after slashes. */
function holdsCredentials(text: string): boolean {
  return /[:/\\]/.test(text.slice(0, text.lastIndexOf('@') + 1));
}

/** A copy as JSON; undefined if JSON cannot express it, or if it is larger than the room that is left. */
function copied(value: unknown, room: { left: number }): unknown {
  if (typeof value === 'object' && value !== null) {
    return Array.isArray(value) ? copiedList(value, room) : copiedObject(value, room);
  }
  // JSON has no infinities and no NaN: it would write null.
  const plain = typeof value === 'bigint' || !isJsonNumber(value) ? String(value) : value;
  if (typeof plain === 'string' && plain.length > room.left) return undefined;
  const text = JSON.stringify(plain) as string | undefined;
  return text !== undefined && take(room, Buffer.byteLength(text)) ? plain : undefined;
}

function copiedList(value: unknown[], room: { left: number }): unknown[] | undefined {
  if (!take(room, 2)) return undefined;
  const list: unknown[] = [];
  for (const item of value) {
    const copy = take(room, 1) ? copied(item, room) : undefined;
    if (copy === undefined) return undefined;
    list.push(copy);
  }
  return list;
}

function copiedObject(value: object, room: { left: number }): Record<string, unknown> | undefined {
  if (!take(room, 2)) return undefined;
  const object: Record<string, unknown> = {};
  for (const key in value) {
    if (!Object.hasOwn(value, key) || key === '__proto__' || soundsSecret(key)) continue;
    const member = (value as Record<string, unknown>)[key];
    if (member === undefined || (typeof member === 'string' && holdsCredentials(member))) continue;
    const copy = take(room, key.length + 4) ? copied(member, room) : undefined;
    if (copy === undefined) return undefined;
    object[key] = copy;
  }
  return object;
}

function take(room: { left: number }, bytes: number): boolean {
  room.left -= bytes;
  return room.left >= 0;
}

function isJsonNumber(value: unknown): boolean {
  return typeof value !== 'number' || Number.isFinite(value);
}

function cut(text: string): string {
  let start = text.slice(0, INPUT_MAX_BYTES);
  for (let size = sizeOf(start); size > INPUT_MAX_BYTES; size = sizeOf(start)) {
    start = start.slice(0, Math.floor((start.length * INPUT_MAX_BYTES) / size) - 1);
  }
  return start.isWellFormed() ? start : start.slice(0, -1).toWellFormed();
}

function sizeOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}
