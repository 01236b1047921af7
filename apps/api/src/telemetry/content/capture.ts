import type { Attributes, AttributeValue, OtlpSpan } from '../otlp/span.ts';
import { cutToBytes } from '../otlp/text.ts';
import { withoutUserInfo } from '../urls.ts';
import { mapItems, withFields, mapOnce } from './changed.ts';
import { canHoldText, mapEntries, REMOVED } from './entries.ts';
import { handlingIn } from './handling.ts';

/** Names of events that hold a message (semantic-conventions 1.27 to 1.36, gen-ai-events.md). */
export const CONTENT_EVENT = /^gen_ai\.(?:[a-z_]{1,32}\.message|choice|content\.[a-z_]{1,32})$/;

const MAX_STRING_BYTES = 1024;

/**
 * The filter for tenants that capture content. It removes secrets, and the user and password of URLs. Content is stored in
 * full, every other string is truncated to 1 KiB of UTF-8.
 */
export function captureFilter(): (span: OtlpSpan, dialect: string | null) => OtlpSpan {
  const resources = new WeakMap<Attributes, Attributes>();
  const scopes = new WeakMap<OtlpSpan['scope'], OtlpSpan['scope']>();

  return (span, dialect) => {
    const { traceState, status } = span;
    return withFields(span, {
      name: cut(span.name),
      status: withFields(status, { message: status.message === null ? null : withoutUserInfo(status.message) }),
      traceState: traceState === null ? null : cut(traceState),
      scope: mapOnce(scopes, span.scope, (scope) =>
        withFields(scope, {
          name: cut(scope.name),
          version: scope.version === null ? null : cut(scope.version),
          attributes: captured(scope.attributes, null),
        }),
      ),
      resource: mapOnce(resources, span.resource, (resource) => captured(resource, null)),
      attributes: captured(span.attributes, dialect),
      events: mapItems(span.events, (event) => {
        if (CONTENT_EVENT.test(event.name)) return event;
        return withFields(event, { name: cut(event.name), attributes: captured(event.attributes, dialect) });
      }),
      links: mapItems(span.links, (link) => {
        return withFields(link, { attributes: captured(link.attributes, dialect) });
      }),
    });
  };
}

function captured(attributes: Attributes, dialect: string | null): Attributes {
  const handlingOf = handlingIn(dialect);
  return entriesBelow(attributes, '');

  /** @param above the dotted path of the list: `prompts` in `llm: { prompts: [] }` has the path `llm.prompts` */
  function entriesBelow(entries: Attributes, above: string): Attributes {
    return mapEntries(entries, (name, value) => entry(name, value, above), cut);
  }

  function entry(name: string, value: AttributeValue, above: string): AttributeValue | typeof REMOVED {
    const path = above === '' ? name : `${above}.${name}`;
    const handlings = above === '' ? [handlingOf(name)] : [handlingOf(path), handlingOf(name)];
    if (handlings.includes('secret') && canHoldText(value)) return REMOVED;
    if (handlings.includes('content') || handlings.includes('probably content')) return contentBelow(value);
    // Cut, because each entry of a nested list is handled by its path, and senders choose how long a name is.
    return valueBelow(value, cutToBytes(path, MAX_STRING_BYTES));
  }

  /** Content in full, except secrets in nested lists. */
  function contentBelow(value: AttributeValue): AttributeValue {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return mapItems(value, contentBelow);
    return mapEntries(value, secretOrContent, (name) => name);
  }

  function secretOrContent(name: string, value: AttributeValue): AttributeValue | typeof REMOVED {
    return handlingOf(name) === 'secret' && canHoldText(value) ? REMOVED : contentBelow(value);
  }

  function valueBelow(value: AttributeValue, path: string): AttributeValue {
    if (typeof value === 'string') return cut(value);
    if (typeof value !== 'object' || value === null) return value;
    if (!Array.isArray(value)) return entriesBelow(value, path);
    return mapItems(value, (item) => valueBelow(item, path));
  }
}

function cut(text: string): string {
  return cutToBytes(withoutUserInfo(text), MAX_STRING_BYTES);
}
