import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import { authorise } from '../../access/authorise.ts';
import type { Principal } from '../../access/principal.ts';
import { ApiError } from '../../errors.ts';
import { type Answer, answerOf } from '../../http/problems.ts';
import { shownRequestIdOf } from '../../http/request-id.ts';
import { sendText } from '../../http/send.ts';
import type { Identify } from '../../rate-limits/identify.ts';
import { jsonResponse } from '../otlp/json.ts';
import { encodeProtobufResponse, encodeProtobufStatus } from '../otlp/protobuf.ts';
import type { Signal } from '../otlp/signal.ts';
import { OtlpDecodeError, type PartialSuccess } from '../otlp/span.ts';
import type { HeldBytes } from './byte-budget.ts';
import { type Intake, signalOf } from './intake.ts';
import type { BodyEncoding } from './prepare-body.ts';
import { bodyTooLarge, collectBody } from './collect-body.ts';
import type { PackedBody } from './unpack.ts';

type Receiver = {
  intake: Intake;
  identify: Identify;
  /** An upload that takes longer is given up. In milliseconds. */
  readTimeoutMs?: number;
};

type Receipt = {
  operation: Operation;
  requestId: string;
  onRefused: (error: unknown, answer: Answer, principal: Principal | null) => void;
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

const READ_TIMEOUT_MS = 30_000;

/**
 * Receives telemetry by OTLP/HTTP (opentelemetry-proto 1.11): protobuf and JSON, gzip or not, on one path for each
 * signal. Answers are in the encoding of the request, and errors are google.rpc.Status. What a sender may retry is 429
 * and 503 alone.
 */
export function otlpReceiver({ intake, identify, readTimeoutMs = READ_TIMEOUT_MS }: Receiver) {
  const { maxBytes } = intake;
  return async (req: IncomingMessage, res: ServerResponse, receipt: Receipt): Promise<void> => {
    const encoding = encodingOf(req);
    let caller: Principal | null = null;
    let held: HeldBytes | null = null;
    try {
      const { operation, requestId } = receipt;
      caller = await identify(req, res, { operation, requestId });
      const { principal } = authorise(operation, caller, {});
      if (!encoding) throw new ApiError('media_type_unsupported', 'Send application/x-protobuf or application/json.');
      const signal = signalOf(operation);
      held = intake.open(principal);
      const body = await readBody(req, { maxBytes, timeoutMs: readTimeoutMs, held });
      const refused = await intake.take({ signal, operation, principal, encoding: encoding.name, body });
      send(req, res, encoding, { status: 200, body: encoding.response(signal, refused) });
    } catch (error) {
      const known = error instanceof OtlpDecodeError ? new ApiError('request_malformed', error.message) : error;
      const answer = answerOf(known, shownRequestIdOf(res));
      receipt.onRefused(known, answer, caller);
      for (const [name, value] of Object.entries(answer.headers)) res.setHeader(name, value);
      const message = detailOf(answer.body);
      const spoken = encoding ?? JSON_ENCODING;
      const body = spoken.status({ code: RPC_CODES[answer.status] ?? 2, message });
      send(req, res, spoken, { status: answer.status, body });
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

/** Reads the body as it comes in. */
async function readBody(
  req: IncomingMessage,
  { maxBytes, timeoutMs, held }: { maxBytes: number; timeoutMs: number; held: HeldBytes },
): Promise<PackedBody> {
  const coding = (req.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (coding !== 'identity' && coding !== 'gzip') {
    throw new ApiError('media_type_unsupported', 'Send the body with gzip or without Content-Encoding.', {
      headers: { 'Accept-Encoding': 'gzip' },
    });
  }
  if (Number(req.headers['content-length'] ?? 0) > maxBytes) throw bodyTooLarge(maxBytes);
  return { bytes: await collectBody(req, { maxBytes, timeoutMs, held }), coding };
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
