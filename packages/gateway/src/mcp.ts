/** Header values by lower-case name, one string for each time the header was sent. Node's `headersDistinct` has this form. */
export type HeaderValues = { readonly [name: string]: readonly string[] | undefined };

export type McpItemKind = 'tool' | 'prompt' | 'resource';

/** A request that uses one item: it is allowed only if the session may use this item. */
export type McpNamed = { kind: 'named'; itemKind: McpItemKind; name: string; method: string };

/** A message that uses no item: it needs a valid session and nothing else. `method` is null for a response. */
export type McpSession = { kind: 'session'; method: string | null };

/** A message that cannot be decided. `detail` is a sentence for the caller. */
export type McpRefused = { kind: 'refused'; code: McpRefusalCode; detail: string };

export type McpRefusalCode =
  | 'mcp_revision_unsupported'
  | 'mcp_method_unknown'
  | 'name_missing'
  | 'header_repeated'
  | 'body_incomplete'
  | 'headers_differ';

/** A body that holds exactly one message. A proxy that forwards it should serialize it anew. */
export type McpMessage = { kind: 'message'; message: Record<string, unknown> };

export type McpReading = McpNamed | McpSession | McpRefused;

/** The first revision of MCP whose headers say what the body does. */
export const FIRST_REVISION_WITH_HEADERS = '2026-07-28';

/**
 * `item` is the kind of item that the method uses, and `nameFrom` is the member of `params` that the header `Mcp-Name` repeats.
 * A method with `bodyOnly` is never decided from headers alone.
 */
type Rule = { item?: McpItemKind; nameFrom?: 'name' | 'uri' | 'taskId'; bodyOnly?: true };

const SESSION_ONLY: Rule = {};
const TASK: Rule = { nameFrom: 'taskId' };

/** Every method that a client may call. Anything else is refused. */
const METHODS = new Map<string, Rule>([
  ['tools/call', { item: 'tool', nameFrom: 'name' }],
  ['prompts/get', { item: 'prompt', nameFrom: 'name' }],
  ['resources/read', { item: 'resource', nameFrom: 'uri' }],
  ['resources/subscribe', { item: 'resource', nameFrom: 'uri' }],
  ['initialize', { bodyOnly: true }],
  ['ping', SESSION_ONLY],
  ['server/discover', SESSION_ONLY],
  ['tools/list', SESSION_ONLY],
  ['prompts/list', SESSION_ONLY],
  ['resources/list', SESSION_ONLY],
  ['resources/templates/list', SESSION_ONLY],
  ['resources/unsubscribe', SESSION_ONLY],
  ['completion/complete', SESSION_ONLY],
  ['subscriptions/listen', SESSION_ONLY],
  ['logging/setLevel', SESSION_ONLY],
  ['tasks/get', TASK],
  ['tasks/update', TASK],
  ['tasks/cancel', TASK],
  ['tasks/result', TASK],
  // Not `tasks/list`: behind the credential of a gateway the server would list the tasks of all its agents.
]);
const NOTIFICATION: Rule = { bodyOnly: true };

/** Where a proxy says which method the original request had. */
const ORIGINAL_METHOD_HEADERS = ['x-original-method', 'x-forwarded-method'];

const VERSION_META = 'io.modelcontextprotocol/protocolVersion';

/**
 * Reads an MCP request from its headers alone (MCP 2026-07-28, Streamable HTTP, standard headers). This is safe only if the MCP
 * server compares the headers with the body.
 */
export function readMcpHeaders(headers: HeaderValues): McpReading {
  const standard = readStandardHeaders(headers);
  if ('kind' in standard) return standard;
  const { version, method, name } = standard;
  for (const header of ORIGINAL_METHOD_HEADERS) {
    if (headers[header]?.some((value) => value.trim().toUpperCase() !== 'POST') === true)
      return refused('mcp_revision_unsupported', 'Only POST requests can be decided from headers.');
  }
  if (version === undefined || !isRevisionWithHeaders(version))
    return refused(
      'mcp_revision_unsupported',
      `Without the body, MCP-Protocol-Version must be ${FIRST_REVISION_WITH_HEADERS} or later.`,
    );
  const rule = method === undefined ? undefined : ruleOf(method);
  if (method === undefined || rule === undefined) return unknownMethod(method);
  if (rule.bodyOnly) return refused('mcp_revision_unsupported', `The method ${quoted(method)} needs the body.`);
  if (rule.item === undefined) return { kind: 'session', method };
  if (name === undefined || name === '')
    return refused('name_missing', `The method ${quoted(method)} needs the header Mcp-Name.`);
  return { kind: 'named', itemKind: rule.item, name, method };
}

/**
 * Reads an MCP message of any revision from its body. Headers are optional, but those that were sent have to agree with the body.
 *
 * @param text the whole body, decoded as UTF-8 with invalid bytes refused
 */
export function readMcpBody(text: string, headers: HeaderValues): McpReading {
  const parsed = parseMcpBody(text);
  return parsed.kind === 'refused' ? parsed : readMcpMessage(parsed.message, headers);
}

/**
 * Parses a body that has to hold exactly one message, and that every JSON parser reads in the same way.
 *
 * Parsers differ in which of two members with the same name they keep, and some ignore case (Go's `encoding/json`). So
 * duplicate members are refused in the first three levels, and in the first two levels also those that differ only in case.
 * Deeper levels do not decide anything. Parsers also differ in how deep a message may nest.
 */
export function parseMcpBody(text: string): McpMessage | McpRefused {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return refused('body_incomplete', 'The body is not JSON.');
  }
  if (Array.isArray(message)) return refused('mcp_revision_unsupported', 'JSON-RPC batches are not supported.');
  if (!isObject(message)) return refused('body_incomplete', 'The body is not a JSON-RPC message.');
  const flaw = findFlaw(text);
  return flaw === null ? { kind: 'message', message } : refused('body_incomplete', flaw);
}

/** Reads a message that `parseMcpBody` returned. */
export function readMcpMessage(message: Record<string, unknown>, headers: HeaderValues): McpReading {
  const standard = readStandardHeaders(headers);
  if ('kind' in standard) return standard;
  if (headers['x-envoy-auth-partial-body']?.some((value) => value.trim() !== 'false') === true)
    return refused('body_incomplete', 'The proxy sent only a part of the body.');
  if (!isPlainJson(headers))
    return refused('body_incomplete', 'The body must be application/json in UTF-8, without an encoding.');
  const reading = readMessage(message);
  if (reading.kind === 'refused') return reading;
  return findDifference(message, reading, standard) ?? reading;
}

/**
 * Whether the server will decode the bytes as they were decoded here. Express and others honor the charset of `Content-Type`:
 * in UTF-7, the text `+ACI-` is a quotation mark, so one body can be two messages.
 */
function isPlainJson(headers: HeaderValues): boolean {
  const types = headers['content-type'] ?? [];
  const encodings = headers['content-encoding'] ?? [];
  const isJson =
    types.length <= 1 && types.every((type) => /^\s*application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(type));
  return isJson && encodings.every((encoding) => encoding.trim().toLowerCase() === 'identity');
}

function readMessage(message: Record<string, unknown>): McpReading {
  const { method } = message;
  if (!Object.hasOwn(message, 'method')) {
    // A parser that ignores case would read a request here.
    const isResponse = Object.hasOwn(message, 'result') || Object.hasOwn(message, 'error');
    if (isResponse && !Object.keys(message).some((name) => caseFolded(name) === 'method'))
      return { kind: 'session', method: null };
    return refused('body_incomplete', 'The body is neither a request nor a response.');
  }
  const rule = typeof method === 'string' ? ruleOf(method) : undefined;
  if (typeof method !== 'string' || rule === undefined) return unknownMethod(method);
  if (rule.item === undefined) return { kind: 'session', method };
  const name = nameInBody(message, rule);
  if (name === undefined || name === '')
    return refused('name_missing', `The method ${quoted(method)} needs ${rule.nameFrom} in its params.`);
  return { kind: 'named', itemKind: rule.item, name, method };
}

/** Another party on the way may decide by the headers, so a header must not say anything else than the body. */
function findDifference(
  message: Record<string, unknown>,
  { method }: McpNamed | McpSession,
  headers: StandardHeaders,
): McpRefused | null {
  if (headers.method !== undefined && headers.method !== method)
    return refused('headers_differ', 'The header Mcp-Method differs from the body.');
  const rule = method === null ? undefined : ruleOf(method);
  if (headers.name !== undefined && headers.name !== nameInBody(message, rule))
    return refused('headers_differ', 'The header Mcp-Name differs from the body.');
  const { version } = headers;
  if (version === undefined) return null;
  const claimed = isObject(message['params']) && isObject(message['params']['_meta']) && message['params']['_meta'];
  const claimedVersion = claimed !== false && Object.hasOwn(claimed, VERSION_META) ? claimed[VERSION_META] : version;
  const isLegacyUnderModernHeader = method === 'initialize' && isRevisionWithHeaders(version);
  if (claimedVersion !== version || isLegacyUnderModernHeader)
    return refused('headers_differ', 'The header MCP-Protocol-Version differs from the body.');
  return null;
}

function nameInBody({ params }: Record<string, unknown>, rule: Rule | undefined): string | undefined {
  if (rule?.nameFrom === undefined || !isObject(params)) return undefined;
  const name = Object.hasOwn(params, rule.nameFrom) ? params[rule.nameFrom] : undefined;
  return typeof name === 'string' ? name : undefined;
}

type StandardHeaders = { version: string | undefined; method: string | undefined; name: string | undefined };

function readStandardHeaders(headers: HeaderValues): StandardHeaders | McpRefused {
  for (const header of ['MCP-Protocol-Version', 'Mcp-Method', 'Mcp-Name']) {
    if ((headers[header.toLowerCase()]?.length ?? 0) > 1)
      return refused('header_repeated', `The header ${header} was sent more than once.`);
  }
  const name = decodeName(valueOf(headers, 'mcp-name'));
  if (name === null) return refused('name_missing', 'The header Mcp-Name cannot be decoded.');
  return { version: valueOf(headers, 'mcp-protocol-version'), method: valueOf(headers, 'mcp-method'), name };
}

function valueOf(headers: HeaderValues, name: string): string | undefined {
  return headers[name]?.[0]?.replace(/^[ \t]+|[ \t]+$/g, '');
}

const BASE64 = /^=\?base64\?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\?=$/;

/**
 * Decodes a name that may be written `=?base64?<base64 of UTF-8>?=` (MCP 2026-07-28, encoding of header values).
 *
 * @returns null for a name that another reader might decode differently
 */
function decodeName(value: string | undefined): string | null | undefined {
  if (value === undefined) return undefined;
  if (!/^[\x20-\x7e]*$/.test(value)) return null;
  if (!/^=\?base64\?/i.test(value)) return value;
  const encoded = BASE64.exec(value)?.[1];
  if (encoded === undefined) return null;
  try {
    const bytes = Uint8Array.from(atob(encoded), (byte) => byte.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function ruleOf(method: string): Rule | undefined {
  return METHODS.get(method) ?? (method.startsWith('notifications/') ? NOTIFICATION : undefined);
}

function isRevisionWithHeaders(version: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= FIRST_REVISION_WITH_HEADERS;
}

/** How many levels of objects and arrays may not repeat a member, and in how many of them case is ignored. */
const UNIQUE_LEVELS = 3;
const CASE_FOLDED_LEVELS = 2;

/** How deep objects and arrays may nest. */
const MAX_LEVELS = 256;

/** @param text valid JSON @returns what parsers may read differently, as a sentence */
function findFlaw(text: string): string | null {
  const seen: (Set<string> | null)[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '{') seen.push(seen.length < UNIQUE_LEVELS ? new Set() : null);
    else if (character === '[') seen.push(null);
    else if (character === '}' || character === ']') seen.pop();
    if (seen.length > MAX_LEVELS) return 'The body nests too deep.';
    if (character === '"') {
      const end = endOfString(text, at);
      const names = seen.at(-1);
      if (names != null && isMemberName(text, end)) {
        const name = JSON.parse(text.slice(at, end)) as string;
        const key = seen.length <= CASE_FOLDED_LEVELS ? caseFolded(name) : name;
        if (names.has(key)) return `The body has the member ${quoted(name)} twice.`;
        names.add(key);
      }
      at = end - 1;
    }
  }
  return null;
}

/** @returns the position after the closing quote of the string that begins at `start` */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); ; quote = text.indexOf('"', quote + 1)) {
    let escapes = quote;
    while (text[escapes - 1] === '\\') escapes -= 1;
    if ((quote - escapes) % 2 === 0) return quote + 1;
  }
}

/** A string is the name of a member if a colon follows it. */
function isMemberName(text: string, end: number): boolean {
  let at = end;
  while (' \t\n\r'.includes(text[at] ?? '.')) at += 1;
  return text[at] === ':';
}

/** Folds as Go does: the Kelvin sign is a k, and the long s is an s. */
function caseFolded(name: string): string {
  return name.toUpperCase().toLowerCase();
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function refused(code: McpRefusalCode, detail: string): McpRefused {
  return { kind: 'refused', code, detail };
}

function unknownMethod(method: unknown): McpRefused {
  if (typeof method !== 'string') return refused('mcp_method_unknown', 'The message names no method.');
  return refused('mcp_method_unknown', `The method ${quoted(method)} is not known.`);
}

/** A text of the client in a sentence of ours: short, and in one line. */
function quoted(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}...` : text);
}
