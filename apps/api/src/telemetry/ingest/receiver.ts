import type { IncomingMessage, ServerResponse } from 'node:http';
import { createGunzip } from 'node:zlib';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import { runForTenant } from '@quartermaster/db/tenant-context.ts';
import { authorise } from '../../access/authorise.ts';
import { type Principal, principalName, tenantOfCaller } from '../../access/principal.ts';
import { ApiError } from '../../errors.ts';
import { type Answer, answerOf } from '../../http/problems.ts';
import { shownRequestIdOf } from '../../http/request-id.ts';
import { sendText } from '../../http/send.ts';
import { inFairTurn } from '../../rate-limits/fair-turns.ts';
import type { Identify } from '../../rate-limits/identify.ts';
import { callerOf } from '../../rate-limits/limits.ts';
import type { Services } from '../../services.ts';
import { ingestSpans } from './ingest.ts';
import type { BodyEncoding } from './prepare-body.ts';
import { prepareBody } from './prepare-large.ts';
import { ByteBudget, type HeldBytes } from './byte-budget.ts';
import { jsonResponse } from '../otlp/json.ts';
import { encodeProtobufResponse, encodeProtobufStatus } from '../otlp/protobuf.ts';
import { OtlpDecodeError, type PartialSuccess } from '../otlp/span.ts';

type Receiver = {
  services: Services;
  identify: Identify;
  /** Of the body, compressed and decompressed, in bytes. */
  maxBytes: number;
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
  response: (partial: PartialSuccess | null) => Uint8Array;
  status: (status: { code: number; message: string }) => Uint8Array;
};

const PROTOBUF: Encoding = {
  name: 'protobuf',
  mediaType: 'application/x-protobuf',
  response: encodeProtobufResponse,
  status: encodeProtobufStatus,
};

const JSON_ENCODING: Encoding = {
  name: 'json',
  mediaType: 'application/json',
  response: (partial) => Buffer.from(JSON.stringify(jsonResponse(partial))),
  status: (status) => Buffer.from(JSON.stringify(status)),
};

/** google.rpc.Code, by HTTP status. */
const RPC_CODES: Record<number, number> = { 400: 3, 401: 16, 403: 7, 413: 8, 415: 3, 429: 8, 500: 13, 503: 14 };

const READ_TIMEOUT_MS = 30_000;

/**
 * Receives spans by OTLP/HTTP (opentelemetry-proto 1.11): protobuf and JSON, gzip or not, on one path. Answers are in
 * the encoding of the request, and errors are google.rpc.Status. What a sender may retry is 429 and 503 alone.
 */
export function otlpReceiver({ services, identify, maxBytes, readTimeoutMs = READ_TIMEOUT_MS }: Receiver) {
  const budget = new ByteBudget(maxBytes);
  return async (req: IncomingMessage, res: ServerResponse, receipt: Receipt): Promise<void> => {
    const encoding = encodingOf(req);
    let caller: Principal | null = null;
    let held: HeldBytes | null = null;
    try {
      const { operation, requestId } = receipt;
      caller = await identify(req, res, { operation, requestId });
      const { principal } = authorise(operation, caller, {});
      if (!encoding) throw new ApiError('media_type_unsupported', 'Send application/x-protobuf or application/json.');
      held = budget.open(callerOf(principal).tenantId || principalName(principal));
      const body = await readBody(req, { maxBytes, timeoutMs: readTimeoutMs, held });
      const ingest = () => ingestSpans({ services, principal }, (options) => prepareBody(body, encoding.name, options));
      const refused = await inFairTurn({ services, principal, address: '' }, operation, () =>
        runForTenant(tenantOfCaller(principal), ingest),
      );
      send(req, res, encoding, { status: 200, body: encoding.response(refused) });
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

/** Reads the body, unpacked. The limit holds for what comes in and for what it unpacks to. */
async function readBody(
  req: IncomingMessage,
  { maxBytes, timeoutMs, held }: { maxBytes: number; timeoutMs: number; held: HeldBytes },
): Promise<Buffer> {
  const coding = (req.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (coding !== 'identity' && coding !== 'gzip') {
    throw new ApiError('media_type_unsupported', 'Send the body with gzip or without Content-Encoding.', {
      headers: { 'Accept-Encoding': 'gzip' },
    });
  }
  if (Number(req.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const timer = setTimeout(() => req.destroy(new Error('the body did not arrive in time')), timeoutMs);
  try {
    const packed = await collect(req, maxBytes, held).catch((error: unknown) => {
      throw error instanceof ApiError ? error : cutOff();
    });
    return coding === 'gzip' ? await unpacked(packed, maxBytes, held) : packed;
  } finally {
    clearTimeout(timer);
  }
}

async function unpacked(packed: Buffer, maxBytes: number, held: HeldBytes): Promise<Buffer> {
  const gunzip = createGunzip();
  gunzip.end(packed);
  try {
    return await collect(gunzip, maxBytes, held);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new OtlpDecodeError('The body is not gzip.');
  } finally {
    gunzip.destroy();
  }
}

/** The whole of a stream, up to a limit. Leaves the stream open: the answer still has to go out on its socket. */
function collect(stream: NodeJS.ReadableStream, maxBytes: number, held: HeldBytes): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      try {
        if (size > maxBytes) throw tooLarge(maxBytes);
        held.add(chunk.length);
        chunks.push(chunk);
      } catch (error) {
        stream.pause();
        reject(error);
      }
    });
    stream.on('end', () => resolve(Buffer.concat(chunks, size)));
    stream.on('error', reject);
    stream.on('close', () => reject(cutOff()));
  });
}

/** Nobody is left to read this answer: it is said for the log and the counters, where a bug would look otherwise. */
function cutOff(): ApiError {
  return new ApiError('request_malformed', 'The connection ended before the body did.');
}

function tooLarge(maxBytes: number): ApiError {
  return new ApiError('body_too_large', `The body has more than ${maxBytes} bytes.`);
}

function detailOf(body: unknown): string {
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
