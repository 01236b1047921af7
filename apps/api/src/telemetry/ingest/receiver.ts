import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import { requireRights } from '../../auth/authorize.ts';
import type { Principal } from '../../auth/principal.ts';
import { ApiError } from '../../platform/errors.ts';
import { answerOf } from '../../http/errors/problems.ts';
import { shownRequestIdOf } from '../../platform/request-id.ts';
import { type Answer, sendText } from '../../http/messages/send.ts';
import type { Callers } from '../../http/rate-limits/callers.ts';
import { jsonResponse } from '../otlp/json.ts';
import { encodeProtobufResponse, encodeProtobufStatus } from '../otlp/protobuf.ts';
import type { Signal } from '../otlp/signal.ts';
import { OtlpDecodeError, type PartialSuccess } from '../otlp/span.ts';
import type { HeldBytes } from './byte-budget.ts';
import { type Intake, signalOf, type TelemetryRequest } from './intake.ts';
import type { BodyEncoding } from './prepare-body.ts';
import { bodyTooLarge, collectBody, READ_TIMEOUT_MS } from './collect-body.ts';
import { COMPRESSION_NAMES, contentCodingOf, type EncodedBody } from './decompress.ts';

type Receiver = {
  intake: Intake;
  callers: Callers;
  /** An upload that takes longer is aborted. In milliseconds. */
  readTimeoutMs?: number;
};

type ReceivedRequest = {
  operation: Operation;
  requestId: string;
  onRefused: (error: unknown, answer: Answer, principal: Principal | null) => void;
  onTurn: TelemetryRequest['onTurn'];
};

type Encoding = {
  name: BodyEncoding;
  mediaType: string;
  response: (signal: Signal, partial: PartialSuccess | null) => Uint8Array;
  status: (status: { code: number; message: string }) => Uint8Array;
};

const PROTOBUF: Encoding = {
  name: 'protobuf',
  mediaType: 'application/x-protobuf',
  response: (_signal, partial) => encodeProtobufResponse(partial),
  status: encodeProtobufStatus,
};

const JSON_ENCODING: Encoding = {
  name: 'json',
  mediaType: 'application/json',
  response: (signal, partial) => Buffer.from(JSON.stringify(jsonResponse(signal, partial))),
  status: (status) => Buffer.from(JSON.stringify(status)),
};

/** google.rpc.Code, by HTTP status. */
export const RPC_CODES: Record<number, number> = {
  400: 3,
  401: 16,
  403: 7,
  409: 9,
  413: 8,
  415: 3,
  429: 8,
  500: 13,
  503: 14,
};

/**
 * Receives telemetry by OTLP/HTTP (opentelemetry-proto 1.11): protobuf or JSON, compressed or not, on one path for each
 * signal. Answers are in the encoding of the request. Errors are google.rpc.Status. Senders may retry only after 429 and 503.
 */
export function otlpReceiver({ intake, callers, readTimeoutMs = READ_TIMEOUT_MS }: Receiver) {
  const { maxBytes } = intake;
  return async (req: IncomingMessage, res: ServerResponse, request: ReceivedRequest): Promise<void> => {
    const encoding = encodingOf(req);
    let caller: Principal | null = null;
    let held: HeldBytes | null = null;
    try {
      const { operation, requestId, onTurn } = request;
      caller = await callers.authenticate(req, res, { operation, requestId });
      await callers.limitRate(req, res, { operation, principal: caller });
      const { principal } = requireRights(operation, caller, {});
      if (!encoding) {
        throw new ApiError('media_type_unsupported', 'Send application/x-protobuf or application/json.', {
          headers: { Accept: `${PROTOBUF.mediaType}, ${JSON_ENCODING.mediaType}` },
        });
      }
      const signal = signalOf(operation);
      held = intake.open(principal);
      const body = await readBody(req, { maxBytes, timeoutMs: readTimeoutMs, held });
      const refused = await intake.take({ signal, operation, principal, encoding: encoding.name, body, onTurn });
      send(req, res, encoding, { status: 200, body: encoding.response(signal, refused) });
    } catch (error) {
      const known = toApiError(error);
      const answer = answerOf(known, shownRequestIdOf(res));
      request.onRefused(known, answer, caller);
      for (const [name, value] of Object.entries(answer.headers)) res.setHeader(name, value);
      const message = detailOf(answer.body);
      const answerEncoding = encoding ?? JSON_ENCODING;
      const body = answerEncoding.status({ code: RPC_CODES[answer.status] ?? 2, message });
      send(req, res, answerEncoding, { status: answer.status, body });
    } finally {
      held?.release();
    }
  };
}

function encodingOf(req: IncomingMessage): Encoding | null {
  const mediaType = (req.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  if (mediaType === PROTOBUF.mediaType) return PROTOBUF;
  return mediaType === JSON_ENCODING.mediaType ? JSON_ENCODING : null;
}

/** Reads the body, without decompressing it. */
async function readBody(
  req: IncomingMessage,
  { maxBytes, timeoutMs, held }: { maxBytes: number; timeoutMs: number; held: HeldBytes },
): Promise<EncodedBody> {
  const coding = contentCodingOf(req.headers['content-encoding'] ?? 'identity');
  if (coding === null) {
    const detail = 'Send the body with gzip, deflate or zstd, or without Content-Encoding.';
    throw new ApiError('media_type_unsupported', detail, {
      headers: { 'Accept-Encoding': COMPRESSION_NAMES.join(', ') },
    });
  }
  if (Number(req.headers['content-length'] ?? 0) > maxBytes) throw bodyTooLarge(maxBytes);
  return { bytes: await collectBody(req, { maxBytes, timeoutMs, held }), coding };
}

/** Turns a decoding error into a 400. Other errors stay as they are. */
export function toApiError(error: unknown): unknown {
  return error instanceof OtlpDecodeError ? new ApiError('request_malformed', error.message) : error;
}

export function detailOf(body: unknown): string {
  if (typeof body === 'object' && body !== null && 'detail' in body && typeof body.detail === 'string')
    return body.detail;
  return 'The request is not valid.';
}

function send(
  req: IncomingMessage,
  res: ServerResponse,
  encoding: Encoding,
  { status, body }: { status: number; body: Uint8Array },
): void {
  res.statusCode = status;
  res.setHeader('Content-Type', encoding.mediaType);
  sendText(req, res, body);
}
