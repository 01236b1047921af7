import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { ingestLogs } from '@quartermaster/contracts/logs.ts';
import { ingestMetrics } from '@quartermaster/contracts/metrics.ts';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import { ingestTraces } from '@quartermaster/contracts/traces.ts';
import { authorise } from '../../access/authorise.ts';
import type { Principal } from '../../access/principal.ts';
import { ApiError } from '../../errors.ts';
import { type Answer, answerOf } from '../../http/problems.ts';
import { callerRequestIdOf, requestIdOf, setRequestId, shownRequestIdOf } from '../../http/request-id.ts';
import type { Identify } from '../../rate-limits/identify.ts';
import type { Services } from '../../services.ts';
import { encodeProtobufResponse } from '../otlp/protobuf.ts';
import { OtlpDecodeError } from '../otlp/span.ts';
import type { HeldBytes } from './byte-budget.ts';
import { collectBody } from './collect-body.ts';
import { GRPC_OK, GRPC_UNIMPLEMENTED, type GrpcStatus, statusTrailers } from './grpc-status.ts';
import { type Intake, signalOf } from './intake.ts';
import { detailOf, RPC_CODES } from './receiver.ts';
import type { PackedBody } from './unpack.ts';

/** Who was refused what, by which operation. */
type RefusedCall = {
  operation: Operation;
  principal: Principal | null;
  requestId: string;
  callerRequestId: string | null;
};

type Receiver = {
  services: Pick<Services, 'log' | 'metrics'>;
  intake: Intake;
  identify: Identify;
  onRefused: (error: unknown, answer: Answer, info: RefusedCall) => void;
  /** An upload that takes longer is given up. In milliseconds. */
  readTimeoutMs?: number;
};

const SERVICE = '/opentelemetry.proto.collector';

/** The methods of opentelemetry-proto's collector services. Each does what the HTTP path of its signal does. */
const METHODS: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  [`${SERVICE}.trace.v1.TraceService/Export`, ingestTraces],
  [`${SERVICE}.logs.v1.LogsService/Export`, ingestLogs],
  [`${SERVICE}.metrics.v1.MetricsService/Export`, ingestMetrics],
]);

const MEDIA_TYPE = 'application/grpc';

/** A message begins with one byte that says whether it is compressed, and its length in four. */
const PREFIX_BYTES = 5;

const READ_TIMEOUT_MS = 30_000;

/**
 * Receives telemetry by OTLP/gRPC. Unary calls are one HTTP/2 request each, so this reads them itself: a gRPC library
 * unpacks a message before it calls a handler, and so before there is a turn and room for it.
 *
 * Credentials, limits and what follows from a refusal are those of OTLP/HTTP. Metadata are HTTP headers.
 */
export function grpcReceiver({ services, intake, identify, onRefused, readTimeoutMs = READ_TIMEOUT_MS }: Receiver) {
  return async (call: Http2ServerRequest, reply: Http2ServerResponse): Promise<void> => {
    // The request and response of node:http2 have what is used here of those of node:http.
    const req = call as unknown as IncomingMessage;
    const res = reply as unknown as ServerResponse;
    const start = performance.now();
    setRequestId(req, res);
    reply.on('error', () => {});
    // A caller that is answered need not send the rest.
    reply.on('finish', () => call.stream.close(constants.NGHTTP2_NO_ERROR));
    if (call.method !== 'POST' || !isGrpc(call)) {
      reply.writeHead(call.method === 'POST' ? 415 : 405).end();
      return;
    }
    const operation = METHODS.get(call.url);
    if (operation === undefined) {
      finish(reply, { code: GRPC_UNIMPLEMENTED, message: 'There is no such method.', retryAfterSeconds: null });
      return;
    }
    const requestId = requestIdOf(res);
    let principal: Principal | null = null;
    let held: HeldBytes | null = null;
    let status = 200;
    try {
      principal = await identify(req, res, { operation, requestId });
      const caller = authorise(operation, principal, {}).principal;
      const signal = signalOf(operation);
      held = intake.open(caller);
      const limits = { maxBytes: intake.maxBytes + PREFIX_BYTES, timeoutMs: readTimeoutMs, held };
      const body = messageIn(await collectBody(call, limits), call.headers['grpc-encoding']);
      const refused = await intake.take({ signal, operation, principal: caller, encoding: 'protobuf', body });
      finish(reply, { code: GRPC_OK, message: '', retryAfterSeconds: null }, encodeProtobufResponse(refused));
    } catch (error) {
      const known = error instanceof OtlpDecodeError ? new ApiError('request_malformed', error.message) : error;
      const answer = answerOf(known, shownRequestIdOf(res));
      status = answer.status;
      onRefused(known, answer, { operation, principal, requestId, callerRequestId: callerRequestIdOf(req) });
      for (const [name, value] of Object.entries(answer.headers)) reply.setHeader(name, value);
      finish(reply, statusOf(answer));
    } finally {
      held?.release();
      const durationMs = performance.now() - start;
      const { operationId } = operation;
      services.metrics.requests.labels({ operation: operationId, status }).observe(durationMs / 1000);
      const line = { requestId, method: 'gRPC', path: call.url, operationId, status };
      services.log.info({ ...line, durationMs: Math.round(durationMs * 100) / 100 }, 'request');
    }
  };
}

/** Ends a call: with a message and trailers, or, where it failed, with headers alone ("Trailers-Only"). */
function finish(reply: Http2ServerResponse, status: GrpcStatus, answer?: Uint8Array): void {
  if (reply.stream.destroyed) return;
  reply.setHeader('content-type', MEDIA_TYPE);
  reply.setHeader('grpc-accept-encoding', 'identity,gzip');
  const trailers = statusTrailers(status);
  if (answer === undefined) {
    for (const [name, value] of Object.entries(trailers)) reply.setHeader(name, value);
    reply.end();
    return;
  }
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(answer.length, 1);
  reply.write(Buffer.concat([prefix, answer]));
  reply.addTrailers(trailers);
  reply.end();
}

function isGrpc({ headers }: Http2ServerRequest): boolean {
  const [mediaType = ''] = (headers['content-type'] ?? '').split(';');
  return ['application/grpc', 'application/grpc+proto'].includes(mediaType.trim().toLowerCase());
}

/** The one message of a unary call, as it came in. */
function messageIn(bytes: Buffer, encoding: string | string[] | undefined): PackedBody {
  if (bytes.length < PREFIX_BYTES || bytes.length !== PREFIX_BYTES + bytes.readUInt32BE(1)) {
    throw new OtlpDecodeError('The body is not one gRPC message.');
  }
  const flag = bytes.readUInt8(0);
  if (flag > 1) throw new OtlpDecodeError('The body is not one gRPC message.');
  const isPacked = flag === 1;
  if (isPacked && encoding !== 'gzip') {
    throw new ApiError('media_type_unsupported', 'Send the message with gzip or without compression.');
  }
  return { bytes: bytes.subarray(PREFIX_BYTES), coding: isPacked ? 'gzip' : 'identity' };
}

function statusOf(answer: Answer): GrpcStatus {
  const retryAfter = Number(answer.headers['Retry-After']);
  return {
    code: answer.status === 415 ? GRPC_UNIMPLEMENTED : (RPC_CODES[answer.status] ?? 2),
    message: detailOf(answer.body),
    retryAfterSeconds: retryAfter > 0 ? retryAfter : null,
  };
}
