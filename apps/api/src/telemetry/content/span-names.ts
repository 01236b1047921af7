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
 * The name of a span as it may be stored; null if it may be content. The names of known dialects are made by the framework
 * and are kept. Those of unknown ones are kept if they look like the name of an operation. A query is never kept.
 */
export function keptSpanName(name: string, isKnownDialect: boolean): string | null {
  const [plain = ''] = name.split('?', 1);
  if (!isKnownDialect && !OPERATION_NAME.test(plain)) return null;
  return firstLine(plain);
}

/** The name of an event as it may be stored; null if it may be content. */
export function keptEventName(name: string, isKnownDialect: boolean): string | null {
  if (EVENT_NAME.test(name)) return name;
  return isKnownDialect && OPERATION_NAME.test(name) ? firstLine(name) : null;
}

/** The name or version of an instrumentation scope: a package's, in one or a few words. */
export function keptScopeText(text: string): string | null {
  return /^[\w@./:+~() -]{0,128}$/.test(text) ? text : null;
}

function firstLine(name: string): string {
  const [line = ''] = name.split(/[\r\n]/, 1);
  return line.length <= MAX_NAME_CHARACTERS ? line : line.slice(0, MAX_NAME_CHARACTERS).toWellFormed();
}
