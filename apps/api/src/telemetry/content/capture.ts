import type { Attributes, AttributeValue, OtlpSpan } from '../otlp/span.ts';
import { cutToBytes } from '../otlp/text.ts';
import { withoutUserInfo } from '../urls.ts';
import { changedItems, changedOnly, once } from './changed.ts';
import { canHoldText, mapEntries, REMOVED } from './entries.ts';
import { handlingIn } from './handling.ts';

/** Events that are a message (semantic-conventions 1.27 to 1.36, gen-ai-events.md). */
export const CONTENT_EVENT = /^gen_ai\.(?:[a-z_]{1,32}\.message|choice|content\.[a-z_]{1,32})$/;

const MAX_STRING_BYTES = 1024;

/**
 * The filter of a tenant that captures content: removes secrets, and the user and password of URLs. Content is kept whole,
 * everything else is cut at 1 KiB of UTF-8.
 */
export function captureFilter(): (span: OtlpSpan, dialect: string | null) => OtlpSpan {
  const resources = new WeakMap<Attributes, Attributes>();
  const scopes = new WeakMap<OtlpSpan['scope'], OtlpSpan['scope']>();

  return (span, dialect) => {
    const { traceState, status } = span;
    return changedOnly(span, {
      name: cut(span.name),
      status: changedOnly(status, { message: status.message === null ? null : withoutUserInfo(status.message) }),
      traceState: traceState === null ? null : cut(traceState),
      scope: once(scopes, span.scope, (scope) =>
        changedOnly(scope, {
          name: cut(scope.name),
          version: scope.version === null ? null : cut(scope.version),
          attributes: captured(scope.attributes, null),
        }),
      ),
      resource: once(resources, span.resource, (resource) => captured(resource, null)),
      attributes: captured(span.attributes, dialect),
      events: changedItems(span.events, (event) => {
        if (CONTENT_EVENT.test(event.name)) return event;
        return changedOnly(event, { name: cut(event.name), attributes: captured(event.attributes, dialect) });
      }),
      links: changedItems(span.links, (link) => {
        return changedOnly(link, { attributes: captured(link.attributes, dialect) });
      }),
    });
  };
}

function captured(attributes: Attributes, dialect: string | null): Attributes {
  const handlingOf = handlingIn(dialect);
  return entriesBelow(attributes, '');

  /** `above` is the dotted path of the list: `llm: { prompts: [] }` is `llm.prompts`. */
  function entriesBelow(entries: Attributes, above: string): Attributes {
    return mapEntries(entries, (name, value) => entry(name, value, above), cut);
  }

  function entry(name: string, value: AttributeValue, above: string): AttributeValue | typeof REMOVED {
    const path = above === '' ? name : `${above}.${name}`;
    const handlings = above === '' ? [handlingOf(name)] : [handlingOf(path), handlingOf(name)];
    if (handlings.includes('secret') && canHoldText(value)) return REMOVED;
    if (handlings.includes('content') || handlings.includes('probably content')) return contentBelow(value);
    return valueBelow(value, path);
  }

  /** Content is kept whole, but for the secrets in its lists. */
  function contentBelow(value: AttributeValue): AttributeValue {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return changedItems(value, contentBelow);
    return mapEntries(value, secretOrContent, (name) => name);
  }

  function secretOrContent(name: string, value: AttributeValue): AttributeValue | typeof REMOVED {
    return handlingOf(name) === 'secret' && canHoldText(value) ? REMOVED : contentBelow(value);
  }

  function valueBelow(value: AttributeValue, path: string): AttributeValue {
    if (typeof value === 'string') return cut(value);
    if (typeof value !== 'object' || value === null) return value;
    if (!Array.isArray(value)) return entriesBelow(value, path);
    return changedItems(value, (item) => valueBelow(item, path));
  }
}

function cut(text: string): string {
  return cutToBytes(withoutUserInfo(text), MAX_STRING_BYTES);
}
