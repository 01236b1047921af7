import type { Attributes, AttributeValue, OtlpSpan } from '../otlp/span.ts';
import { cutToBytes } from '../otlp/text.ts';
import { CONTENT_EVENT } from './capture.ts';
import { mapItems, withFields, mapOnce } from './changed.ts';
import { canHoldText, mapEntries, REMOVED } from './entries.ts';
import { type Handling, handlingIn, isOfFramework, isSafe, withoutContent } from './handling.ts';
import { Omissions } from './omissions.ts';
import {
  EVENT_NAME_LEFT_OUT,
  storableEventName,
  storableScopeText,
  storableSpanName,
  NAME_LEFT_OUT,
} from './span-names.ts';
import { isWord } from '../words.ts';
import { reduceToForm } from './text-forms.ts';

/** The attributes that are stored of an event that holds a message. */
const MESSAGE_ATTRIBUTES = new Set([
  'event.name',
  'gen_ai.system',
  'gen_ai.provider.name',
  'gen_ai.operation.name',
  'gen_ai.request.model',
  'gen_ai.response.model',
  'index',
]);

const MAX_STRING_BYTES = 1024;

/** A longer list of numbers may be an embedding, or the tokens or bytes of a text. */
const MAX_NUMBERS = 16;

/** Longer keys of nested values are not stored. Applications often use ids, e-mail addresses or texts as keys. */
const MAX_KEY_CHARACTERS = 64;

/** The filter for tenants that do not capture content. Stores only strings that cannot be content. */
export function strictFilter(): (span: OtlpSpan, dialect: string | null) => OtlpSpan {
  const resources = new WeakMap<Attributes, Attributes>();
  const scopes = new WeakMap<OtlpSpan['scope'], OtlpSpan['scope']>();
  const filterOf = attributeFilters();
  const shared = filterOf(null);

  return (span, dialect) => {
    const isFramework = isOfFramework(dialect, span.scope.name);
    const omissions = new Omissions();
    const filter = filterOf(dialect);
    const list = (entries: Attributes) => filter(entries, omissions);
    const attributes = list(span.attributes);
    const events = mapItems(span.events, (event) => {
      const isMessage = CONTENT_EVENT.test(event.name);
      const entries = isMessage ? messageEntries(event.attributes, omissions) : event.attributes;
      return withFields(event, { name: eventName(event.name, isFramework, omissions), attributes: list(entries) });
    });
    const links = mapItems(span.links, (link) => withFields(link, { attributes: list(link.attributes) }));
    const name = storableSpanName(withoutContent(span.name, dialect), isFramework);
    if (name !== span.name) omissions.add('name');
    if (span.status.message !== null) omissions.add('status.message');
    if (span.traceState !== null) omissions.add('traceState');
    const scope = mapOnce(scopes, span.scope, (original) => strictScope(original, shared));
    const resource = mapOnce(resources, span.resource, (original) => {
      const resourceOmissions = new Omissions();
      return resourceOmissions.addTo(shared(original, resourceOmissions));
    });
    const isShared = scope === span.scope && resource === span.resource;
    const isOwn = attributes === span.attributes && events === span.events && links === span.links;
    if (isShared && isOwn && omissions.isEmpty) return span;
    // Written out, because a spread is slow and every span comes here.
    return {
      traceId: span.traceId,
      spanId: span.spanId,
      parentSpanId: span.parentSpanId,
      name: name ?? NAME_LEFT_OUT,
      kind: span.kind,
      startTime: span.startTime,
      endTime: span.endTime,
      durationMs: span.durationMs,
      status: { code: span.status.code, message: null },
      traceState: null,
      scope,
      resource,
      attributes: omissions.addTo(attributes),
      events,
      links,
    };
  };
}

function strictScope(scope: OtlpSpan['scope'], filter: AttributeFilter): OtlpSpan['scope'] {
  const omissions = new Omissions();
  const attributes = filter(scope.attributes, omissions);
  const name = storableScopeText(scope.name);
  const version = scope.version === null ? null : storableScopeText(scope.version);
  if (name === null) omissions.add('scope.name');
  if (version !== scope.version) omissions.add('scope.version');
  return withFields(scope, { name: name ?? NAME_LEFT_OUT, version, attributes: omissions.addTo(attributes) });
}

function eventName(name: string, isFramework: boolean, omissions: Omissions): string {
  const kept = storableEventName(name, isFramework);
  if (kept !== name) omissions.add('event.name');
  return kept ?? EVENT_NAME_LEFT_OUT;
}

function messageEntries(entries: Attributes, omissions: Omissions): Attributes {
  const kept: Attributes = {};
  for (const name of Object.keys(entries)) {
    if (MESSAGE_ATTRIBUTES.has(name)) kept[name] = entries[name] ?? null;
    else omissions.add(name);
  }
  return kept;
}

type AttributeFilter = (attributes: Attributes, omissions: Omissions) => Attributes;

/** Creates one filter for each dialect, when it is needed. */
function attributeFilters(): (dialect: string | null) => AttributeFilter {
  const known = new Map<string | null, AttributeFilter>();
  return (dialect) => {
    const filter = known.get(dialect) ?? attributeFilter(dialect);
    known.set(dialect, filter);
    return filter;
  };
}

function attributeFilter(dialect: string | null): AttributeFilter {
  const handlingOf = handlingIn(dialect);
  let omissions = new Omissions();
  const topEntry = (name: string, value: AttributeValue) => entry(name, value, '');
  return (attributes, into) => {
    omissions = into;
    return mapEntries(attributes, topEntry, cut);
  };

  /** @param above the dotted path of the list: `prompts` in `llm: { prompts: [] }` has the path `llm.prompts` */
  function entriesBelow(entries: Attributes, above: string): Attributes {
    return mapEntries(entries, (name, value) => entry(name, value, above), cut);
  }

  function entry(name: string, value: AttributeValue, above: string): AttributeValue | typeof REMOVED {
    // Cut, because each entry of a nested list is handled by its path, and senders choose how long a name is.
    if (above === '') return noted(name, valueOf(value, cut(name), handlingOf(name)));
    if (name.length > MAX_KEY_CHARACTERS || !isWord(name)) return noted(above, REMOVED);
    const path = `${above}.${name}`;
    // By its path and by its own name, because a nested list may use the names of a convention.
    const ofName = handlingOf(name);
    const ofPath = handlingOf(path);
    const handling = ofName === 'content' || ofName === 'secret' || ofPath === 'unsafe name' ? ofName : ofPath;
    return noted(path, valueOf(value, path, handling));
  }

  function noted(path: string, value: AttributeValue | typeof REMOVED): AttributeValue | typeof REMOVED {
    if (value === REMOVED) omissions.add(path);
    return value;
  }

  function valueOf(value: AttributeValue, path: string, handling: Handling): AttributeValue | typeof REMOVED {
    if (handling === 'content' || handling === 'unsafe name') return REMOVED;
    if (!canHoldText(value)) return value;
    if (handling === 'secret') return REMOVED;
    if (typeof value === 'string') return stringOf(value, handling);
    if (Array.isArray(value)) return arrayOf(value, path, handling);
    return typeof value === 'object' && value !== null ? entriesBelow(value, path) : value;
  }

  function arrayOf(items: AttributeValue[], path: string, handling: Handling): AttributeValue | typeof REMOVED {
    if (items.length > MAX_NUMBERS && !isSafe(handling)) return REMOVED;
    const kept = items.map((item) => valueOf(item, path, handling)).filter((item) => item !== REMOVED);
    if (kept.length === items.length && kept.every((item, i) => item === items[i])) return items;
    // With gaps, the rest would not say which items it has.
    return kept.length < items.length ? REMOVED : kept;
  }
}

function stringOf(value: string, handling: Handling): string | typeof REMOVED {
  if (handling === 'url') return originOf(value) ?? REMOVED;
  return isSafe(handling) ? (reduceToForm(cut(value), handling) ?? REMOVED) : REMOVED;
}

const ORIGIN = /^([a-z][a-z0-9+.-]{0,31}:\/\/)(?:[^/?#]*@)?([\w.:[\]-]{1,255})(?=[/?#]|$)/i;

/** Scheme, host and port of a URL. Path and query may repeat a request. */
function originOf(url: string): string | null {
  const found = ORIGIN.exec(url);
  return found ? `${found[1]}${found[2]}` : null;
}

function cut(text: string): string {
  return cutToBytes(text, MAX_STRING_BYTES);
}
