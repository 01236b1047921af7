import type { IncomingMessage } from 'node:http';
import type { Denial } from '@quartermaster/contracts/denials.ts';
import type { ErrorCode } from '@quartermaster/contracts/errors.ts';
import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import { type McpReading, parseMcpBody, readMcpBody, readMcpHeaders } from '@quartermaster/gateway/mcp.ts';
import { hasBody, readText } from '../../http/messages/body.ts';
import { ApiError, ValidationFailure } from '../../platform/errors.ts';
import { boundedName } from '../../telemetry/reading/visible-name.ts';

/** The largest request that a proxy may pass on, in bytes. */
const MAX_BODY_BYTES = 1024 * 1024;

/** What a request wants to use. `free`: it uses no item, so an active session is enough. `unclear`: it cannot be decided. */
export type ReadRequest =
  | { kind: 'named'; itemKind: InventoryKind; name: string }
  | { kind: 'free' }
  | { kind: 'unclear'; code: ErrorCode; detail: string };

/** Reads the MCP request that a proxy asks about from its body, which the proxy passes on. */
export async function readMcpRequest(req: IncomingMessage): Promise<ReadRequest> {
  const text = await bodyText(req);
  return text === null ? incomplete() : toRead(readMcpBody(text, req.headersDistinct));
}

/**
 * Reads the MCP request that a proxy asks about without its body. Headers prove something only if the MCP server compares them with
 * the body.
 *
 * @param comparesHeaders whether the MCP server was seen to do that
 */
export function readMcpHead(req: IncomingMessage, comparesHeaders: boolean): ReadRequest {
  const reading = toRead(readMcpHeaders(req.headersDistinct));
  if (reading.kind === 'unclear' || comparesHeaders) return reading;
  const detail =
    'The MCP server was not seen to compare the headers of a request with its body, so the headers prove nothing. Sync the provider, let the proxy pass on the body, or use the MCP proxy of the gateway.';
  return { kind: 'unclear', code: 'headers_not_checked', detail };
}

/** Where the APIs of models have the model's name in the path: Azure OpenAI, Amazon Bedrock, Google Gemini. */
const MODEL_PATHS = [
  /\/openai\/deployments\/([^/]+)(?=\/)/g,
  /\/model\/([^/]+)\/(?:invoke|converse)/g,
  /\/models\/([^/:]+):/g,
];

/** What servers resolve, each in its own way: empty segments, backslashes, dot segments and fragments. */
const AMBIGUOUS_PATH = /\/\/|\\|#|\/\.{1,2}(?:\/|$)/;

/** Headers in which proxies pass on the original target. */
const TARGET_HEADERS = ['x-original-uri', 'x-forwarded-uri', 'x-envoy-original-path'];

/**
 * Reads which model a request calls: from its body if the proxy passes it on, otherwise from its path.
 *
 * @param rest what follows the path of forward authentication, where some proxies append the original path
 */
export async function readModelRequest(req: IncomingMessage, rest: string): Promise<ReadRequest> {
  const targets = rest === '' ? [] : [rest];
  for (const name of TARGET_HEADERS) {
    const values = req.headersDistinct[name] ?? [];
    if (values.length > 1)
      return { kind: 'unclear', code: 'header_repeated', detail: `The header ${name} was sent twice.` };
    targets.push(...values);
  }
  const found = targets.map(modelsInPath);
  if (found.some((models) => models === null || models.length > 1))
    return { kind: 'unclear', code: 'name_missing', detail: 'Servers may read different models in this path.' };
  const inPaths = found.flatMap((models) => models ?? []);
  const inBody = hasBody(req) ? await modelInBody(req) : undefined;
  if (inBody === null) return incomplete();
  const names = new Set([...inPaths, ...(inBody === undefined ? [] : [inBody])]);
  const [name] = names;
  // A proxy sets one of the headers, and passes on the others as the client sent them. So all of them have to agree.
  const isPartly = inPaths.length > 0 && inPaths.length < targets.length;
  if (names.size > 1 || isPartly)
    return { kind: 'unclear', code: 'headers_differ', detail: 'The path, the headers and the body differ.' };
  if (name !== undefined && name !== '') return { kind: 'named', itemKind: 'model', name };
  const detail =
    'The request names no model. APIs that have it in the body, as those of OpenAI and Anthropic, need a proxy that passes on the body, or a guard in the program.';
  return { kind: 'unclear', code: 'name_missing', detail };
}

/** The models that the path of a target names. Null: another reader may find others. */
function modelsInPath(target: string): string[] | null {
  const [path = ''] = target.split('?', 1);
  try {
    if (AMBIGUOUS_PATH.test(decodeURIComponent(path))) return null;
  } catch {
    return null;
  }
  return MODEL_PATHS.flatMap((pattern) => [...path.matchAll(pattern)].map(([, name = '']) => decodeURIComponent(name)));
}

/** @returns undefined if the body has no model, null if it cannot be read */
async function modelInBody(req: IncomingMessage): Promise<string | undefined | null> {
  const text = await bodyText(req);
  // The rules for MCP apply here as well: every JSON parser has to find the same model.
  const parsed = text === null ? null : parseMcpBody(text);
  if (parsed?.kind !== 'message') return null;
  const { model } = parsed.message;
  return typeof model === 'string' ? model : undefined;
}

async function bodyText(req: IncomingMessage): Promise<string | null> {
  if (req.headers['x-envoy-auth-partial-body'] === 'true') return null;
  // A proxy that hides the header hides a charset in which the server reads another message.
  if (req.headers['content-type'] === undefined) return null;
  try {
    return await readText(req, MAX_BODY_BYTES);
  } catch (error) {
    // A body that cannot be read cannot be decided. Forward authentication answers only 200, 401, 403, 429 and 503.
    if (error instanceof ApiError || error instanceof ValidationFailure) return null;
    throw error;
  }
}

function incomplete(): ReadRequest {
  return {
    kind: 'unclear',
    code: 'body_incomplete',
    detail:
      'The body is too large, not whole, or not a JSON object in UTF-8 without repeated members. The proxy has to pass on `Content-Type`.',
  };
}

function toRead(reading: McpReading): ReadRequest {
  if (reading.kind === 'refused') return { kind: 'unclear', code: reading.code, detail: reading.detail };
  if (reading.kind === 'session') return { kind: 'free' };
  return { kind: 'named', itemKind: reading.itemKind, name: reading.name };
}

/** The reason of a denial, as a sentence for people. */
export function explainDenial(reason: Denial, { kind, name }: { kind: InventoryKind; name: string }): string {
  const what = `the ${kind} ${JSON.stringify(boundedName(name))}`;
  switch (reason) {
    case 'not_in_inventory':
      return `${what} is not in the inventory of the provider. An operator can approve it.`;
    case 'blocked':
      return `${what} is blocked.`;
    case 'manifest':
      return `the manifest of the gateway does not allow ${what}. An operator can allow it.`;
    case 'provider_disabled':
      return `the provider of ${what} is disabled.`;
    case 'provider_not_in_session':
      return `the session was opened for other providers than that of ${what}.`;
    case 'provider_not_listed':
      return `the gateway lists no such provider for ${what}.`;
  }
}
