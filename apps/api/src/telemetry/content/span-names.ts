/** In the place of a span's name that may be content. */
export const NAME_LEFT_OUT = '(name left out)';

/** In the place of an event's name that may be content. */
export const EVENT_NAME_LEFT_OUT = '(event)';

const MAX_NAME_CHARACTERS = 128;

/**
 * How instrumentations name operations: one or two words (`chat gpt-5`, `GET /users/{id}`, `SELECT users`), or two such parts
 * around a hyphen (`middleware - query`). Longer texts may be prompts or commands.
 */
const OPERATION_NAME = /^[^\s]{1,96}(?: [^\s]{1,96})?(?: - [^\s]{1,96})?$/;

/** Events of the general conventions and of common instrumentations. */
const EVENT_NAME =
  /^(?:exception|message|log|retry|timeout|(?:rpc|gen_ai|feature_flag|http|dns|tls|db|messaging|device|session)\.[a-z0-9_.]{1,64})$/;

/**
 * The name of a span as it may be stored; null if it may be content. A known framework makes its names itself: they are kept.
 * Others are kept if they look like the name of an operation. A query is never kept.
 */
export function keptSpanName(name: string, isFramework: boolean): string | null {
  const query = name.indexOf('?');
  const plain = query === -1 ? name : name.slice(0, query);
  if (!isFramework && !OPERATION_NAME.test(plain)) return null;
  return firstLine(plain);
}

/** The name of an event as it may be stored; null if it may be content. */
export function keptEventName(name: string, isFramework: boolean): string | null {
  if (EVENT_NAME.test(name)) return name;
  return isFramework && OPERATION_NAME.test(name) ? firstLine(name) : null;
}

/** The name or version of an instrumentation scope, if it looks like a package's: at most two words. */
export function keptScopeText(text: string): string | null {
  return /^[\w@./:+~()-]{0,96}(?: [\w@./:+~()-]{1,96})?$/.test(text) ? text : null;
}

function firstLine(name: string): string {
  const end = name.search(/[\r\n]/);
  const line = end === -1 ? name : name.slice(0, end);
  return line.length <= MAX_NAME_CHARACTERS ? line : line.slice(0, MAX_NAME_CHARACTERS).toWellFormed();
}
