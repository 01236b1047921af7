import { setAttribute } from '../otlp/assemble.ts';
import type { Attributes } from '../otlp/span.ts';
import { isWord } from '../words.ts';

/** The attribute with the names of what was not stored of a span, a resource or a scope. */
const OMITTED = 'quartermaster.omitted';

/** The number of texts that were not stored. May be more than the names, which are distinct and limited in number. */
const OMITTED_COUNT = 'quartermaster.omitted.count';

const MAX_NAMES = 64;

/** Collects what is not stored of one span, resource or scope. */
export class Omissions {
  #count = 0;
  #names: string[] | null = null;

  /** @param name the dotted name of an attribute. Other parts of a span are named as in the API: `status.message` */
  add(name: string): void {
    this.#count += 1;
    const names = (this.#names ??= []);
    if (names.length >= MAX_NAMES || names.includes(name)) return;
    // A name that is not a single word may be content itself.
    if (isWord(name)) names.push(name);
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Adds the two attributes. Returns the input itself if everything is stored. */
  addTo(attributes: Attributes): Attributes {
    if (this.#count === 0) return attributes;
    const added = { ...attributes };
    setAttribute(added, OMITTED, this.#names ?? []);
    setAttribute(added, OMITTED_COUNT, this.#count);
    return added;
  }
}
