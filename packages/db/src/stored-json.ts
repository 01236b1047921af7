import { randomUUID } from 'node:crypto';

/**
 * Stands for a stored text while what is around it is written. Nobody outside of this process can know it. It begins with
 * a character that is rare, and needs no escape: so it is found in a third of the time.
 */
const PLACE = `\x7F${randomUUID()}`;

/** The texts that were met since writing began; null while nothing is written. */
let met: string[] | null = null;

/**
 * A value as it is stored, for answers alone: to be written, not read. {@link jsonOf} puts its text where it belongs,
 * since what is parsed only to be written again costs more than the rest of a list. To everything else that writes JSON
 * it is the value.
 *
 * @param text as JSON.stringify wrote it
 */
export function storedJson(text: string): Record<string, unknown> {
  return new StoredJson(text) as unknown as Record<string, unknown>;
}

/** JSON.stringify, to the byte. @throws TypeError for what is no JSON */
export function jsonOf(value: unknown): string {
  const texts: string[] = [];
  met = texts;
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } finally {
    met = null;
  }
  if (json === undefined) throw new TypeError(`${typeof value} is no JSON`);
  let written = '';
  let from = 0;
  for (const text of texts) {
    const place = json.indexOf(PLACE, from);
    // With the quotes around it.
    written += json.slice(from, place - 1) + text;
    from = place + PLACE.length + 1;
  }
  return from === 0 ? json : written + json.slice(from);
}

/** A value with what is stored in it, as whoever reads the answer has it. */
export function parsedJson(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(jsonOf(value));
}

class StoredJson {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toJSON(): unknown {
    if (met === null) return JSON.parse(this.#text);
    met.push(this.#text);
    return PLACE;
  }
}
