import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import {
  FIRST_REVISION_WITH_HEADERS,
  type McpReading,
  parseMcpBody,
  readMcpMessage,
} from '@quartermaster/gateway/mcp.ts';
import { yieldWhenDue } from '@quartermaster/db/turns.ts';
import { readText } from '../../http/messages/body.ts';
import { sendText } from '../../http/messages/send.ts';
import { ApiError, ValidationFailure } from '../../platform/errors.ts';
import { isObject } from '../../platform/json-values.ts';
import { OutboundFailure, transportFailure } from '../../platform/outbound/failure.ts';
import type { Services } from '../../platform/services.ts';
import { type Decision, type Decisions, type LiveSession, reasonOf } from '../gateway-decisions/decide.ts';
import { explainDenial } from '../gateway-decisions/forward-auth.ts';
import type { DecisionPath } from '../gateway-decisions/paths.ts';
import { reviewUrlOf, tokenOf } from '../gateway-decisions/receiver.ts';
import type { CompiledProvider } from '../gateway-sessions/policy.ts';
import { Buffers, type Held } from './buffers.ts';
import { EventFilter, filteredMessage, type IsOffered, LIST_METHODS, MAX_LIST_BYTES } from './filter.ts';
import { McpServers } from './server.ts';
import { openSessionId, sealSessionId, type SessionIdOwner } from './session-ids.ts';
import { Streams } from './streams.ts';
import type { UpstreamAnswer, Upstreams } from './upstream.ts';

/** The largest message of a client, in bytes. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** Members and items of a message. A quarter of a million of them take a second. */
const MAX_VALUES = 65_536;

/** A message with more characters is parsed in a turn of its tenant. */
const LARGE_MESSAGE = 64 * 1024;

/** How long a client may neither send nor receive anything, in milliseconds. */
const IDLE_MS = 5 * 60_000;

/** What of a request is passed on. Never its credentials, its cookies, or headers of this service. */
const PASSED_ON = /^(?:accept|last-event-id|traceparent|tracestate|mcp-(?:protocol-version|method|name|param-.+))$/;

/** What of an answer is passed back. */
const PASSED_BACK = ['content-type', 'mcp-protocol-version', 'retry-after', 'allow'];

/** Methods whose answer is a stream that may stay open for hours. */
const LISTENING_METHODS: ReadonlySet<string | null> = new Set(['subscriptions/listen']);

/** Codes of JSON-RPC 2.0 and of MCP. */
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const HEADER_MISMATCH = -32020;
const SESSION_NOT_FOUND = -32001;
const SERVER_ERROR = -32000;

type ProxyServices = Pick<
  Services,
  'db' | 'log' | 'now' | 'publicUrl' | 'scheduler' | 'secrets' | 'stopping' | 'syncs'
>;

/** A message of a client that may be passed on. */
type Message = { json: string; id: string | number | null; method: string | null };

/** One request, with what was found out about it. */
type Exchange = {
  req: IncomingMessage;
  res: ServerResponse;
  session: LiveSession;
  provider: CompiledProvider;
  /** Null: GET or DELETE. */
  message: Message | null;
  held: Held;
  /** Aborts when the connection of the client is closed, or has to be. */
  abort: AbortController;
};

/**
 * The MCP proxy: agents reach the MCP servers of a gateway through it. It decides about each message, writes the message anew, so
 * that the server reads exactly what was decided, and adds the credential of the provider. It keeps no state, so each process can
 * answer each request.
 */
export function mcpProxy({ services, decisions }: { services: ProxyServices; decisions: Decisions }) {
  const { publicUrl, secrets } = services;
  const servers = new McpServers(services);
  const streams = new Streams(services.stopping);
  const buffers = new Buffers();
  let upstreams: Promise<Upstreams> | undefined;
  // Imported at the first request, because the HTTP client would slow down the start.
  const openUpstreams = async () => new (await import('./upstream.ts')).Upstreams(services);

  /** @returns null if the request is answered already */
  const readMessage = async (exchange: Exchange): Promise<Message | null> => {
    const { req, res, held } = exchange;
    const refuse = (status: number, code: number, detail: string, id: Message['id'] = null) => {
      sendError(exchange, { status, code, message: detail, id });
      return null;
    };
    const length = Number(req.headers['content-length'] ?? MAX_BODY_BYTES);
    held.add(Math.min(length, MAX_BODY_BYTES));
    const text = await readText(req, MAX_BODY_BYTES, MAX_VALUES).catch((error: unknown) => {
      if (error instanceof ValidationFailure) return error;
      throw error;
    });
    if (typeof text !== 'string') return refuse(400, PARSE_ERROR, text.message);
    // The message may have taken minutes to arrive, and the session may have ended since.
    const session = await decisions.session(tokenOf(req), exchange.session.policy.gateway.id);
    exchange.provider = proxiedProvider(session, exchange.provider.provider.id);
    exchange.session = session;
    const parsed = await parsedInTurn(text, session);
    if (parsed.kind === 'refused') {
      const code = parsed.code === 'mcp_revision_unsupported' ? INVALID_REQUEST : PARSE_ERROR;
      return refuse(400, code, parsed.detail);
    }
    const { message } = parsed;
    const id = idOf(message);
    const reading = readMcpMessage(message, req.headersDistinct);
    const method = typeof message['method'] === 'string' ? message['method'] : null;
    const passed = { json: JSON.stringify(message), id, method };
    if (reading.kind === 'session') return passed;
    if (reading.kind === 'named') return decideNamed(exchange, { reading, message, passed });
    const isObserved = session.policy.gateway.enforcement === 'observe' && reading.code === 'mcp_method_unknown';
    if (isObserved) {
      res.setHeader('X-Quartermaster-Reason', reading.code);
      return passed;
    }
    switch (reading.code) {
      case 'mcp_method_unknown':
        return refuse(id === null ? 400 : 200, METHOD_NOT_FOUND, reading.detail, id);
      case 'name_missing':
        return refuse(400, INVALID_PARAMS, reading.detail, id);
      case 'headers_differ':
        return refuse(400, HEADER_MISMATCH, reading.detail, id);
      default:
        return refuse(400, INVALID_REQUEST, reading.detail, id);
    }
  };

  const parsedInTurn = async (text: string, { state }: LiveSession): Promise<ReturnType<typeof parseMcpBody>> => {
    if (text.length <= LARGE_MESSAGE) return parseMcpBody(text);
    return services.scheduler.runWithoutLine(state.tenantId, async () => {
      await yieldWhenDue();
      return parseMcpBody(text);
    });
  };

  const decideNamed = async (
    exchange: Exchange,
    {
      reading,
      message,
      passed,
    }: { reading: McpReading & { kind: 'named' }; message: Record<string, unknown>; passed: Message },
  ): Promise<Message | null> => {
    const { res, session, provider } = exchange;
    const asked = { provider, kind: reading.itemKind, name: reading.name };
    const decision = decisions.decide(session, asked, { point: 'proxy' });
    if (decision.reason !== null) res.setHeader('X-Quartermaster-Reason', decision.reason);
    if (decision.allowed) return passed;
    const observationId = await decisions.observationOf(decision);
    const text = denialText(decision, { asked, observationId, publicUrl });
    if (reading.itemKind === 'tool' && passed.id !== null) {
      const result = {
        content: [{ type: 'text', text }],
        isError: true,
        ...(hasResultType(exchange.req, message) && { resultType: 'complete' }),
      };
      sendJson(exchange, 200, { jsonrpc: '2.0', id: passed.id, result });
    } else sendError(exchange, { status: 200, code: SERVER_ERROR, message: text, id: passed.id });
    return null;
  };

  /** Sends the request to the MCP server, and passes the answer back. */
  const forward = async (exchange: Exchange, owner: SessionIdOwner, upstreamId: string | undefined): Promise<void> => {
    const { req, res, session, provider, message, abort } = exchange;
    const { policy, state } = session;
    const token = tokenOf(req);
    const check = async () => {
      const now = await decisions.session(token, policy.gateway.id);
      requireUsable(now, proxiedProvider(now, provider.provider.id));
    };
    const isListening = req.method === 'GET' || LISTENING_METHODS.has(message?.method ?? null);
    const sessionOfStream = { tenantId: state.tenantId, sessionId: state.id };
    const end = streams.open(sessionOfStream, { check, isListening, abort });
    res.setTimeout(IDLE_MS, () => abort.abort());
    try {
      const server = await servers.get({ tenantId: state.tenantId, id: provider.provider.id });
      upstreams ??= openUpstreams();
      const answer = await (await upstreams).send(server, {
        method: req.method as 'GET' | 'POST' | 'DELETE',
        headers: headersFor(req, { message, upstreamId }),
        body: message?.json ?? null,
        signal: abort.signal,
      });
      const sealed = (id: string) => sealSessionId(secrets, owner, id);
      await passBack(exchange, answer, { sealed, signal: abort.signal });
    } catch (error) {
      if (abort.signal.aborted || res.headersSent) {
        res.destroy();
        return;
      }
      if (!(error instanceof OutboundFailure)) throw error;
      const text = `The MCP server cannot be used: ${error.message}.`;
      sendError(exchange, { status: 502, code: SERVER_ERROR, message: text, id: message?.id ?? null });
    } finally {
      end();
    }
  };

  return async (
    req: IncomingMessage,
    res: ServerResponse,
    { session, path }: { session: LiveSession; path: DecisionPath },
  ): Promise<void> => {
    refuseOtherOrigins(req, publicUrl);
    const provider = proxiedProvider(session, path.provider);
    const { state, policy } = session;
    const exchange: Exchange = {
      req,
      res,
      session,
      provider,
      message: null,
      held: buffers.hold(state.tenantId),
      abort: new AbortController(),
    };
    const onClosed = () => {
      exchange.abort.abort();
      exchange.held.release();
    };
    if (res.destroyed) onClosed();
    else res.once('close', onClosed);
    const owner = {
      tenantId: state.tenantId,
      subject: state.subject,
      gatewayId: policy.gateway.id,
      providerId: provider.provider.id,
    };
    const sessionIds = req.headersDistinct['mcp-session-id'] ?? [];
    const upstreamId = sessionIds[0] === undefined ? undefined : openSessionId(secrets, owner, sessionIds[0]);
    if (upstreamId === null || sessionIds.length > 1) {
      const message = 'There is no such MCP session.';
      sendError(exchange, { status: 404, code: SESSION_NOT_FOUND, message, id: null });
      return;
    }
    if (req.method === 'POST') {
      exchange.message = await readMessage(exchange);
      if (exchange.message === null) return;
    } else if (req.method !== 'GET' && req.method !== 'DELETE') {
      const detail = 'This path supports only GET, POST, DELETE.';
      throw new ApiError('method_not_allowed', detail, { headers: { Allow: 'GET, POST, DELETE' } });
    }
    requireUsable(exchange.session, exchange.provider);
    await forward(exchange, owner, upstreamId);
  };
}

/** Against DNS rebinding (MCP, transports, security warning): the pages of other sites may not use it. */
function refuseOtherOrigins(req: IncomingMessage, publicUrl: string): void {
  const own = new URL(publicUrl).origin;
  if ((req.headersDistinct['origin'] ?? []).every((origin) => origin === own)) return;
  throw new ApiError('cross_site_refused', 'The MCP proxy does not answer pages of other origins.');
}

/** @throws ApiError if the provider cannot be reached through the gateway */
function proxiedProvider({ policy }: LiveSession, reference: string | null): CompiledProvider {
  if (policy.gateway.mcpProxy !== 'on')
    throw new ApiError('mcp_proxy_off', 'The MCP proxy of the gateway is off. Set its `mcpProxy` to `on`.');
  const provider = reference === null ? undefined : policy.find(reference);
  if (provider === undefined)
    throw new ApiError('provider_not_listed', 'The gateway lists no provider with this id, name or alias, or several.');
  if (provider.provider.kind !== 'mcp' || provider.provider.baseUrl === null)
    throw new ApiError('provider_not_proxied', 'Only providers of kind `mcp` with a `baseUrl` can be proxied.');
  return provider;
}

/** @throws ApiError in the mode `enforce`, if the session may use nothing of the provider */
function requireUsable({ state, policy }: LiveSession, { provider }: CompiledProvider): void {
  if (policy.gateway.enforcement === 'observe') return;
  const isInSession = state.providerIds === null || state.providerIds.includes(provider.id);
  const reason = isInSession ? 'provider_disabled' : 'provider_not_in_session';
  if (isInSession && provider.status === 'active') return;
  const detail = isInSession
    ? 'Denied: the provider is disabled.'
    : 'Denied: the session was opened for other providers.';
  throw new ApiError('not_granted', detail, {
    headers: { 'X-Quartermaster-Reason': reason },
    reason,
    observationId: null,
  });
}

function headersFor(
  req: IncomingMessage,
  { message, upstreamId }: { message: Message | null; upstreamId: string | undefined },
): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(req.headers)) {
    if (PASSED_ON.test(name) && typeof value === 'string') headers[name] = value;
  }
  if (message !== null) headers['content-type'] = 'application/json';
  if (upstreamId !== undefined) headers['mcp-session-id'] = upstreamId;
  return headers;
}

/** @throws OutboundFailure for an answer that must not be passed back */
async function passBack(
  exchange: Exchange,
  answer: UpstreamAnswer,
  { sealed, signal }: { sealed: (id: string) => string; signal: AbortSignal },
): Promise<void> {
  const { req, res, session, message, held } = exchange;
  const { status, body } = answer;
  const headers = singleHeaders(answer.headers);
  if (headers === null) return refuseAnswer(answer, 'one of its headers cannot be read');
  const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  const isList = session.policy.gateway.enforcement === 'enforce' && LIST_METHODS.has(message?.method ?? '');
  // A stream of GET may repeat the answer to a list, if the client resumes one.
  const isFiltered = isList || (session.policy.gateway.enforcement === 'enforce' && req.method === 'GET');
  const problem = problemOf({ status, headers }, { type, isFiltered });
  if (problem !== null) return refuseAnswer(answer, problem);
  for (const name of PASSED_BACK) {
    const value = headers[name];
    if (value !== undefined) res.setHeader(name, value);
  }
  const id = headers['mcp-session-id'];
  if (id !== undefined) res.setHeader('Mcp-Session-Id', sealed(id));
  const isOffered: IsOffered = (kind, name) => reasonOf(session, { provider: exchange.provider, kind, name }) === null;
  if (isFiltered && type === 'application/json') {
    const text = filteredJson(await textOf(body, held), isOffered);
    res.statusCode = status;
    sendText(req, res, text);
    return;
  }
  res.statusCode = status;
  if (type === 'text/event-stream') {
    // nginx would collect the events otherwise.
    res.setHeader('X-Accel-Buffering', 'no');
    res.flushHeaders();
  }
  const filters = isFiltered && type === 'text/event-stream' ? [new EventFilter(isOffered, held)] : [];
  await pipeline([body, ...filters, res], { signal });
}

async function refuseAnswer({ status, body }: UpstreamAnswer, problem: string): Promise<never> {
  await body.dump();
  throw new OutboundFailure(problem, { status });
}

/** The headers of an answer that are read or passed back. Null: one was sent twice, or has characters that no header may have. */
function singleHeaders(headers: UpstreamAnswer['headers']): Record<string, string> | null {
  const single: Record<string, string> = {};
  for (const name of [...PASSED_BACK, 'mcp-session-id', 'content-encoding']) {
    const value: string | string[] | undefined = headers[name];
    if (value === undefined) continue;
    if (typeof value !== 'string' || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return null;
    single[name] = value;
  }
  return single;
}

/** Why an answer is not passed back, or null. */
function problemOf(
  { status, headers }: { status: number; headers: Record<string, string> },
  { type, isFiltered }: { type: string; isFiltered: boolean },
): string | null {
  // The client would take it as about its own token.
  if (status === 401 || status === 403 || status === 407) return 'it refused the credential of the provider';
  const coding = headers['content-encoding'];
  if (coding !== undefined && coding !== 'identity') return 'its answer is compressed, although nobody asked for that';
  const isReadable = type === 'application/json' || type === 'text/event-stream';
  if (isFiltered && status === 200 && !isReadable) return 'its answer is neither JSON nor a stream of events';
  return null;
}

function filteredJson(text: string, isOffered: IsOffered): string {
  try {
    return filteredMessage(text, isOffered);
  } catch (error) {
    throw new OutboundFailure('its answer is not JSON', { cause: error });
  }
}

/** Copies each piece, because a server may send millions of them, and each would take a hundred bytes of memory. */
async function textOf(body: UpstreamAnswer['body'], held: Held): Promise<string> {
  let bytes = Buffer.alloc(0);
  let size = 0;
  for await (const chunk of untilBroken(body)) {
    size += chunk.length;
    held.add(chunk.length);
    if (size > MAX_LIST_BYTES) throw new OutboundFailure(`a list is larger than ${MAX_LIST_BYTES / 1024 / 1024} MiB`);
    if (size > bytes.length) bytes = Buffer.concat([bytes], 2 * size);
    chunk.copy(bytes, size - chunk.length);
  }
  return bytes.toString('utf8', 0, size);
}

async function* untilBroken(body: UpstreamAnswer['body']): AsyncGenerator<Buffer> {
  try {
    yield* body as AsyncIterable<Buffer>;
  } catch (error) {
    throw transportFailure(error, { connectMs: 0 });
  }
}

function denialText(
  { reason }: Decision,
  {
    asked,
    observationId,
    publicUrl,
  }: { asked: Parameters<typeof reviewUrlOf>[1]; observationId: string | null; publicUrl: string },
): string {
  if (reason === null) throw new Error('an allowed use is no denial');
  return `Denied: ${explainDenial(reason, asked)} Review: ${reviewUrlOf(publicUrl, asked, observationId)}`;
}

/** Results have a type since revision 2026-07-28. Their clients name the revision in each request. */
function hasResultType(req: IncomingMessage, { params }: Record<string, unknown>): boolean {
  const meta = isObject(params) && isObject(params['_meta']) ? params['_meta'] : {};
  const named = req.headers['mcp-protocol-version'] ?? meta['io.modelcontextprotocol/protocolVersion'];
  return typeof named === 'string' && named >= FIRST_REVISION_WITH_HEADERS;
}

function idOf({ id }: Record<string, unknown>): Message['id'] {
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

function sendError(
  exchange: Exchange,
  { status, code, message, id }: { status: number; code: number; message: string; id: Message['id'] },
): void {
  sendJson(exchange, status, { jsonrpc: '2.0', id, error: { code, message } });
}

function sendJson({ req, res }: Pick<Exchange, 'req' | 'res'>, status: number, body: unknown): void {
  res.statusCode = status;
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  sendText(req, res, JSON.stringify(body));
}
