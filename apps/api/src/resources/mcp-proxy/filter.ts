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
  #pending = '';
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
    const lengthBefore = this.#pending.length;
    let from = Math.max(0, lengthBefore - 1);
    this.#pending += text.replaceAll(/\r\n?/g, '\n');
    let start = 0;
    try {
      this.#held.add(this.#pending.length - lengthBefore);
      for (let end = this.#pending.indexOf('\n\n', from); end >= 0; end = this.#pending.indexOf('\n\n', from)) {
        this.push(this.#filtered(this.#pending.slice(start, end)));
        start = end + 2;
        from = start;
      }
    } catch (error) {
      done(error as Error);
      return;
    }
    this.#pending = this.#pending.slice(start);
    this.#held.add(-start);
    const isTooLarge = this.#pending.length > MAX_LIST_BYTES;
    done(isTooLarge ? new Error('an event of the MCP server is too large') : null);
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
