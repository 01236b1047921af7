import { hasEncodedText } from '../encoded-text.ts';
import { memoizeByName } from '../memoize-by-name.ts';
import { withPublicUrls } from '../urls.ts';
import { isProse, isWord } from '../words.ts';
import { isRoute } from './text-forms.ts';

/** Replaces the name of a span that may be content. */
export const NAME_LEFT_OUT = '(name left out)';

/** Replaces the name of an event that may be content. */
export const EVENT_NAME_LEFT_OUT = '(event)';

const MAX_NAME_CHARACTERS = 128;

/** The maximum number of words in a framework's span name. Some frameworks name spans after tasks that users describe. */
const MAX_FRAMEWORK_WORDS = 8;

/** Operations in front of a target in span names: `chat gpt-5`, `GET /users/{id}`, `SELECT users`, `tools/call search`. */
const OPERATIONS: ReadonlySet<string> = new Set([
  'HTTP',
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'QUERY',
  'SELECT',
  'INSERT',
  'UPDATE',
  'MERGE',
  'UPSERT',
  'CREATE',
  'ALTER',
  'DROP',
  'CALL',
  'BEGIN',
  'COMMIT',
  'ROLLBACK',
  'chat',
  'text_completion',
  'generate_content',
  'embeddings',
  'retrieval',
  'execute_tool',
  'handoff',
  'invoke_agent',
  'create_agent',
  'invoke_workflow',
  'plan',
  'apply_guardrail',
  'fetch_response',
  'realtime_inference',
  'rerank',
  'initialize',
  'ping',
  'tools/call',
  'tools/list',
  'prompts/get',
  'prompts/list',
  'completion/complete',
  'resources/read',
  'resources/list',
  'resources/templates/list',
  'resources/subscribe',
  'resources/unsubscribe',
  'sampling/createMessage',
  'elicitation/create',
  'roots/list',
  'logging/setLevel',
]);

const MIDDLEWARE = /^(middleware|router|request handler|request hook) - (\S+)$/;

/** Two words, or a word and a number: `blank span`, `step 3`. */
const SIMPLE_WORDS = /^[A-Za-z][A-Za-z_.-]{0,31} (?:[A-Za-z][A-Za-z_.-]{0,31}|\d{1,10})$/;

/** The version at the end of a model's name: `claude-sonnet-4@20250514`. */
const MODEL_VERSION = /@\d{1,8}$/;

/** Event names of the general conventions and of common instrumentations. */
const EVENT_NAME =
  /^(?:exception|message|log|retry|timeout|(?:rpc|gen_ai|feature_flag|http|dns|tls|db|messaging|device|session)\.[a-z0-9_.]{1,64})$/;

/**
 * The name of a span as it may be stored, or null if it may be content. A known framework chooses its span names itself, so
 * they are stored unless they read like a sentence. Other names are stored if they look like an operation, without a target
 * that may be content. The query of a URL is never stored.
 */
export function storableSpanName(name: string, isFramework: boolean): string | null {
  return isFramework ? storableFrameworkName(name) : storableOperationName(name);
}

const storableFrameworkName = memoizeByName((name) => storableName(name, frameworkName));
const storableOperationName = memoizeByName((name) => storableName(name, operationName));

function storableName(name: string, nameOf: (plain: string) => string | null): string | null {
  const plain = withPublicUrls(name).split('?', 1)[0] ?? '';
  return hasEncodedText(plain) ? null : nameOf(plain);
}

/** The name of an event as it may be stored, or null if it may be content. */
export function storableEventName(name: string, isFramework: boolean): string | null {
  if (EVENT_NAME.test(name)) return name;
  return isFramework && isWord(name) ? name : null;
}

/** The name or version of an instrumentation scope, if it looks like that of a package (at most two words). */
export function storableScopeText(text: string): string | null {
  const isPackage = /^[\w@./:+~()-]{0,96}(?: [\w@./:+~()-]{1,96})?$/.test(text);
  return isPackage && !hasEncodedText(text) ? withPublicUrls(text) : null;
}

function frameworkName(name: string): string | null {
  const line = firstLine(name);
  return isProse(line, MAX_FRAMEWORK_WORDS) ? null : line;
}

function operationName(name: string): string | null {
  const middleware = MIDDLEWARE.exec(name);
  if (middleware) return isTarget(middleware[2] ?? '') ? name : (middleware[1] ?? null);
  const [operation = '', target, ...more] = name.split(' ');
  if (OPERATIONS.has(operation)) return more.length === 0 && isTarget(target ?? 'none') ? name : operation;
  if (target === undefined) return isTarget(operation) ? operation : null;
  return SIMPLE_WORDS.test(name) ? name : null;
}

function isTarget(text: string): boolean {
  const word = text.replace(MODEL_VERSION, '');
  return word.startsWith('/') ? isRoute(word) : isWord(word.replace(/^@/, ''));
}

function firstLine(name: string): string {
  const end = name.search(/[\r\n]/);
  const line = end === -1 ? name : name.slice(0, end);
  return line.length <= MAX_NAME_CHARACTERS ? line : line.slice(0, MAX_NAME_CHARACTERS).toWellFormed();
}
