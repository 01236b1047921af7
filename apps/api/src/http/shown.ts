/** How much of a value an answer repeats, serialised, in bytes. */
const INPUT_MAX_BYTES = 1024;

/** At least what registration takes for a password, and refuses. */
const SECRET = /pass(word|wd|phrase|code)|pwd|secret|token|key|credential|authorization/i;

/** Whether a name promises a secret. Rather one too many. */
function soundsSecret(name: string | number): boolean {
  return typeof name === 'string' && SECRET.test(name);
}

/**
 * The `input` of a validation error: nothing where a secret may be meant, secrets left out of objects, texts cut at
 * {@link INPUT_MAX_BYTES}, larger objects and lists left out, and URLs with a user or password too. Looks at no more of the value than it repeats.
 */
export function shownInput(loc: readonly (string | number)[], value: unknown): { input?: unknown } {
  if (loc.some(soundsSecret)) return {};
  if (typeof value === 'string') return holdsCredentials(value) ? {} : { input: cut(value) };
  const input = copied(value, { left: INPUT_MAX_BYTES });
  return input === undefined ? {} : { input };
}

/** Whether a text may be a URL with a user or password, however odd: they stand before an `@`, behind `:` or slashes. */
function holdsCredentials(text: string): boolean {
  return /[:/\\]/.test(text.slice(0, text.lastIndexOf('@') + 1));
}

/** A copy that is JSON; undefined where it cannot be one, or takes more room than is left. */
function copied(value: unknown, room: { left: number }): unknown {
  if (typeof value === 'object' && value !== null) {
    return Array.isArray(value) ? copiedList(value, room) : copiedObject(value, room);
  }
  // JSON has no such numbers, and would make null of them.
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
