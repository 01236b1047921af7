import { randomUUID } from 'node:crypto';

/**
 * The placeholder for a stored text while the value around it is serialized. It is random, so that no stored text can contain
 * it. It begins with a rare character that needs no escape, which makes the search three times as fast.
 */
const PLACEHOLDER = `\x7F${randomUUID()}`;

/** The stored texts found by the current serialization; null while there is none. */
let collected: string[] | null = null;

/**
 * A stored JSON text as a value of an answer. {@link stringifyWithStoredJson} inserts the text unparsed: parsing it only to
 * serialize it again would cost more than the rest of a list. For JSON.stringify it is the parsed value. It is not meant to be
 * read.
 *
 * @param text as JSON.stringify wrote it
 */
export function storedJson(text: string): Record<string, unknown> {
  return new StoredJson(text) as unknown as Record<string, unknown>;
}

/** The same text as JSON.stringify, but stored texts are inserted unparsed. @throws TypeError for a value that is not JSON */
export function stringifyWithStoredJson(value: unknown): string {
  const texts: string[] = [];
  collected = texts;
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } finally {
    collected = null;
  }
  if (json === undefined) throw new TypeError(`${typeof value} is no JSON`);
  let written = '';
  let from = 0;
  for (const text of texts) {
    const place = json.indexOf(PLACEHOLDER, from);
    // The placeholder has quotes around it.
    written += json.slice(from, place - 1) + text;
    from = place + PLACEHOLDER.length + 1;
  }
  return from === 0 ? json : written + json.slice(from);
}

/** A value with its stored texts parsed, as a client gets it. */
export function expandStoredJson(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(stringifyWithStoredJson(value));
}

class StoredJson {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toJSON(): unknown {
    if (collected === null) return JSON.parse(this.#text);
    collected.push(this.#text);
    return PLACEHOLDER;
  }
}
