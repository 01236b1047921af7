import type { Attributes, AttributeValue, OtlpSpan } from '../otlp/span.ts';
import { cutToBytes } from '../otlp/text.ts';
import { CONTENT_EVENT } from './capture.ts';
import { changedItems, changedOnly, once } from './changed.ts';
import { canHoldText, mapEntries, REMOVED } from './entries.ts';
import { type Handling, handlingIn, isOfFramework, isSafe } from './handling.ts';
import { Omissions } from './omissions.ts';
import { EVENT_NAME_LEFT_OUT, keptEventName, keptScopeText, keptSpanName, NAME_LEFT_OUT } from './span-names.ts';
import { isWord } from '../words.ts';
import { textOfForm } from './text-forms.ts';

/** What is kept of the attributes of an event that is a message. */
const KEPT_OF_MESSAGES = new Set([
  'event.name',
  'gen_ai.system',
  'gen_ai.provider.name',
  'gen_ai.operation.name',
  'gen_ai.request.model',
  'gen_ai.response.model',
  'index',
]);

const MAX_STRING_BYTES = 1024;

/** A longer list of numbers may be an embedding, tokens or bytes of a text. */
const MAX_NUMBERS = 16;

/** Keys inside values are often the application's: ids, e-mail addresses, texts. */
const MAX_KEY_CHARACTERS = 64;

/** The filter of a tenant that does not capture content. Strings are kept only where they cannot be content. */
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
    const events = changedItems(span.events, (event) => {
      const isMessage = CONTENT_EVENT.test(event.name);
      const entries = isMessage ? messageEntries(event.attributes, omissions) : event.attributes;
      return changedOnly(event, { name: eventName(event.name, isFramework, omissions), attributes: list(entries) });
    });
    const links = changedItems(span.links, (link) => changedOnly(link, { attributes: list(link.attributes) }));
    const name = keptSpanName(span.name, isFramework);
    if (name !== span.name) omissions.note('name');
    if (span.status.message !== null) omissions.note('status.message');
    if (span.traceState !== null) omissions.note('traceState');
    return changedOnly(span, {
      name: name ?? NAME_LEFT_OUT,
      status: changedOnly(span.status, { message: null }),
      traceState: null,
      scope: once(scopes, span.scope, (scope) => strictScope(scope, shared)),
      resource: once(resources, span.resource, (resource) => {
        const own = new Omissions();
        return own.addTo(shared(resource, own));
      }),
      attributes: omissions.addTo(attributes),
      events,
      links,
    });
  };
}

function strictScope(scope: OtlpSpan['scope'], filter: AttributeFilter): OtlpSpan['scope'] {
  const omissions = new Omissions();
  const attributes = filter(scope.attributes, omissions);
  const name = keptScopeText(scope.name);
  const version = scope.version === null ? null : keptScopeText(scope.version);
  if (name === null) omissions.note('scope.name');
  if (version !== scope.version) omissions.note('scope.version');
  return changedOnly(scope, { name: name ?? NAME_LEFT_OUT, version, attributes: omissions.addTo(attributes) });
}

function eventName(name: string, isFramework: boolean, omissions: Omissions): string {
  const kept = keptEventName(name, isFramework);
  if (kept !== name) omissions.note('event.name');
  return kept ?? EVENT_NAME_LEFT_OUT;
}

function messageEntries(entries: Attributes, omissions: Omissions): Attributes {
  const kept: Attributes = {};
  for (const name of Object.keys(entries)) {
    if (KEPT_OF_MESSAGES.has(name)) kept[name] = entries[name] ?? null;
    else omissions.note(name);
  }
  return kept;
}

type AttributeFilter = (attributes: Attributes, omissions: Omissions) => Attributes;

/** Remembers the filter of each dialect. */
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

  /** `above` is the dotted path of the list: `llm: { prompts: [] }` is `llm.prompts`. */
  function entriesBelow(entries: Attributes, above: string): Attributes {
    return mapEntries(entries, (name, value) => entry(name, value, above), cut);
  }

  function entry(name: string, value: AttributeValue, above: string): AttributeValue | typeof REMOVED {
    if (above === '') {
      return noted(name, valueOf(value, name, handlingOf(name)));
    }
    if (name.length > MAX_KEY_CHARACTERS || !isWord(name)) return noted(above, REMOVED);
    const path = `${above}.${name}`;
    // By its path and by its own name: a list may have names of a convention in it.
    const own = handlingOf(name);
    const ofPath = handlingOf(path);
    const handling = own === 'content' || own === 'secret' || ofPath === 'unsafe name' ? own : ofPath;
    return noted(path, valueOf(value, path, handling));
  }

  function noted(path: string, value: AttributeValue | typeof REMOVED): AttributeValue | typeof REMOVED {
    if (value === REMOVED) omissions.note(path);
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
    // What is left would no longer say which items they were.
    return kept.length < items.length ? REMOVED : kept;
  }
}

function stringOf(value: string, handling: Handling): string | typeof REMOVED {
  if (handling === 'url') return originOf(value) ?? REMOVED;
  return isSafe(handling) ? (textOfForm(cut(value), handling) ?? REMOVED) : REMOVED;
}

const ORIGIN = /^([a-z][a-z0-9+.-]{0,31}:\/\/)(?:[^/?#]*@)?([\w.:[\]-]{1,255})(?=[/?#]|$)/i;

/** Scheme, host and port of a URL. Path and query may repeat what was asked for. */
function originOf(url: string): string | null {
  const found = ORIGIN.exec(url);
  return found ? `${found[1]}${found[2]}` : null;
}

function cut(text: string): string {
  return cutToBytes(text, MAX_STRING_BYTES);
}
