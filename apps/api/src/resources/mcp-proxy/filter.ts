import { StringDecoder } from 'node:string_decoder';
import { Transform, type TransformCallback } from 'node:stream';
import { isObject } from '../../platform/json-values.ts';
import type { Held } from './buffers.ts';

/** The largest list that is filtered, in bytes. */
export const MAX_LIST_BYTES = 8 * 1024 * 1024;

type ListedKind = 'tool' | 'prompt' | 'resource';

/** Whether a session may use something. It is asked for every entry of a list. */
export type IsOffered = (kind: ListedKind, name: string) => boolean;

/** The member of a result that lists items of a kind, and the member of an item that names it. */
const LISTS: readonly { member: string; kind: ListedKind; nameMember: string }[] = [
  { member: 'tools', kind: 'tool', nameMember: 'name' },
  { member: 'prompts', kind: 'prompt', nameMember: 'name' },
  { member: 'resources', kind: 'resource', nameMember: 'uri' },
  { member: 'resourceTemplates', kind: 'resource', nameMember: 'uriTemplate' },
];

/** The methods whose answers are lists. */
export const LIST_METHODS: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
]);

/**
 * The JSON of a message without the entries that are not offered. Other messages stay as they are.
 *
 * @throws SyntaxError if the text is not JSON
 */
export function filteredMessage(text: string, isOffered: IsOffered): string {
  const message: unknown = JSON.parse(text);
  const messages = Array.isArray(message) ? message : [message];
  let isChanged = false;
  for (const one of messages) {
    const result: unknown = isObject(one) ? one['result'] : undefined;
    if (!isObject(result)) continue;
    for (const { member, kind, nameMember } of LISTS) {
      const entries = result[member];
      if (!Array.isArray(entries)) continue;
      result[member] = entries.filter((entry: unknown) => {
        const name = isObject(entry) ? entry[nameMember] : undefined;
        return typeof name === 'string' && isOffered(kind, name);
      });
      isChanged = true;
    }
  }
  return isChanged ? JSON.stringify(message) : text;
}

/** Filters the messages of a stream of server-sent events (WHATWG HTML, section 9.2). It passes each event on as soon as it is whole. */
export class EventFilter extends Transform {
  readonly #isOffered: IsOffered;
  readonly #held: Held;
  readonly #decoder = new StringDecoder('utf8');
  /** The beginning of the next event, with LF at the ends of lines. */
  readonly #pending = new Pieces();
  /** Whether the beginning ends with a line, so that another LF ends the event. */
  #endsWithLine = false;
  #endedWithReturn = false;

  constructor(isOffered: IsOffered, held: Held) {
    super();
    this.#isOffered = isOffered;
    this.#held = held;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    let text = this.#decoder.write(chunk);
    if (this.#endedWithReturn && text.startsWith('\n')) text = text.slice(1);
    this.#endedWithReturn = text === '' ? this.#endedWithReturn : text.endsWith('\r');
    let rest = text.replaceAll(/\r\n?/g, '\n');
    try {
      this.#held.add(rest.length);
      // Only what is new is searched, and nothing that waits is copied: an event may arrive in millions of pieces.
      if (this.#endsWithLine && rest.startsWith('\n')) rest = this.#passOn(rest, 0);
      for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) rest = this.#passOn(rest, end + 1);
    } catch (error) {
      done(error as Error);
      return;
    }
    this.#endsWithLine = rest === '' ? this.#endsWithLine : rest.endsWith('\n');
    this.#pending.add(rest);
    const isTooLarge = this.#pending.length > MAX_LIST_BYTES;
    done(isTooLarge ? new Error('an event of the MCP server is too large') : null);
  }

  /** Passes on the event that ends before the LF at `end`. @returns the text after it */
  #passOn(text: string, end: number): string {
    this.#pending.add(text.slice(0, end));
    const event = this.#pending.take();
    this.#held.add(-event.length - 1);
    this.#endsWithLine = false;
    this.push(this.#filtered(event.slice(0, -1)));
    return text.slice(end + 1);
  }

  /** An event that has not ended is dropped, as the specification says. */
  override _flush(done: TransformCallback): void {
    done();
  }

  #filtered(event: string): string {
    const lines = event.split('\n');
    const data = lines.filter(isData).map((line) => line.slice(line.startsWith('data: ') ? 6 : 5));
    const text = data.join('\n');
    // A server begins streams that can be resumed with an event without data.
    if (text === '') return `${event}\n\n`;
    const filtered = filteredMessage(text, this.#isOffered);
    if (filtered === text) return `${event}\n\n`;
    return `${[...lines.filter((line) => !isData(line)), `data: ${filtered}`].join('\n')}\n\n`;
  }
}

function isData(line: string): boolean {
  return line.startsWith('data:') || line === 'data';
}

/** Pieces of a text that are joined in groups before they are joined as a whole. */
const PIECES_OF_GROUP = 1000;

/** Collects a text from small pieces, in linear time. */
class Pieces {
  #groups: string[] = [];
  #pieces: string[] = [];
  length = 0;

  add(piece: string): void {
    if (piece === '') return;
    this.#pieces.push(piece);
    this.length += piece.length;
    if (this.#pieces.length < PIECES_OF_GROUP) return;
    this.#groups.push(this.#pieces.join(''));
    this.#pieces = [];
  }

  /** Returns the whole text, and removes it. */
  take(): string {
    const text = this.#groups.join('') + this.#pieces.join('');
    this.#groups = [];
    this.#pieces = [];
    this.length = 0;
    return text;
  }
}
