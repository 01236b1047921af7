import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { ingestLogs } from '@quartermaster/contracts/logs.ts';
import { ingestMetrics } from '@quartermaster/contracts/metrics.ts';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import { ingestTraces } from '@quartermaster/contracts/traces.ts';
import { requireRights } from '../../auth/authorize.ts';
import type { Principal } from '../../auth/principal.ts';
import { ApiError } from '../../platform/errors.ts';
import { answerOf } from '../../http/errors/problems.ts';
import type { Answer } from '../../http/messages/send.ts';
import { callerFields, callerIdFields, statusFields, timeFields } from '../../http/log-fields.ts';
import { callerRequestIdOf, requestIdOf, setRequestId, shownRequestIdOf } from '../../platform/request-id.ts';
import type { Callers } from '../../http/rate-limits/callers.ts';
import type { Services } from '../../platform/services.ts';
import { encodeProtobufResponse } from '../otlp/protobuf.ts';
import { OtlpDecodeError } from '../otlp/span.ts';
import type { HeldBytes } from './byte-budget.ts';
import { collectBody, READ_TIMEOUT_MS } from './collect-body.ts';
import { GRPC_OK, GRPC_UNIMPLEMENTED, type GrpcStatus, statusTrailers } from './grpc-status.ts';
import { type Intake, signalOf } from './intake.ts';
import { detailOf, RPC_CODES, toApiError } from './receiver.ts';
import { COMPRESSION_NAMES, contentCodingOf, type EncodedBody } from './decompress.ts';

/** A call that was refused. */
type RefusedCall = {
  operation: Operation;
  principal: Principal | null;
  requestId: string;
  callerRequestId: string | null;
};

type Receiver = {
  services: Pick<Services, 'log' | 'metrics'>;
  intake: Intake;
  callers: Callers;
  addressOf: (req: IncomingMessage) => string;
  onRefused: (error: unknown, answer: Answer, info: RefusedCall) => void;
  /** An upload that takes longer is aborted. In milliseconds. */
  readTimeoutMs?: number;
};

const SERVICE = '/opentelemetry.proto.collector';

/** The methods of opentelemetry-proto's collector services. Each is the same operation as the HTTP path of its signal. */
const METHODS: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  [`${SERVICE}.trace.v1.TraceService/Export`, ingestTraces],
  [`${SERVICE}.logs.v1.LogsService/Export`, ingestLogs],
  [`${SERVICE}.metrics.v1.MetricsService/Export`, ingestMetrics],
]);

const MEDIA_TYPE = 'application/grpc';

/** A message begins with one byte that says whether it is compressed, and four bytes of length. */
const PREFIX_BYTES = 5;

/**
 * Receives telemetry by OTLP/gRPC. A unary call is one HTTP/2 request, so no gRPC library is needed. A library would
 * decompress a message before it calls the handler, so before the limits on memory apply.
 *
 * Credentials, limits and refusals are those of OTLP/HTTP. Metadata are HTTP headers.
 */
export function grpcReceiver({ services, readTimeoutMs = READ_TIMEOUT_MS, ...given }: Receiver) {
  const { intake, callers, addressOf, onRefused } = given;
  return async (call: Http2ServerRequest, reply: Http2ServerResponse): Promise<void> => {
    // The request and response of node:http2 have all members of node:http's that are used here.
    const req = call as unknown as IncomingMessage;
    const res = reply as unknown as ServerResponse;
    const start = performance.now();
    setRequestId(req, res);
    // A closed connection has no address.
    const address = addressOf(req);
    reply.on('error', () => {});
    // After the answer the caller does not have to send the rest of its body.
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
    let waitedMs = 0;
    try {
      principal = await callers.authenticate(req, res, { operation, requestId });
      const authenticatedAt = performance.now();
      await callers.limitRate(req, res, { operation, principal });
      waitedMs = performance.now() - authenticatedAt;
      const caller = requireRights(operation, principal, {}).principal;
      const signal = signalOf(operation);
      held = intake.open(caller);
      const limits = { maxBytes: intake.maxBytes + PREFIX_BYTES, timeoutMs: readTimeoutMs, held };
      const body = messageIn(await collectBody(call, limits), call.headers['grpc-encoding']);
      const onTurn = (waited: number) => {
        waitedMs += waited;
      };
      const refused = await intake.take({ signal, operation, principal: caller, encoding: 'protobuf', body, onTurn });
      finish(reply, { code: GRPC_OK, message: '', retryAfterSeconds: null }, encodeProtobufResponse(refused));
    } catch (error) {
      const known = toApiError(error);
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
      services.metrics.waits.inc({ operation: operationId }, waitedMs / 1000);
      services.log.info(
        {
          requestId,
          ...callerIdFields(req),
          method: 'gRPC',
          path: call.url,
          operationId,
          ...callerFields(principal),
          ...statusFields(status, address),
          ...timeFields({ durationMs, waitedMs }),
        },
        'request',
      );
    }
  };
}

/** Ends a call with a message and trailers, or a failed one with headers alone ("Trailers-Only"). */
function finish(reply: Http2ServerResponse, status: GrpcStatus, answer?: Uint8Array): void {
  if (reply.stream.destroyed) return;
  reply.setHeader('content-type', MEDIA_TYPE);
  reply.setHeader('grpc-accept-encoding', ['identity', ...COMPRESSION_NAMES].join(','));
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

/** Takes the one message of a unary call out of its frame. */
function messageIn(bytes: Buffer, encoding: string | string[] | undefined): EncodedBody {
  if (bytes.length < PREFIX_BYTES || bytes.length !== PREFIX_BYTES + bytes.readUInt32BE(1)) {
    throw new OtlpDecodeError('The body is not one gRPC message.');
  }
  const flag = bytes.readUInt8(0);
  if (flag > 1) throw new OtlpDecodeError('The body is not one gRPC message.');
  const message = bytes.subarray(PREFIX_BYTES);
  if (flag === 0) return { bytes: message, coding: 'identity' };
  const coding = contentCodingOf(String(encoding ?? 'identity'));
  if (coding === null || coding === 'identity') {
    throw new ApiError(
      'media_type_unsupported',
      'Send the message with gzip, deflate or zstd, or without compression.',
    );
  }
  return { bytes: message, coding };
}

function statusOf(answer: Answer): GrpcStatus {
  const retryAfter = Number(answer.headers['Retry-After']);
  return {
    code: answer.status === 415 ? GRPC_UNIMPLEMENTED : (RPC_CODES[answer.status] ?? 2),
    message: detailOf(answer.body),
    retryAfterSeconds: retryAfter > 0 ? retryAfter : null,
  };
}
