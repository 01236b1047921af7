import { setAttribute } from '../otlp/assemble.ts';
import type { Attributes } from '../otlp/span.ts';
import { isWord } from '../words.ts';

/** Where a span, a resource or a scope says what was not stored of it: the names, without values. */
const OMITTED = 'quartermaster.omitted';
/** How many texts were not stored. `quartermaster.omitted` may list fewer, since it has each name once and is bounded. */
const OMITTED_COUNT = 'quartermaster.omitted.count';

const MAX_NAMES = 64;
/** What is left out of one list of attributes, and of what belongs to it. */
export class Omissions {
  #count = 0;
  #names: string[] | null = null;

  /** @param name the dotted name of an attribute; another part of a span is named as in the API: `status.message` */
  note(name: string): void {
    this.#count += 1;
    const names = (this.#names ??= []);
    if (names.length >= MAX_NAMES || names.includes(name)) return;
    // Other names may be content themselves.
    if (isWord(name)) names.push(name);
  }

  /** The attributes with what was left out; as they are if nothing was. */
  addTo(attributes: Attributes): Attributes {
    if (this.#count === 0) return attributes;
    const added = { ...attributes };
    setAttribute(added, OMITTED, this.#names ?? []);
    setAttribute(added, OMITTED_COUNT, this.#count);
    return added;
  }
}
