import { setAttribute } from '../otlp/assemble.ts';
import { type Attributes, type AttributeValue, type OtlpSpan } from '../otlp/span.ts';
import { cutToBytes } from '../otlp/text.ts';
import { type Handling, handlingOf } from './content-names.ts';

/** Events that are a message (semantic-conventions 1.27 to 1.36, gen-ai-events.md): they keep their name and what is listed here. */
const CONTENT_EVENT = /^gen_ai\.(?:[a-z_]{1,32}\.message|choice|content\.[a-z_]{1,32})$/;
const KEPT_OF_CONTENT_EVENTS = new Set([
  'event.name',
  'gen_ai.system',
  'gen_ai.provider.name',
  'gen_ai.operation.name',
  'gen_ai.request.model',
  'gen_ai.response.model',
  'role',
  'index',
  'finish_reason',
]);

const MAX_STRING_BYTES = 1024;

/** In the place of a value that is not stored. */
const REMOVED = Symbol('removed');

/**
 * A filter for the spans of one batch, on the way to storage. With `keepContent` false it removes content, the queries of
 * URLs, and a status message too: SDKs and instrumentations write the exception's message there. Attributes that are named
 * like secrets go in any case, and so do the user and password of URLs. What is no content is cut at 1 KiB of UTF-8, names
 * included; content that is kept is kept whole.
 *
 * It reads nothing but the span: call `readSpan` first, on the unfiltered span, since some of what it reads
 * (`traceloop.entity.name`) is removed here. What is unchanged is returned as it is, and the resource and scope that spans
 * share stay shared.
 */
export function contentFilter(options: {
  keepContent: boolean;
}): (span: OtlpSpan, dialect?: string | null) => OtlpSpan {
  const { keepContent } = options;
  const handlings = new Map<string, Handling>();
  const resources = new WeakMap<Attributes, Attributes>();
  const scopes = new WeakMap<OtlpSpan['scope'], OtlpSpan['scope']>();

  function handlingIn(name: string): Handling {
    let handling = handlings.get(name);
    if (handling === undefined) {
      handling = handlingOf(name);
      handlings.set(name, handling);
    }
    return handling;
  }

  /** `above` is the dotted path of the object that the entries stand in: `llm: { prompts: [] }` is `llm.prompts`. */
  function filterEntries(entries: Attributes, above: string): Attributes {
    // Most entries stay as they are: what is copied is copied once something does not.
    let kept: Attributes | undefined;
    let passed = 0;
    for (const name of Object.keys(entries)) {
      const value = entries[name] ?? null;
      const newName = cut(name);
      const newValue = filterEntry(name, value, above);
      if (!kept && (newName !== name || newValue !== value)) kept = firstOf(entries, passed);
      if (kept && newValue !== REMOVED) setAttribute(kept, newName, newValue);
      passed += 1;
    }
    return kept ?? entries;
  }

  function filterEntry(name: string, value: AttributeValue, above: string): AttributeValue | typeof REMOVED {
    const path = above === '' ? name : `${above}.${name}`;
    const [one, other] = [handlingIn(path), above === '' ? 'kept' : handlingIn(name)];
    if (one === 'kept' && other === 'kept') return filterValue(value, path);
    const is = (handling: Handling) => one === handling || other === handling;
    const content = is('content') || (is('text content') && canHoldText(value));
    if ((is('secret') && canHoldText(value)) || (content && !keepContent)) return REMOVED;
    const shown = typeof value === 'string' && is('url') ? publicUrl(value, keepContent) : value;
    return content ? shown : filterValue(shown, path);
  }

  function filterValue(value: AttributeValue, path: string): AttributeValue {
    if (typeof value === 'string') return cut(value);
    if (typeof value !== 'object' || value === null) return value;
    if (!Array.isArray(value)) return filterEntries(value, path);
    const items = value.map((item) => filterValue(item, path));
    return items.every((item, i) => item === value[i]) ? value : items;
  }

  function filterEvent(event: OtlpSpan['events'][number]): OtlpSpan['events'][number] {
    const isMessage = CONTENT_EVENT.test(event.name);
    if (isMessage && keepContent) return event;
    const named = isMessage ? pick(event.attributes, KEPT_OF_CONTENT_EVENTS) : event.attributes;
    return changedOnly(event, { name: cut(event.name), attributes: filterEntries(named, '') });
  }

  return (span, _dialect) => {
    const { status, traceState } = span;
    return changedOnly(span, {
      name: cut(span.name),
      status: changedOnly(status, { message: keepContent ? status.message : null }),
      traceState: traceState === null ? null : cut(traceState),
      scope: once(scopes, span.scope, (scope) =>
        changedOnly(scope, {
          name: cut(scope.name),
          version: scope.version === null ? null : cut(scope.version),
          attributes: filterEntries(scope.attributes, ''),
        }),
      ),
      resource: once(resources, span.resource, (resource) => filterEntries(resource, '')),
      attributes: filterEntries(span.attributes, ''),
      events: changedItems(span.events, filterEvent),
      links: changedItems(span.links, (link) => changedOnly(link, { attributes: filterEntries(link.attributes, '') })),
    });
  };
}

/** The first of some entries, as they are. */
function firstOf(entries: Attributes, count: number): Attributes {
  const first: Attributes = {};
  for (const name of Object.keys(entries).slice(0, count)) setAttribute(first, name, entries[name] ?? null);
  return first;
}

/** Numbers and booleans hold none: `max_tokens` and `has_cookie` may stay. */
function canHoldText(value: AttributeValue): boolean {
  return typeof value === 'string' || (typeof value === 'object' && value !== null);
}

/** A URL or path without user and password; without query and fragment too, unless they are to be kept. */
function publicUrl(text: string, keepQuery: boolean): string {
  const [before = ''] = text.split(/[?#]/, 1);
  const plain = before.replace(/^([a-z][a-z0-9+.-]*:)?([\\/]{2,})[^\\/]*@/i, '$1$2');
  return keepQuery ? plain + text.slice(before.length) : plain;
}

function cut(text: string): string {
  return cutToBytes(text, MAX_STRING_BYTES);
}

function pick(entries: Attributes, names: ReadonlySet<string>): Attributes {
  return Object.fromEntries(Object.entries(entries).filter(([name]) => names.has(name)));
}

function once<T extends object>(done: WeakMap<T, T>, input: T, map: (input: T) => T): T {
  let output = done.get(input);
  if (output === undefined) {
    output = map(input);
    done.set(input, output);
  }
  return output;
}

/** The object itself where every given field is what it has already. */
function changedOnly<T extends object>(object: T, fields: Partial<T>): T {
  const same = (Object.keys(fields) as (keyof T)[]).every((key) => fields[key] === object[key]);
  return same ? object : { ...object, ...fields };
}

function changedItems<T>(items: T[], map: (item: T) => T): T[] {
  const mapped = items.map(map);
  return mapped.every((item, i) => item === items[i]) ? items : mapped;
}
