import protobuf from 'protobufjs/minimal.js';
import { message, text, varint } from '../otlp/protobuf-values.ts';

/** The result of a call: a code of google.rpc.Code, a message, and after how many seconds it may be sent again, if it may. */
export type GrpcStatus = { code: number; message: string; retryAfterSeconds: number | null };

export const GRPC_OK = 0;
export const GRPC_UNIMPLEMENTED = 12;

/**
 * The trailers of a call (gRPC over HTTP/2, "Responses"). By OTLP, a sender may repeat a call with RESOURCE_EXHAUSTED only
 * if the status has a RetryInfo.
 */
export function statusTrailers(status: GrpcStatus): Record<string, string> {
  const trailers: Record<string, string> = { 'grpc-status': String(status.code) };
  if (status.code === GRPC_OK) return trailers;
  trailers['grpc-message'] = percentEncoded(status.message);
  trailers['grpc-status-details-bin'] = Buffer.from(details(status)).toString('base64');
  return trailers;
}

const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo';

/** google.rpc.Status, with google.rpc.RetryInfo in an Any. */
function details({ code, message: why, retryAfterSeconds }: GrpcStatus): Uint8Array {
  const writer = protobuf.Writer.create().uint32(varint(1)).int32(code).uint32(text(2)).string(why);
  if (retryAfterSeconds !== null) {
    writer.uint32(message(3)).fork();
    writer.uint32(text(1)).string(RETRY_INFO);
    // RetryInfo.retry_delay, a Duration, whose first field is seconds.
    writer.uint32(message(2)).fork().uint32(message(1)).fork().uint32(varint(1)).int64(retryAfterSeconds);
    writer.ldelim().ldelim().ldelim();
  }
  return writer.finish();
}

/** Percent-encodes everything but printable ASCII, and the percent sign itself. */
function percentEncoded(why: string): string {
  return why.replaceAll(/[^ -$&-~]+/gu, (part) => encodeURIComponent(part.toWellFormed()));
}
